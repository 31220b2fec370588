import { type ErrorCode, GatewayError, isErrorCode } from '../base/errors.ts';
import { isObject, parseJson } from '../base/json.ts';
import type { ErrorObject } from '../protocol/errors.ts';

/** A chat stream that was begun far enough to know that it is one. */
export interface BegunChatStream {
  chunks: AsyncIterable<string>;
}

/**
 * The frames of a chat stream from its payloads, with `[DONE]` after a last chunk without an error (contract section
 * 7). Where the payloads end without a last chunk, because this instance stops, one with an error is added: a stream
 * that just ends looks to clients like a whole answer.
 * The first payload only says that there will be an answer, so it is held back until the second is there: a run
 * that fails before that is an HTTP error. Not longer than `holdMs`, because silence breaks connections.
 * @throws GatewayError where the run failed first; whatever the source throws first.
 */
export async function beginChatStream(
  payloads: AsyncGenerator<string>,
  { holdMs }: { holdMs: number },
): Promise<BegunChatStream> {
  const first = await payloads.next();
  if (first.done) return { chunks: frames([], payloads) };
  const pending = payloads.next();
  const second = await within(pending, holdMs);
  if (second === undefined) return { chunks: frames([first.value], payloads, pending) };
  if (second.done) throw cutOff();
  const error = errorIn(second.value);
  if (error) {
    await payloads.return(undefined);
    throw error;
  }
  return { chunks: frames([first.value, second.value], payloads) };
}

async function* frames(
  begun: readonly string[],
  payloads: AsyncGenerator<string>,
  pending?: Promise<IteratorResult<string>>,
): AsyncGenerator<string, void> {
  let last = '';
  try {
    for (const payload of begun) {
      last = payload;
      yield frame(payload);
    }
    const next = await pending;
    if (next && !next.done) {
      last = next.value;
      yield frame(next.value);
    }
    for await (const payload of payloads) {
      last = payload;
      yield frame(payload);
    }
  } finally {
    await payloads.return(undefined);
  }
  const end = endIn(last);
  if (end === 'good') yield frame('[DONE]');
  if (end === 'none' && last !== '') yield frame(cutChunk(last));
}

function frame(payload: string): string {
  return `data: ${payload}\n\n`;
}

/** How a payload ends its stream, if it does. A log that ends without its last event is no end. */
function endIn(payload: string): 'good' | 'failed' | 'none' {
  const chunk = parseJson(payload);
  if (!isObject(chunk)) return 'none';
  if (chunk.error !== undefined) return 'failed';
  const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
  return isObject(choice) && typeof choice.finish_reason === 'string' ? 'good' : 'none';
}

/** The chunk that ends a stream in the middle, after `last`. */
function cutChunk(last: string): string {
  const chunk = parseJson(last);
  const choices = [{ index: 0, delta: {}, finish_reason: 'error', logprobs: null }];
  return JSON.stringify({ ...(isObject(chunk) && chunk), choices, error: cutOff().toObject() });
}

function cutOff(): GatewayError {
  return new GatewayError('shutting_down', 'The gateway shuts down before the answer is complete. Ask again.');
}

function errorIn(payload: string): GatewayError | undefined {
  const chunk = parseJson(payload);
  return isObject(chunk) && isObject(chunk.error) ? runError(chunk.error) : undefined;
}

/** The error of a failed run as the HTTP error that a chat completion answers with. */
export function runError(error: Partial<Record<keyof ErrorObject, unknown>> | null): GatewayError {
  const code: ErrorCode = isErrorCode(error?.code) ? error.code : 'internal_error';
  const message = typeof error?.message === 'string' ? error.message : 'The run did not complete.';
  return new GatewayError(code, message);
}

/** The promise's value, or undefined after `ms`; the promise goes on. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
    promise.catch(() => {});
  }
}
