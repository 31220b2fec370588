import type { LoadMeter } from '../../load-meter.ts';

/** How long an append waits for those of other runs at most, in milliseconds. */
export const MAX_TICK_MS = 20;
/** The wait while several runs write, in milliseconds: too short for a reader to notice. */
const SHARED_TICK_MS = 1;
/** Utilization of the event loop from which the tick lengthens. */
const BUSY = 0.5;

/** Two runs that write within this time share the store, in milliseconds. */
const SHARED_WINDOW_MS = 10;

/**
 * Has the writers of all runs append at the same time, so that the store and each reader are written to once. A run
 * alone appends after the current turn of the event loop, so that everything from one chunk goes together. While several
 * write, a tick takes one millisecond, and up to `MAX_TICK_MS` as the process gets busier: under load deltas are merged
 * instead of falling behind.
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
      if (now - this.#tickedAt < SHARED_WINDOW_MS) this.#sharedAt = now;
      this.#lastWriter = writer;
    }
    if (this.#next) return this.#next;
    const pause = this.#tickedAt + this.#lengthMs(now) - now;
    this.#next = new Promise((resolve) => {
      const tick = () => {
        this.#next = undefined;
        this.#tickedAt = performance.now();
        resolve();
      };
      if (pause > 0) setTimeout(tick, pause);
      else setImmediate(tick);
    });
    return this.#next;
  }

  #lengthMs(now: number): number {
    const overload = Math.max(0, (this.#load.utilization - BUSY) / (1 - BUSY));
    const shared = now - this.#sharedAt < SHARED_WINDOW_MS ? SHARED_TICK_MS : 0;
    return Math.max(shared, Math.min(1, overload ** 2) * MAX_TICK_MS);
  }
}
