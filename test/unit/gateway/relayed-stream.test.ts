import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { AttemptResult, ResultControl } from '../../../src/gateway/attempt-result.ts';
import { RelayedStream } from '../../../src/gateway/streams/relayed-stream.ts';
import { brokenStream } from '../../../src/upstream/routing/attempt-failure.ts';
import { isSlow } from '../../support/fair-time.ts';
import { chunk, turnPayloads } from '../../support/provider-scripts.ts';
import { relayContext } from './relay-context.ts';

const REQUEST = new IncomingMessage(new Socket());

/** A response that keeps what is written to it. */
class KeptResponse extends ServerResponse {
  written = '';
  keepsLong = true;
  head: number | undefined;
  constructor() {
    super(REQUEST);
    Object.defineProperty(this, 'headersSent', { get: () => this.head !== undefined });
  }
  override writeHead(status: number): this {
    this.head = status;
    return this;
  }
  override write(bytes: unknown): boolean {
    if (this.keepsLong || String(bytes).length < 1e6) this.written += String(bytes);
    return true;
  }
  override end(bytes?: unknown): this {
    if (bytes) this.written += String(bytes);
    return this;
  }
}

interface Relayed {
  written: string;
  head: number | undefined;
  result: AttemptResult;
}

const SECRET = 'sk-secret-of-the-provider';
const ONE = relayContext(new KeptResponse(), { credential: SECRET });
const SEVERAL = relayContext(new KeptResponse(), { credential: SECRET, several: true });

/** Relays pieces of a stream; `end`: how it ends. `keep`: long pieces are kept. */
function relay(
  pieces: readonly Uint8Array[],
  end: 'in order' | 'cut' = 'in order',
  several = false,
  { keep = true } = {},
): Relayed {
  const res = new KeptResponse();
  res.keepsLong = keep;
  let result: AttemptResult | undefined;
  let later: (() => void)[] = [];
  const control: ResultControl = {
    pause() {},
    resume() {},
    started() {},
    finish(finished) {
      result ??= finished;
    },
    soon: (action) => later.push(action),
  };
  const context = several ? SEVERAL : ONE;
  const client = { ...context.client, res };
  const stream = new RelayedStream({ status: 200, headers: {} }, control, { ...context, client });
  for (const piece of pieces) {
    if (result) break;
    stream.data(keep ? Buffer.from(piece) : Buffer.from(piece.buffer, piece.byteOffset, piece.length));
    for (const action of later) action();
    later = [];
  }
  result ??= end === 'cut' ? stream.broken(brokenStream('cut')) : stream.end();
  return { written: res.written, head: res.head, result };
}

const framed = (payloads: readonly (object | string)[], end = '\n\n') =>
  payloads.map((payload) => `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}${end}`).join('');

const TURN = turnPayloads({ reasoning: 'an error is no error \u{1F600}', text: 'ü "data: {" \n\n end', chunks: 2 });
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

  it('blanks a credential that an error quotes in a last line without a line break', () => {
    const begun = framed([{ ...chunk({ content: 'one' }), id: SECRET }]);
    const text = `${begun}data: ${JSON.stringify({ error: { message: `wrong key ${SECRET}` } })}`;
    for (const pieces of cuts(text)) {
      const { written } = relay(pieces, 'in order');
      assert.match(written, /wrong key/);
      assert.ok(!written.includes(SECRET), written);
    }
  });

  it('limits how much it holds of a frame that never ends', () => {
    const { result, written } = relay([Buffer.from(framed(TURN.slice(0, 2))), Buffer.alloc(33 * 1024 * 1024, 'x')]);
    assert.ok(result.is === 'delivered' && result.failure);
    assert.ok(written.length < 2000);
  });

  it('may start with a picture of several megabytes, but not with 500 000 empty lists', () => {
    const role = chunk({ role: 'assistant', content: '' });
    for (const megabytes of [2, 5, 30]) {
      const picture = chunk({ images: [{ url: 'x'.repeat(megabytes * 1024 * 1024) }] }, 'stop');
      const text = framed([role, picture, '[DONE]']);
      const bytes = Buffer.from(text);
      for (const step of [bytes.length, 65_536]) {
        const pieces = Array.from({ length: Math.ceil(bytes.length / step) }, (_, n) =>
          bytes.subarray(n * step, (n + 1) * step),
        );
        const { written, result } = relay(pieces);
        assert.ok(result.is === 'delivered' && !result.failure, JSON.stringify(result));
        assert.ok(written === text);
      }
    }
    const many = `data: ${JSON.stringify({ values: Array.from({ length: 500_000 }, () => []) })}\n\n`;
    assert.equal(relay([Buffer.from(many)]).result.is, 'failed');
  });

  it('ends with an error once it reaches 256 MB', () => {
    const begun = Buffer.from(framed(TURN.slice(0, 2)));
    const comment = Buffer.from(`: ${'x'.repeat(8 * 1024 * 1024 - 4)}\n\n`);
    const times = (count: number) => [begun, ...Array.from({ length: count }, () => comment)];
    const whole = relay(times(31), 'cut', false, { keep: false });
    assert.match(whole.written, /"message":"Provider one failed: cut"/);
    const endless = relay(times(32), 'cut', false, { keep: false });
    assert.match(endless.written, /the answer does not end/);
  });

  it('takes time in proportion to its length, whatever its lines', () => {
    const begun = `data: ${JSON.stringify(chunk({ content: 'a' }))}\n\n`;
    const pieces = (text: string) => {
      const bytes = Buffer.from(text);
      return Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, at) =>
        bytes.subarray(at * 65_536, (at + 1) * 65_536),
      );
    };
    const spent = process.threadCpuUsage();
    // As some providers send them for each hidden thought.
    const empty = Buffer.from(framed([chunk({ content: '' })]));
    const thinking = relay([...Array.from({ length: 9600 }, () => empty), Buffer.from(framed([...TURN, '[DONE]']))]);
    assert.ok(thinking.result.is === 'delivered' && !thinking.result.failure);
    for (const [line, told] of [
      ['id: 1\n', 'the stream does not begin'],
      ['event: x\n\n', 'the stream does not begin'],
      ['data:\n', 'the stream does not begin'],
      [':\n', 'the stream does not begin'],
      ['data: x\n', 'the stream begins with something else than JSON'],
      [`data: {"a":"${'x'.repeat(30_000)}"\n`, 'a frame is too long'],
    ] as const) {
      const { result, head } = relay(pieces(line.repeat(Math.ceil(3_000_000 / line.length))));
      assert.ok(result.is === 'failed' && head === undefined, line);
      assert.equal(result.failure.message, told, line);
    }
    for (const line of ['data: {\n', 'data: {"a":\n', 'data: {}x\n']) {
      const { written } = relay(pieces(begun + line.repeat(400_000)));
      assert.match(written, /a frame is too long/, line);
      assert.ok(written.length < 1000);
    }
    for (const line of ['\n', ':\n', 'id: 1\n', 'data:\n']) {
      const { written } = relay(pieces(begun + line.repeat(400_000)), 'cut');
      assert.ok(written.length > 400_000);
    }
    const { user, system } = process.threadCpuUsage(spent);
    // Scanning what is held again with each piece takes seconds.
    assert.ok(!isSlow((user + system) / 1000, 1500), `${(user + system) / 1000} ms`);
  });
});
