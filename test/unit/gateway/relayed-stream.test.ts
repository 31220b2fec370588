import assert from 'node:assert/strict';
import { chunk } from '../../support/provider-scripts.ts';
import { framed, relay, SECRET, TURN } from '../../support/relayed-stream.ts';

const ERROR = { error: { message: 'no capacity' } };

const GOOD: Readonly<Record<string, string>> = {
  'with the usual frames': framed([...TURN, '[DONE]']),
  'with CRLF': framed([...TURN, '[DONE]'], '\r\n\r\n'),
  'with single newlines': framed([...TURN, '[DONE]'], '\n'),
  'without [DONE]': framed(TURN),
  'without the last newline': framed([...TURN, '[DONE]']).trimEnd(),
  'with comments, events and ids': `: hi\n\nevent: chunk\nid: 4\nretry: 10\n${framed(TURN)}: bye\n\n`,
  'with a byte order mark': `\uFEFF${framed(TURN)}`,
  'with frames over several lines': framed(
    TURN.map((payload) => JSON.stringify(payload, null, 1).replaceAll('\n', '\ndata: ')),
  ),
  'with words that look like errors': framed([
    chunk({ content: '"error": {"message": 1}' }),
    chunk({ content: 'error' }, 'stop'),
  ]),
};

const FLAWED: Readonly<Record<string, [text: string, end?: 'in order' | 'cut']>> = {
  'with an error': [framed([...TURN.slice(0, 3), ERROR, ...TURN.slice(3)])],
  'with an error of another shape': [framed([...TURN.slice(0, 3), { object: 'error', message: 'x' }, '[DONE]'])],
  'with two broken frames in a row': [framed([...TURN.slice(0, 3), '{"id": "chat', '{"id": "chat', ...TURN.slice(3)])],
  'with a broken frame before its end': [framed([...TURN.slice(0, 3), '{"id": "chat', '[DONE]'])],
  'without a finish reason': [framed(TURN.slice(0, 3))],
  'without a finish reason before [DONE]': [framed([...TURN.slice(0, 3), '[DONE]'])],
  'with an error in a list': [framed([...TURN.slice(0, 3), [ERROR], ...TURN.slice(3), '[DONE]'])],
  'with an error outside of a frame': [`${framed(TURN.slice(0, 3))}{"error":"no"}\n${framed(TURN.slice(3))}`],
  'with an event named error': [
    `${framed(TURN.slice(0, 3))}event: error\nid: 1\ndata: {"reason":"memory"}\n\n${framed([...TURN.slice(3), '[DONE]'])}`,
  ],
  'with an event named error in plain words': [
    `${framed(TURN.slice(0, 3))}event:error\ndata: Internal Server Error\n\n${framed([...TURN.slice(3), '[DONE]'])}`,
  ],
  'with an empty event named error': [`${framed(TURN.slice(0, 3))}event: error\n\n${framed(TURN)}`],
  'with finish_reason error before a long event': [
    framed([...TURN.slice(0, 3), chunk({}, 'error'), { choices: [], usage: { more: 'x'.repeat(6000) } }, '[DONE]']),
  ],
  'cut inside a frame': [`${framed(TURN.slice(0, 3))}data: {"id": "chatc`, 'cut'],
  'cut between frames': [framed(TURN.slice(0, 3)), 'cut'],
};

const UNOPENED: Readonly<Record<string, string>> = {
  empty: '',
  'only comments': ': hi\n\n: ho\n\n',
  'only [DONE]': 'data: [DONE]\n\n',
  'an error first': framed([ERROR, ...TURN]),
  'an error in JSON': JSON.stringify(ERROR),
  'an HTML page': '<html>\n<title>Sign in</title>\n</html>',
  'a broken frame first': framed(['{"id": "chat', ...TURN]),
  'plain text': 'Service unavailable\n',
  'an event named error': `event: error\n${framed([{ reason: 'memory' }, ...TURN])}`,
  'an error in a list': framed([[ERROR]]),
};

/** The pieces for every position of one cut, and for bytes that come one by one. */
function* cuts(text: string): Generator<Uint8Array[]> {
  const bytes = Buffer.from(text);
  yield [bytes];
  for (let at = 1; at < bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)];
  yield [...bytes].map((byte) => Uint8Array.of(byte));
}

