import type { LoadMeter } from '../load-meter.ts';
import { StartLine } from './start-line.ts';

/** Starts of runs are counted over windows of this length, in milliseconds. */
const WINDOW_MS = 100;
/** How many runs a process may add per window while it keeps up; their load shows in the next window. */
const GROWTH = 32;
/** How many while it is busy but keeps up. */
const BUSY_GROWTH = 2;
const BUSY = { utilization: 0.9, lagMs: 50 } as const;
/** How often waiting runs are checked for a start, in milliseconds. */
const LOOK_MS = 50;
/** A lag from which on a process does not keep up and halves its runs, in milliseconds. */
const LATE_MS = 100;
/** How long runs must be held back before the process counts as overloaded, in milliseconds. */
const PATIENCE_MS = 2000;
/** A run that waited less than this was served soon, in milliseconds. */
const SOON_MS = 1000;

/**
 * Limits how many runs this process drives: at most `maxConcurrent`, and no more than it can serve. While it keeps up, it
 * may have as many as in the previous window, however short they are, and a few more. The others are held back: they stay
 * queued, for another process or for later. States: room -> held back (a start was denied) -> overloaded (held back for
 * two seconds, and those that start have waited long) -> room (a window without a denial).
 */
export class Capacity {
  readonly #max: number;
  readonly #load: LoadMeter;
  readonly #now: () => number;
  #windowAt = Number.NEGATIVE_INFINITY;
  /** How many runs may be active in this window. */
  #room = 0;
  /** The highest number of active runs in it. */
  #peak = 0;
  #denied = false;
  #heldBackAt: number | undefined;
  /** When a run last started that had not waited long. */
  #servedSoonAt = Number.NEGATIVE_INFINITY;
  readonly #line = new StartLine();
  #active: () => number = () => 0;
  #serveSoon: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `now`: a monotonic clock in milliseconds. */
  constructor(options: { maxConcurrent: number; load: LoadMeter; now?: () => number }) {
    this.#max = options.maxConcurrent;
    this.#load = options.load;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Whether one more run may start beside `active` ones. An idle process may always start one. */
  tryStart(active: number): boolean {
    if (active >= this.#max) return false;
    this.#rollWindow(active);
    if (active < this.#room || active === 0) {
      this.#peak = Math.max(this.#peak, active + 1);
      return true;
    }
    this.#peak = Math.max(this.#peak, active);
    this.#denied = true;
    return false;
  }

  /** Notes how long a run waited before it started, in milliseconds. */
  noteWait(waitedMs: number): void {
    if (waitedMs < SOON_MS) this.#servedSoonAt = this.#now();
  }

  /** Whether a run that was under way elsewhere may continue here: it was admitted long ago, whatever the load. */
  canResume(active: number): boolean {
    return active < this.#max;
  }

  /** Whether one more run may start; not if others wait already. */
  tryStartInTurn(active: number): boolean {
    return this.#line.empty && this.tryStart(active);
  }

  /** Like `tryStartInTurn`, for a run that has not waited elsewhere. */
  tryStartNow(active: number): boolean {
    const starts = this.tryStartInTurn(active);
    if (starts) this.noteWait(0);
    return starts;
  }

  /**
   * Waits up to `ms` milliseconds, or until the signal aborts, for permission to start; resolves to whether it came.
   * `owner`: the API key of a run that waits here; absent for a place that the shared queue of runs gets.
   */
  async waitToStart(
    ms: number,
    active: () => number,
    { owner, signal }: { owner?: string; signal?: AbortSignal } = {},
  ): Promise<boolean> {
    if (signal?.aborted) return false;
    if (this.tryStartInTurn(active())) return true;
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
  async waitForRoom(owner: string, active: () => number, signal: AbortSignal): Promise<void> {
    const startedAt = this.#now();
    if (await this.waitToStart(Number.POSITIVE_INFINITY, active, { owner, signal }))
      this.noteWait(this.#now() - startedAt);
  }

  /** A run no longer needs its place: after the current turn of the event loop, waiting runs get it. */
  placeFreed(): void {
    if (this.#line.empty) return;
    this.#serveSoon ??= setImmediate(() => {
      this.#serveSoon = undefined;
      this.#serve();
    });
  }

  /** Starts waiting runs while there is room. */
  #serve(): void {
    this.#line.expire(this.#now());
    for (let started = 0; !this.#line.empty && this.tryStart(this.#active() + started); started++)
      this.#line.startNext();
    if (!this.#line.empty) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Whether queued runs cannot be served soon, so that new ones should go elsewhere. */
  get overloaded(): boolean {
    const now = this.#now();
    const heldBackAt = this.#heldBackSince(now);
    const isHeldBack = heldBackAt !== undefined && now - heldBackAt >= PATIENCE_MS;
    return isHeldBack && now - this.#servedSoonAt >= SOON_MS;
  }

  /** Since when runs have been held back, as of `now`; undefined if they are not. */
  #heldBackSince(now: number): number | undefined {
    const passed = now - this.#windowAt;
    if (passed < WINDOW_MS) return this.#heldBackAt;
    return this.#denied && passed < PATIENCE_MS ? (this.#heldBackAt ?? this.#windowAt) : undefined;
  }

  /** Begins the next window if it is due, with `active` runs. */
  #rollWindow(active: number): void {
    const now = this.#now();
    const passed = now - this.#windowAt;
    if (passed < WINDOW_MS) return;
    this.#heldBackAt = this.#heldBackSince(now);
    this.#denied = false;
    this.#room = this.#roomAfter(passed < 2 * WINDOW_MS ? Math.max(this.#peak, active) : active);
    this.#peak = active;
    this.#windowAt = now;
  }

  #roomAfter(peak: number): number {
    const { utilization, lagMs } = this.#load;
    if (lagMs >= LATE_MS) return Math.floor(peak / 2);
    return peak + (lagMs >= BUSY.lagMs || utilization >= BUSY.utilization ? BUSY_GROWTH : GROWTH);
  }
}
