import assert from 'node:assert/strict';
import { isSlow } from '../../support/fair-time.ts';
import { chunk } from '../../support/provider-scripts.ts';
import { framed, relay, TURN } from '../../support/relayed-stream.ts';

describe('a relayed stream of hostile size', () => {
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
