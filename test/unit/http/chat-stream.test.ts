import assert from 'node:assert/strict';
import { GatewayError } from '../../../src/base/errors.ts';
import { beginChatStream } from '../../../src/http/answers/chat-stream.ts';
import type { ChatChunk } from '../../../src/protocol/chat.ts';

type Choice = ChatChunk['choices'][number];

function chunk(delta: Choice['delta'], finish_reason: Choice['finish_reason'] = null): ChatChunk {
  const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk' as const, created: 0, model: 'deep' };
  return { ...base, choices: [{ index: 0, delta, finish_reason, logprobs: null }] };
}

const role = chunk({ role: 'assistant', content: '' });
const word = chunk({ content: 'a' });
const stop = chunk({}, 'stop');
const usage: ChatChunk = { ...stop, choices: [] };
const error = { message: 'No.', type: 'api_error' as const, param: null, code: 'upstream_timeout' };
const failed: ChatChunk = { ...chunk({}, 'error'), error };

interface Source {
  chunks: AsyncGenerator<ChatChunk, void>;
  closed(): boolean;
}

function from(given: readonly (ChatChunk | Promise<ChatChunk>)[]): Source {
  let closed = false;
  async function* chunks() {
    try {
      for (const each of given) yield await each;
    } finally {
      closed = true;
    }
  }
  return { chunks: chunks(), closed: () => closed };
}

/** Frames as they are sent: chunks, a final error, and plain text such as [DONE]. */
const framed = (payloads: readonly unknown[]) =>
  payloads.map((each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`).join('');

async function framesOf({ chunks }: Source, holdMs = 10_000): Promise<string> {
  const frames = await beginChatStream(chunks, { holdMs });
  return (await Array.fromAsync(frames)).join('');
}

describe('beginChatStream', () => {
  it('frames every payload and ends a successful stream with [DONE]', async () => {
    assert.equal(await framesOf(from([role, word, stop])), framed([role, word, stop, '[DONE]']));
  });

  it('also ends with [DONE] if the last chunk is the usage', async () => {
    assert.equal(await framesOf(from([role, word, stop, usage])), framed([role, word, stop, usage, '[DONE]']));
  });

  it('throws the error of a run that failed before any output, and closes the source', async () => {
    const source = from([role, failed]);
    await assert.rejects(
      beginChatStream(source.chunks, { holdMs: 10_000 }),
      (thrown) => thrown instanceof GatewayError && thrown.code === 'upstream_timeout' && thrown.message === 'No.',
    );
    assert.ok(source.closed());
  });

  it('reports a late failure in the last chunk and one more frame, without [DONE]', async () => {
    assert.equal(await framesOf(from([role, word, failed])), framed([role, word, failed, { error }]));
  });

  it('ends with shutting_down if the log just ends', async () => {
    const text = await framesOf(from([role, word]));
    const [, , cut, last] = text.split('\n\n');
    assert.match(cut ?? '', /"choices":\[\{"index":0,"delta":\{\},"finish_reason":"error".*"shutting_down"/);
    assert.match(last ?? '', /^data: \{"error":\{"message":.*"code":"shutting_down"\}\}$/);
    assert.doesNotMatch(text, /\[DONE\]/);
    await assert.rejects(framesOf(from([role])), { code: 'shutting_down' });
    assert.equal(await framesOf(from([])), '');
  });

  it('holds the first payload no longer than allowed', async () => {
    const late = Promise.withResolvers<ChatChunk>();
    const source = from([role, late.promise, stop]);
    const frames = await beginChatStream(source.chunks, { holdMs: 5 });
    const reader = frames[Symbol.asyncIterator]();
    assert.deepEqual(await reader.next(), { value: framed([role]), done: false });
    late.resolve(word);
    assert.deepEqual(await reader.next(), { value: framed([word]), done: false });
    await reader.return?.();
    assert.ok(source.closed());
  });

  it('breaks the stream, not the process, if the source breaks while the first payload is held', async () => {
    const broken = Promise.withResolvers<ChatChunk>();
    const frames = await beginChatStream(from([role, broken.promise]).chunks, { holdMs: 5 });
    broken.reject(new Error('gone'));
    await assert.rejects(Array.fromAsync(frames), /gone/);
  });
});
