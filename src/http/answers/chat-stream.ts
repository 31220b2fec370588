import { type ErrorCode, GatewayError, isErrorCode } from '../../base/errors.ts';
import { isPendingAfter } from '../../base/hedge.ts';
import type { ChatChunk } from '../../protocol/chat.ts';
import type { ApiError } from '../../protocol/errors.ts';

/**
 * Turns chunks into the frames of a chat stream, with `[DONE]` after a last chunk without an error; a failure is in the last
 * chunk and in one more frame (docs/api.md, "Chat completions"). If the chunks stop without a last one because this instance
 * shuts down, one with an error is added: to clients a stream that just ends looks like a complete answer. The first chunk
 * has no content, so it is held back until the second one arrives, and a run that fails before that is an HTTP error. It is
 * held for `holdMs` at most, because silence breaks connections. `onError` is called with an error that the stream ends with.
 * @throws GatewayError if the run fails before the second chunk; whatever the source throws before then.
 */
export async function beginChatStream(
  chunks: AsyncGenerator<ChatChunk, void>,
  { holdMs, onError = () => {} }: { holdMs: number; onError?: (error: ApiError) => void },
): Promise<AsyncIterable<string>> {
  const first = await chunks.next();
  if (first.done) return framesOf([], { chunks, onError });
  const pending = chunks.next();
  if (await isPendingAfter(pending, holdMs)) return framesOf([first.value], { chunks, pending, onError });
  const second = await pending;
  if (second.done) throw shutdownError();
  if (second.value.error) {
    await chunks.return();
    throw runError(second.value.error);
  }
  return framesOf([first.value, second.value], { chunks, onError });
}

async function* framesOf(
  first: readonly ChatChunk[],
  {
    chunks,
    pending,
    onError,
  }: {
    chunks: AsyncGenerator<ChatChunk, void>;
    pending?: Promise<IteratorResult<ChatChunk, void>>;
    onError: (error: ApiError) => void;
  },
): AsyncGenerator<string, void> {
  let last: ChatChunk | undefined;
  let finished: ChatChunk | undefined;
  const frameOf = (chunk: ChatChunk) => {
    last = chunk;
    if (isLast(chunk)) finished = chunk;
    return frame(chunk);
  };
  try {
    for (const chunk of first) yield frameOf(chunk);
    const next = await pending;
    if (next && !next.done) yield frameOf(next.value);
    for await (const chunk of chunks) yield frameOf(chunk);
  } finally {
    await chunks.return();
  }
  if (!last) return;
  const error = finished ? finished.error : shutdownError().toObject();
  if (error) {
    onError(error);
    if (!finished) yield frame(errorChunk(last, error));
    yield frame({ error });
  } else yield 'data: [DONE]\n\n';
}

function frame(payload: ChatChunk | { error: ApiError }): string {
  return `data: ${JSON.stringify(payload)}\n\n`;
}

function isLast({ choices, error }: ChatChunk): boolean {
  return error !== undefined || choices.some(({ finish_reason }) => finish_reason !== null);
}

/** The chunk that ends a stream with an error after `last`. */
function errorChunk(last: ChatChunk, error: ApiError): ChatChunk {
  return { ...last, choices: [{ index: 0, delta: {}, finish_reason: 'error', logprobs: null }], error };
}

function shutdownError(): GatewayError {
  return new GatewayError('shutting_down', 'The gateway shuts down before the answer is complete. Ask again.');
}

/** The HTTP error of a chat completion whose run failed. */
export function runError(error: ApiError | null): GatewayError {
  const code: ErrorCode = isErrorCode(error?.code) ? error.code : 'internal_error';
  return new GatewayError(code, error?.message ?? 'The run did not complete.', {
    ...(error && { type: error.type }),
    ...(error?.retry_after !== undefined && { retryAfterMs: error.retry_after * 1000 }),
  });
}
