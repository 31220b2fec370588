import { setTimeout } from 'node:timers/promises';

/** One of two tries that run beside each other. */
export interface Racer {
  /** Aborts with the caller's reason, or when the other racer wins. */
  signal: AbortSignal;
  /** Tells that this racer has something to show: the other one ends. */
  win(): void;
}

export interface HedgeOptions<T> {
  /** After so long without a winner a second racer starts, in milliseconds. */
  afterMs: number;
  /** Whether there is anything for a second racer to do. Asked when its time has come. */
  hasAnother(): boolean;
  /** Frees what a racer has opened that came second. */
  discard?(value: T): void;
  signal: AbortSignal;
}

/** The reason with which the slower racer ends. */
class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

/** Whether a racer has ended because the other one won. */
export function isOvertaken({ reason }: AbortSignal): boolean {
  return reason instanceof Overtaken;
}

/**
 * Runs the same work a second time beside the first where the first says nothing for a while, and takes what comes
 * first. A racer that resolves with undefined has nothing to give; then the other one counts.
 *
 * Dispose it when the winner's work is over: until then its signal follows the caller's.
 */
export class Hedge<T> implements Disposable {
  readonly #options: HedgeOptions<T>;
  readonly #start: (racer: Racer) => Promise<T | undefined>;
  readonly #racers = new Set<AbortController>();
  readonly #onAbort = () => this.#abort(this.#options.signal.reason);
  #winner: AbortController | undefined;

  constructor(start: (racer: Racer) => Promise<T | undefined>, options: HedgeOptions<T>) {
    this.#start = start;
    this.#options = options;
    options.signal.addEventListener('abort', this.#onAbort);
  }

  /** @throws what a racer threw where none gave anything; the signal's reason. */
  async run(): Promise<T | undefined> {
    const { afterMs, hasAnother, signal } = this.#options;
    signal.throwIfAborted();
    const first = this.#race();
    const isLate = await late(first, afterMs);
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

  #abort(reason: unknown): void {
    for (const racer of this.#racers) racer.abort(reason);
  }

  [Symbol.dispose](): void {
    this.#options.signal.removeEventListener('abort', this.#onAbort);
  }
}

/** Whether a promise has not settled within `ms`. */
async function late(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const settled = new AbortController();
  const stop = () => settled.abort();
  promise.then(stop, stop);
  return await setTimeout(ms, true, { signal: settled.signal }).catch(() => false);
}

/** The first value that a racer gives; without one, an error or undefined. */
async function firstOf<T>(promises: readonly Promise<T | undefined>[]): Promise<T | undefined> {
  const values = promises.map(async (promise) => (await promise) ?? Promise.reject(undefined));
  return await Promise.any(values).catch(({ errors }: AggregateError) => {
    const error = errors.findLast((each) => each !== undefined);
    if (error !== undefined) throw error;
    return undefined;
  });
}
