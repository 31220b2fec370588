import type { LoadMeter } from '../../load-meter.ts';

/** The longest that an append waits for those of other runs, in milliseconds. */
export const MAX_TICK_MS = 20;
/** While several runs write: a wait that costs no reader anything, in milliseconds. */
const SHARED_TICK_MS = 1;
/** Utilization of the event loop from which the tick lengthens. */
const BUSY = 0.5;

/** A run that shares the store with another one wrote within this time, in milliseconds. */
const SHARED_MS = 10;

/**
 * When the writers of all runs append: together, so that the store writes once and each reader is written to once. A
 * run alone appends once this turn of the event loop is over, so that what came with one chunk goes together. While
 * several write, a tick takes a millisecond, and up to `MAX_TICK_MS` the busier the process is: under load deltas are
 * merged instead of falling behind.
 */
export class AppendTick {
  readonly #load: LoadMeter;
  #next: Promise<void> | undefined;
  #tickedAt = Number.NEGATIVE_INFINITY;
  #lastWriter: object | undefined;
  #sharedAt = Number.NEGATIVE_INFINITY;

  constructor(load: LoadMeter) {
    this.#load = load;
  }

  /** Resolves when `writer` may append what it has by then. */
  next(writer: object): Promise<void> {
    const now = performance.now();
    if (writer !== this.#lastWriter) {
      if (now - this.#tickedAt < SHARED_MS) this.#sharedAt = now;
      this.#lastWriter = writer;
    }
    if (this.#next) return this.#next;
    const pause = this.#tickedAt + this.#lengthMs(now) - now;
    this.#next = new Promise((resolve) => {
      const due = () => {
        this.#next = undefined;
        this.#tickedAt = performance.now();
        resolve();
      };
      if (pause > 0) setTimeout(due, pause);
      else setImmediate(due);
    });
    return this.#next;
  }

  #lengthMs(now: number): number {
    const busy = Math.max(0, (this.#load.utilization - BUSY) / (1 - BUSY));
    const shared = now - this.#sharedAt < SHARED_MS ? SHARED_TICK_MS : 0;
    return Math.max(shared, Math.min(1, busy ** 2) * MAX_TICK_MS);
  }
}
