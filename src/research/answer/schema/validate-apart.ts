import { Worker } from 'node:worker_threads';
import { messageOf } from '../../../base/errors.ts';
import type { ThreadMessage, Validation } from './validation.ts';

/** How long a check may take once it has begun, in milliseconds. */
const CHECK_MS = 2000;
const TOO_SLOW = 'checking it against the schema took too long (a pattern in the schema may be endless)';

/**
 * What is wrong with a value under a schema, or undefined. In a thread of its own: a pattern in a client's schema can
 * be endless, and must not hold up anybody else.
 * @throws the signal's reason.
 */
export async function validateApart(
  validation: Validation,
  { signal }: { signal: AbortSignal },
): Promise<string | undefined> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  let timer: NodeJS.Timeout | undefined;
  const worker = new Worker(new URL('./validate-thread.ts', import.meta.url), {
    workerData: validation,
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  });
  worker.on('message', (message: ThreadMessage) => {
    if (message.said === 'done') resolve(message.problem);
    else timer = setTimeout(() => resolve(TOO_SLOW), CHECK_MS);
  });
  worker.on('error', (error) => resolve(`it could not be checked (${messageOf(error)})`));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}
