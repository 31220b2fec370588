import { limitTimer } from './load/standstill.ts';

/**
 * Waiting that ends. Built on one `AbortController` and plain timers: `AbortSignal.any` over `AbortSignal.timeout`
 * can be lost to garbage collection (nodejs/node#54614).
 */

/** The reason of a limit that ran out, so that callers can tell it from a client that left. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
  /** The limit, in milliseconds. */
  readonly ms: number;

  constructor(what: string, ms: number) {
    super(`${what} took longer than ${ms} ms`);
    this.ms = ms;
  }
}

/** A signal that follows others and may have a time limit; `dispose` frees its timer and listeners. */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

/**
 * One signal that aborts with the first of `parents`, or after `timeoutMs` with a `TimeoutError` naming `what`.
 * Use with `using`, so that nothing stays attached to a long-lived parent.
 */
export function linkSignals(
  parents: readonly (AbortSignal | undefined)[],
  limit?: { what: string; timeoutMs: number },
): LinkedSignal {
  const controller = new AbortController();
  const abort = (reason?: unknown) => controller.abort(reason);
  const cleanups: (() => void)[] = [];
  for (const parent of parents) {
    if (!parent) continue;
    if (parent.aborted) {
      controller.abort(parent.reason);
      continue;
    }
    const listener = () => controller.abort(parent.reason);
    parent.addEventListener('abort', listener, { once: true });
    cleanups.push(() => parent.removeEventListener('abort', listener));
  }
  if (limit && !controller.signal.aborted) {
    const expired = () => controller.abort(new TimeoutError(limit.what, limit.timeoutMs));
    const timer = limitTimer(Math.min(limit.timeoutMs, MAX_TIMER_MS), expired);
    cleanups.push(() => timer[Symbol.dispose]());
  }
  return {
    signal: controller.signal,
    abort,
    [Symbol.dispose]() {
      for (const cleanup of cleanups) cleanup();
      cleanups.length = 0;
    },
  };
}

/** The longest delay that a Node timer can hold, in milliseconds: about 24.8 days. Longer ones end at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Waits `ms` milliseconds. Rejects with the signal's reason as soon as it aborts. */
export function sleep(ms: number, options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      },
      Math.min(ms, MAX_TIMER_MS),
    );
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * `promise`, or a rejection with the signal's reason as soon as it aborts. The work behind `promise` goes on and may
 * outlive many callers: it holds nothing of one that left.
 */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { settled, leave } = waitFor(promise);
  const onAbort = () => leave(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await settled;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Waits for a promise until it leaves. A promise cannot take a reaction back, so its reactions see only `waiting`. */
function waitFor<T>(promise: Promise<T>): { settled: Promise<T>; leave(reason: unknown): void } {
  let waiting: PromiseWithResolvers<T> | undefined = Promise.withResolvers<T>();
  const leave = (reason: unknown) => {
    waiting?.reject(reason);
    waiting = undefined;
  };
  promise.then((value) => waiting?.resolve(value), leave);
  return { settled: waiting.promise, leave };
}

/** Runs `work` under a signal that also aborts after `timeoutMs`; rejects then even if `work` ignores its signal. */
export async function withTimeout<T>(
  what: string,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<T> {
  using linked = linkSignals([options.signal], { what, timeoutMs });
  return await abortable(work(linked.signal), linked.signal);
}
