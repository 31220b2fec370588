import assert from 'node:assert/strict';
import { GatewayError } from '../../../src/base/errors.ts';
import { beginChatStream } from '../../../src/http/chat-stream.ts';

const role = '{"choices":[{"delta":{"role":"assistant"},"finish_reason":null}]}';
const word = '{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}';
const stop = '{"choices":[{"delta":{},"finish_reason":"stop"}]}';
const failed =
  '{"choices":[{"delta":{},"finish_reason":"error"}],"error":{"message":"No.","type":"api_error","param":null,"code":"upstream_timeout"}}';

interface Source {
  payloads: AsyncGenerator<string>;
  closed(): boolean;
}

function from(texts: readonly (string | Promise<string>)[]): Source {
  let closed = false;
  async function* payloads() {
    try {
      for (const text of texts) yield await text;
    } finally {
      closed = true;
    }
  }
  return { payloads: payloads(), closed: () => closed };
}

async function framesOf({ payloads }: Source, holdMs = 10_000): Promise<string> {
  const { chunks } = await beginChatStream(payloads, { holdMs });
  return (await Array.fromAsync(chunks)).join('');
}

describe('beginChatStream', () => {
  it('frames every payload and ends a good stream with [DONE]', async () => {
    const text = await framesOf(from([role, word, stop]));
    assert.equal(text, [role, word, stop, '[DONE]'].map((payload) => `data: ${payload}\n\n`).join(''));
  });

  it('throws the error of a run that failed before it said anything, and closes the source', async () => {
    const source = from([role, failed]);
    await assert.rejects(
      beginChatStream(source.payloads, { holdMs: 10_000 }),
      (thrown) => thrown instanceof GatewayError && thrown.code === 'upstream_timeout' && thrown.message === 'No.',
    );
    assert.ok(source.closed());
  });

  it('has no [DONE] after a late failure', async () => {
    const text = await framesOf(from([role, word, failed]));
    assert.equal(text, [role, word, failed].map((payload) => `data: ${payload}\n\n`).join(''));
  });

  it('ends with an error where the log just ends, because the gateway stops', async () => {
    const text = await framesOf(from([role, word]));
    const cut = text.split('\n\n').at(2);
    assert.match(cut ?? '', /^data: \{"choices":\[\{"index":0,"delta":\{\},"finish_reason":"error".*"shutting_down"/);
    assert.doesNotMatch(text, /\[DONE\]/);
    await assert.rejects(framesOf(from([role])), { code: 'shutting_down' });
    assert.equal(await framesOf(from([])), '');
  });

  it('does not hold the first payload for longer than it may', async () => {
    const late = Promise.withResolvers<string>();
    const source = from([role, late.promise, stop]);
    const { chunks } = await beginChatStream(source.payloads, { holdMs: 5 });
    const reader = chunks[Symbol.asyncIterator]();
    assert.deepEqual(await reader.next(), { value: `data: ${role}\n\n`, done: false });
    late.resolve(word);
    assert.deepEqual(await reader.next(), { value: `data: ${word}\n\n`, done: false });
    await reader.return?.();
    assert.ok(source.closed());
  });

  it('a source that breaks while the first payload is held breaks the stream, not the process', async () => {
    const broken = Promise.withResolvers<string>();
    const { chunks } = await beginChatStream(from([role, broken.promise]).payloads, { holdMs: 5 });
    broken.reject(new Error('gone'));
    await assert.rejects(Array.fromAsync(chunks), /gone/);
  });
});
