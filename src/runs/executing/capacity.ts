import type { LoadMeter } from './load-meter.ts';

/** Starts of runs are counted over windows of this length, in milliseconds. */
const WINDOW_MS = 100;
/** Runs that may start in a window where there is room: what they cost shows in the next one. */
const STARTS = 32;
/** Where the process is busy but keeps up. */
const BUSY_STARTS = 2;
const BUSY = { utilization: 0.9, lagMs: 50 } as const;
/** How often those who wait for a start are looked at, in milliseconds. */
const LOOK_MS = 50;
/** How long one that waits without end stands in line at a time. */
const ROOM_LOOK_MS = 500;
/** Where it does not keep up, nothing starts. */
const LATE_MS = 100;
/** For how long runs were held back before new ones are refused, in milliseconds. */
const PATIENCE_MS = 2000;

/**
 * How many runs this process drives: as many as it may, and no more than it can serve. Runs that would start while it
 * is busy are held back; they stay queued, for another instance or for later. The states follow from windows of time:
 * room -> held back (a start was denied) -> overloaded (for two seconds) -> room (a window without a denial).
 */
export class Capacity {
  readonly #max: number;
  readonly #load: LoadMeter;
  readonly #now: () => number;
  #windowAt = Number.NEGATIVE_INFINITY;
  #left = 0;
  #denied = false;
  #heldBackAt: number | undefined;
  #waiting: { until: number; settle(started: boolean): void }[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** `now`: milliseconds that only grow. */
  constructor(options: { maxConcurrent: number; load: LoadMeter; now?: () => number }) {
    this.#max = options.maxConcurrent;
    this.#load = options.load;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Whether one more run may start beside `active` ones; it counts as started. A process without runs may always. */
  start(active: number): boolean {
    if (active >= this.#max) return false;
    this.#roll();
    if (this.#left > 0 || active === 0) {
      this.#left--;
      return true;
    }
    this.#denied = true;
    return false;
  }

  /** Whether a run may go on here that was under way elsewhere: it was let in long ago, and waits for nobody's load. */
  resume(active: number): boolean {
    return active < this.#max;
  }

  /** Whether one more run may start before all that wait for it: only where none does. It counts as started. */
  startNow(active: number): boolean {
    return this.#waiting.length === 0 && this.start(active);
  }

  /** Waits for a start, `ms` at most, in the order of coming. False where there was no room in that time. */
  async startWithin(ms: number, active: () => number): Promise<boolean> {
    if (this.#waiting.length === 0 && this.start(active())) return true;
    return await new Promise((resolve) => {
      this.#waiting.push({ until: this.#now() + ms, settle: resolve });
      this.#timer ??= setInterval(() => this.#serve(active), LOOK_MS);
    });
  }

  /** Resolves when there is room for one more run, or when the signal aborts. */
  async room(active: () => number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.startWithin(ROOM_LOOK_MS, active)));
  }

  #serve(active: () => number): void {
    const now = this.#now();
    let started = 0;
    let room = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) {
      room &&= this.start(active() + started);
      if (room) started++;
      if (room || each.until <= now) each.settle(room);
      else this.#waiting.push(each);
    }
    if (this.#waiting.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** A start that found no run. */
  giveBack(): void {
    this.#left++;
  }

  /** Whether runs are held back for their cost, not for their number. */
  get heldBack(): boolean {
    return this.#denied || this.#heldBackAt !== undefined;
  }

  /** Whether what is queued cannot be served soon, so that more should go elsewhere. */
  get overloaded(): boolean {
    this.#roll();
    return this.#heldBackAt !== undefined && this.#now() - this.#heldBackAt >= PATIENCE_MS;
  }

  #roll(): void {
    const now = this.#now();
    const passed = now - this.#windowAt;
    if (passed < WINDOW_MS) return;
    if (this.#denied && passed < PATIENCE_MS) this.#heldBackAt ??= this.#windowAt;
    else this.#heldBackAt = undefined;
    this.#denied = false;
    this.#windowAt = now;
    this.#left = this.#starts();
  }

  #starts(): number {
    const { utilization, lagMs } = this.#load;
    if (lagMs >= LATE_MS) return 0;
    return lagMs >= BUSY.lagMs || utilization >= BUSY.utilization ? BUSY_STARTS : STARTS;
  }
}
