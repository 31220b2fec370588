import type { LoadMeter } from '../load-meter.ts';
import { StartLine } from './start-line.ts';

/** Starts of runs are counted over windows of this length, in milliseconds. */
const WINDOW_MS = 100;
/** By how many runs a process may grow in a window where there is room: what they cost shows in the next one. */
const GROWTH = 32;
/** Where the process is busy but keeps up. */
const BUSY_GROWTH = 2;
const BUSY = { utilization: 0.9, lagMs: 50 } as const;
/** How often those who wait for a start are looked at, in milliseconds. */
const LOOK_MS = 50;
/** Where it does not keep up, it may have half as many as in the window before. */
const LATE_MS = 100;
/** For how long runs were held back before new ones are refused, in milliseconds. */
const PATIENCE_MS = 2000;
/** A run that started after less than that was served soon, in milliseconds. */
const SOON_MS = 1000;

/**
 * How many runs this process drives: as many as it may, and no more than it can serve. Where it keeps up it may have as
 * many as it had in the window before, however short they are, and a few more; the others are held back, and stay
 * queued, for another instance or for later. The states follow from windows of time: room -> held back (a start was
 * denied) -> overloaded (for two seconds, and those that start have waited long) -> room (a window without a denial).
 */
export class Capacity {
  readonly #max: number;
  readonly #load: LoadMeter;
  readonly #now: () => number;
  #windowAt = Number.NEGATIVE_INFINITY;
  /** How many runs there may be in this window. */
  #room = 0;
  /** The most runs that there were in it. */
  #most = 0;
  #denied = false;
  #heldBackAt: number | undefined;
  /** When a run started last that had not waited long. */
  #servedSoonAt = Number.NEGATIVE_INFINITY;
  readonly #line = new StartLine();
  #active: () => number = () => 0;
  #soon: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `now`: milliseconds that only grow. */
  constructor(options: { maxConcurrent: number; load: LoadMeter; now?: () => number }) {
    this.#max = options.maxConcurrent;
    this.#load = options.load;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Whether one more run may start beside `active` ones. A process without runs may always. */
  start(active: number): boolean {
    if (active >= this.#max) return false;
    this.#roll(active);
    if (active < this.#room || active === 0) {
      this.#most = Math.max(this.#most, active + 1);
      return true;
    }
    this.#most = Math.max(this.#most, active);
    this.#denied = true;
    return false;
  }

  /** Notes how long a run that starts has waited, in milliseconds. */
  served(waitedMs: number): void {
    if (waitedMs < SOON_MS) this.#servedSoonAt = this.#now();
  }

  /** Whether a run may go on here that was under way elsewhere: it was let in long ago, and waits for nobody's load. */
  resume(active: number): boolean {
    return active < this.#max;
  }

  /** Whether one more run may start before all that wait for it: only where none does. */
  startFirst(active: number): boolean {
    return this.#line.empty && this.start(active);
  }

  /** The same for one that has not waited elsewhere. */
  startNow(active: number): boolean {
    const starts = this.startFirst(active);
    if (starts) this.served(0);
    return starts;
  }

  /**
   * Waits for a start, `ms` at most or until the signal aborts: true where it may start. `owner`: the API key of a run
   * that waits here; absent for a place that the queue of runs gets.
   */
  async startWithin(
    ms: number,
    active: () => number,
    { owner, signal }: { owner?: string; signal?: AbortSignal } = {},
  ): Promise<boolean> {
    if (signal?.aborted) return false;
    if (this.startFirst(active())) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const place = { owner, until: this.#now() + ms, settle: resolve };
    const leave = () => this.#line.leave(place);
    signal?.addEventListener('abort', leave, { once: true });
    this.#line.enter(place);
    this.#active = active;
    this.#timer ??= setInterval(() => this.#serve(), LOOK_MS);
    return await promise.finally(() => signal?.removeEventListener('abort', leave));
  }

  /** Resolves when there is room for one more run of an API key, or when the signal aborts. */
  async room(owner: string, active: () => number, signal: AbortSignal): Promise<void> {
    const began = this.#now();
    if (await this.startWithin(Number.POSITIVE_INFINITY, active, { owner, signal })) this.served(this.#now() - began);
  }

  /** A run has left its place: once all that goes with it is done, those that wait get it. */
  left(): void {
    if (this.#line.empty) return;
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#serve();
    });
  }

  /** Lets those start that wait, where there is room. */
  #serve(): void {
    this.#line.leaveLate(this.#now());
    for (let started = 0; !this.#line.empty && this.start(this.#active() + started); started++) this.#line.startNext();
    if (!this.#line.empty) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Whether what is queued cannot be served soon, so that more should go elsewhere. */
  get overloaded(): boolean {
    const now = this.#now();
    const heldBackAt = this.#heldBackSince(now);
    const isHeldBack = heldBackAt !== undefined && now - heldBackAt >= PATIENCE_MS;
    return isHeldBack && now - this.#servedSoonAt >= SOON_MS;
  }

  /** Since when runs have been held back, as of `now`; undefined where they are not. */
  #heldBackSince(now: number): number | undefined {
    const passed = now - this.#windowAt;
    if (passed < WINDOW_MS) return this.#heldBackAt;
    return this.#denied && passed < PATIENCE_MS ? (this.#heldBackAt ?? this.#windowAt) : undefined;
  }

  /** Begins the next window where it is time to, beside `active` runs. */
  #roll(active: number): void {
    const now = this.#now();
    const passed = now - this.#windowAt;
    if (passed < WINDOW_MS) return;
    this.#heldBackAt = this.#heldBackSince(now);
    this.#denied = false;
    this.#room = this.#roomAfter(passed < 2 * WINDOW_MS ? Math.max(this.#most, active) : active);
    this.#most = active;
    this.#windowAt = now;
  }

  #roomAfter(most: number): number {
    const { utilization, lagMs } = this.#load;
    if (lagMs >= LATE_MS) return Math.floor(most / 2);
    return most + (lagMs >= BUSY.lagMs || utilization >= BUSY.utilization ? BUSY_GROWTH : GROWTH);
  }
}
