import { setTimeout } from 'node:timers/promises';

/** One of two attempts that run side by side. */
export interface Racer {
  /** Aborts with the caller's reason, or when the other racer wins. */
  signal: AbortSignal;
  /** Declares this racer the winner: the other one is aborted. */
  win(): void;
}

export interface HedgeOptions<T> {
  /** How long to wait for a winner before the second racer starts, in milliseconds. */
  afterMs: number;
  /** Whether there is anything for a second racer to do. Called when it is due to start. */
  hasAnother(): boolean;
  /** Frees the result of a racer that finished second. */
  discard?(value: T): void;
  signal: AbortSignal;
}

/** The abort reason of the slower racer. */
class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

/** Whether a racer was aborted because the other one won. */
export function isOvertaken({ reason }: AbortSignal): boolean {
  return reason instanceof Overtaken;
}

/**
 * Hedges a request: if the first attempt is silent for a while, starts the same work a second time beside it and takes
 * the first result. A racer that resolves with undefined has no result; then the other racer's counts.
 *
 * Dispose it when the winner's work is over: until then the winner's signal follows the caller's.
 */
export class Hedge<T> implements Disposable {
  readonly #options: HedgeOptions<T>;
  readonly #start: (racer: Racer) => Promise<T | undefined>;
  readonly #racers = new Set<AbortController>();
  readonly #onAbort = () => {
    for (const racer of this.#racers) racer.abort(this.#options.signal.reason);
  };
  #winner: AbortController | undefined;

  constructor(start: (racer: Racer) => Promise<T | undefined>, options: HedgeOptions<T>) {
    this.#start = start;
    this.#options = options;
    options.signal.addEventListener('abort', this.#onAbort);
  }

  /** @throws the error of a racer if neither has a result; the signal's reason. */
  async run(): Promise<T | undefined> {
    const { afterMs, hasAnother, signal } = this.#options;
    signal.throwIfAborted();
    const first = this.#race();
    const isLate = await isPendingAfter(first, afterMs);
    if (!isLate || this.#winner || !hasAnother()) return await first;
    return await firstOf([first, this.#race()]);
  }

  async #race(): Promise<T | undefined> {
    const controller = new AbortController();
    this.#racers.add(controller);
    const win = () => {
      this.#winner ??= controller;
      for (const racer of this.#racers) if (racer !== this.#winner) racer.abort(new Overtaken());
    };
    try {
      const value = await this.#start({ signal: controller.signal, win });
      if (value !== undefined) win();
      if (this.#winner === controller) return value;
      if (value !== undefined) this.#options.discard?.(value);
      return undefined;
    } catch (error) {
      if (isOvertaken(controller.signal)) return undefined;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#options.signal.removeEventListener('abort', this.#onAbort);
  }
}

/** Whether a promise has not settled within `ms`. */
export async function isPendingAfter(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const settled = new AbortController();
  const stop = () => settled.abort();
  promise.then(stop, stop);
  return await setTimeout(ms, true, { signal: settled.signal }).catch(() => false);
}

/** The first value of a racer. If there is none, throws the last error, or returns undefined. */
async function firstOf<T>(promises: readonly Promise<T | undefined>[]): Promise<T | undefined> {
  const values = promises.map(async (promise) => (await promise) ?? Promise.reject(undefined));
  return await Promise.any(values).catch(({ errors }: AggregateError) => {
    const error = errors.findLast((each) => each !== undefined);
    if (error !== undefined) throw error;
    return undefined;
  });
}
