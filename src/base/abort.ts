import timers from 'node:timers/promises';
import { deadlineTimer } from './load/stall.ts';

/**
 * Waits that can be aborted. Built on one `AbortController` and plain timers: the garbage collector can lose an
 * `AbortSignal.any` over `AbortSignal.timeout` (nodejs/node#54614).
 */

/** The abort reason when a time limit expires; callers tell it apart from a client that disconnected. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
  /** The limit, in milliseconds. */
  readonly ms: number;

  constructor(what: string, ms: number) {
    super(`${what} took longer than ${ms} ms`);
    this.ms = ms;
  }
}

/** A signal that follows its parents and may have a time limit. Disposing it frees its timer and listeners. */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

/**
 * Creates a signal that aborts with the first of `parents`, or after `timeoutMs` with a `TimeoutError` naming `what`.
 * Declare it with `using`, so that no listener stays attached to a long-lived parent.
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
    const timer = deadlineTimer(Math.min(limit.timeoutMs, MAX_TIMER_MS), expired);
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

/** The longest delay that a Node timer can hold, in milliseconds: about 24.8 days. A longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Waits `ms` milliseconds. Rejects with the signal's reason as soon as it aborts. */
export async function sleep(ms: number, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
  await timers.setTimeout(Math.min(ms, MAX_TIMER_MS), undefined, { signal }).catch((thrown: unknown) => {
    throw signal?.reason ?? thrown;
  });
}

/**
 * Waits for `promise`, or rejects with the signal's reason as soon as it aborts. The work behind `promise` goes on and
 * may outlive many callers; it keeps no reference to a caller that has stopped waiting.
 */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { settled, detach } = waitFor(promise);
  const onAbort = () => detach(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await settled;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Waits for a promise until `detach`. A promise cannot drop a reaction, so its reactions reference only `waiter`. */
function waitFor<T>(promise: Promise<T>): { settled: Promise<T>; detach(reason: unknown): void } {
  let waiter: PromiseWithResolvers<T> | undefined = Promise.withResolvers<T>();
  const detach = (reason: unknown) => {
    waiter?.reject(reason);
    waiter = undefined;
  };
  promise.then((value) => waiter?.resolve(value), detach);
  return { settled: waiter.promise, detach };
}

/** Runs `work` under a signal that also aborts after `timeoutMs`, and rejects then even if `work` ignores the signal. */
export async function withTimeout<T>(
  what: string,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<T> {
  using linked = linkSignals([options.signal], { what, timeoutMs });
  return await abortable(work(linked.signal), linked.signal);
}