describe('a relayed stream, split into chunks at any byte', () => {
  for (const [name, text] of Object.entries(GOOD)) {
    it(`is relayed unchanged ${name}`, () => {
      for (const pieces of cuts(text)) {
        const { written, result } = relay(pieces);
        assert.equal(written, text);
        assert.equal(result.is === 'delivered' && result.failure === undefined, true, JSON.stringify(result));
        if (text.includes('prompt_tokens')) assert.equal(result.is === 'delivered' && result.usage?.outputTokens, 7);
      }
    });
  }

  it('drops a broken frame in the middle', () => {
    const text = framed([...TURN.slice(0, 3), '{"id": "chat', ...TURN.slice(3)]);
    for (const pieces of cuts(text)) {
      const { written, result } = relay(pieces);
      assert.ok(result.is === 'delivered' && result.failure === undefined, JSON.stringify(result));
      assert.equal(written.replaceAll(/\n+/g, '\n'), framed(TURN).replaceAll(/\n+/g, '\n'));
    }
  });

  for (const done of ['data: [DONE]', 'data:[DONE]', 'data:\t [DONE] \t', 'data: [DONE]\r']) {
    for (const gap of ['\n\n', '\n', `\n${' '.repeat(80)}\n`]) {
      it(`reads nothing after ${JSON.stringify(done + gap)}`, () => {
        const whole = framed(TURN) + done + gap;
        for (const more of [framed([chunk({ content: 'more' })]), framed([ERROR]), 'data: {"broken\n\n', 'stray\n']) {
          const { written, result } = relay([Buffer.from(whole + more)]);
          assert.ok(result.is === 'delivered' && !result.failure, JSON.stringify(result));
          assert.ok((whole + more).startsWith(written), written);
          assert.match(written, /\[DONE\]\s*(?:stray\s*)?$/);
          for (const pieces of cuts(done + gap + more)) {
            const cut = relay([Buffer.from(framed(TURN)), ...pieces]);
            assert.ok(cut.result.is === 'delivered' && !cut.result.failure, JSON.stringify(cut.result));
            assert.match(cut.written, /\[DONE\]\s*(?:stray\s*)?$/);
          }
        }
      });
    }
  }

  it('passes on a last [DONE] without a line end, even if the connection then breaks', () => {
    const text = `${framed(TURN)}data: [DONE]`;
    for (const pieces of cuts(text)) {
      const { written, result } = relay(pieces, 'cut');
      assert.equal(written, text);
      assert.ok(result.is === 'delivered' && !result.failure);
    }
  });

  it('reads each comment before the first event once, however many there are', () => {
    for (const comment of [': ping\r\n', ':\r\n', '\r\n', ': ping\n\n']) {
      // 28 lines took seconds and 40 for ever while this was a pattern with a repetition inside a repetition.
      const text = `${comment.repeat(28)}event: chunk\n${framed(TURN)}data: [DONE]\n\n`;
      const bytes = Buffer.from(text);
      const at = text.indexOf('data:');
      const { written, result } = relay([bytes.subarray(0, at), bytes.subarray(at)]);
      assert.equal(written, text);
      assert.ok(result.is === 'delivered' && result.failure === undefined);
    }
  });

  for (const [name, [text, end]] of Object.entries(FLAWED)) {
    it(`ends with an error if it comes ${name}`, () => {
      for (const pieces of text.length > 5000 ? [[Buffer.from(text)]] : cuts(text)) {
        const { written, result } = relay(pieces, end);
        assert.ok(result.is === 'delivered' && result.failure, JSON.stringify(result));
        const lines = written.split('\n').filter((line) => line.startsWith('data:'));
        for (const line of lines) JSON.parse(line.slice(5));
        assert.match(lines.at(-2) ?? '', /"finish_reason":"error".*"error":\{"message"/);
        assert.match(lines.at(-1) ?? '', /^data: \{"error":\{"message"/);
        assert.ok(written.endsWith('\n\n') && !written.includes('[DONE]'));
        assert.ok(written.startsWith(framed(TURN.slice(0, 3))));
      }
    });
  }

  it('ends with an error only if one of several choices did not finish', () => {
    const said = (index: number, end: string | null) => ({
      choices: [{ index, delta: { content: 'a' }, finish_reason: end }],
    });
    const both = [said(0, null), said(1, null), said(0, 'stop')];
    for (const end of ['in order', 'cut'] as const) {
      for (const text of [framed(both), framed([...both, '[DONE]']), framed([...both, said(1, 'error')])]) {
        const { result } = relay([Buffer.from(text)], end, true);
        assert.ok(result.is === 'delivered' && result.failure, text);
      }
      const whole = relay([Buffer.from(framed([...both, said(1, 'length')]))], end, true);
      assert.ok(whole.result.is === 'delivered' && !whole.result.failure);
    }
    // A provider may return only one choice, however many were requested.
    const one = relay([Buffer.from(framed([said(0, 'stop'), '[DONE]']))], 'cut', true);
    assert.ok(one.result.is === 'delivered' && !one.result.failure);
  });

  for (const [name, text] of Object.entries(UNOPENED)) {
    it(`sends nothing, so that another provider can answer: ${name}`, () => {
      for (const end of ['in order', 'cut'] as const) {
        for (const pieces of cuts(text)) {
          const { written, head, result } = relay(pieces, end);
          assert.deepEqual([written, head, result.is], ['', undefined, 'failed']);
        }
      }
    });
  }

  it("blanks the provider's credential", () => {
    const text = framed([chunk({ content: `${SECRET} and ${SECRET}` }, 'stop')]);
    for (const pieces of cuts(text))
      assert.equal(relay(pieces).written, text.replaceAll(SECRET, '*'.repeat(SECRET.length)));
  });

  it('blanks a credential that the end of the stream cuts', () => {
    const cut = SECRET.slice(0, -3);
    for (const line of [`: wrong key ${cut}`, `data: [${cut}`, `event: ${cut}`, `id: ${cut}\r\n`, `:${cut}\n\n`]) {
      const text = `${framed([chunk({ content: 'one' }, 'stop')])}${line}`;
      for (const pieces of cuts(text))
        assert.equal(relay(pieces).written, text.replaceAll(cut, '*'.repeat(cut.length)));
    }
  });

  it('blanks a credential that an error quotes in a last line without a line break', () => {
    const begun = framed([{ ...chunk({ content: 'one' }), id: SECRET }]);
    const text = `${begun}data: ${JSON.stringify({ error: { message: `wrong key ${SECRET}` } })}`;
    for (const pieces of cuts(text)) {
      const { written } = relay(pieces, 'in order');
      assert.match(written, /wrong key/);
      assert.ok(!written.includes(SECRET), written);
    }
  });
});
