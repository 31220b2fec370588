import { CATCH_UP_MS, wasStalled } from '../../base/load/stall.ts';

/**
 * The longest time that one timer runs, in milliseconds: most calls are over by then, and a next phase with a shorter limit
 * rarely needs a new timer.
 */
const MAX_WAIT_MS = 30_000;

/** The phases of a call that have a time limit; `total` is the whole call. */
export type Phase = 'headers' | 'first token' | 'idle' | 'total';

/**
 * The time limit of a call's current phase, and of the whole call. There are thousands of calls and millions of chunks, so
 * a chunk only moves the limit, and the one timer finds that out when it fires.
 */
export class Deadline {
  readonly #onExceeded: (phase: Phase, ms: number) => void;
  readonly #now: () => number;
  readonly #totalMs: number;
  readonly #end: number;
  #phase: Phase = 'headers';
  #ms = Number.POSITIVE_INFINITY;
  #until = Number.POSITIVE_INFINITY;
  /** When the running timer fires. */
  #due = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the limit was extended because the process had been suspended. */
  #isExtended = false;

  /** `totalMs` begins now and does not stop for a pause. `now`: a clock that never goes back, in milliseconds. */
  constructor(
    onExceeded: (phase: Phase, ms: number) => void,
    {
      totalMs = Number.POSITIVE_INFINITY,
      now = () => performance.now(),
    }: { totalMs?: number; now?: () => number } = {},
  ) {
    this.#onExceeded = onExceeded;
    this.#now = now;
    this.#totalMs = totalMs;
    this.#end = now() + totalMs;
  }

  /** Starts a phase, which ends the previous one. */
  enter(phase: Exclude<Phase, 'total'>, ms: number): void {
    this.#phase = phase;
    this.#ms = ms;
    this.resume();
  }

  /** Restarts the clock if this is the current phase. */
  touch(phase: Phase): void {
    if (this.#phase === phase) this.#until = this.#now() + this.#ms;
  }

  /** Stops the clock of the phase. */
  pause(): void {
    this.#until = Number.POSITIVE_INFINITY;
    this.#schedule();
  }

  /** Restarts the clock of the phase, whether it was paused or not. */
  resume(): void {
    this.#until = this.#now() + this.#ms;
    this.#schedule();
  }

  /** Ends all limits. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#due = Number.POSITIVE_INFINITY;
  }

  get #next(): number {
    return Math.min(this.#until, this.#end);
  }

  /** A timer that fires too early is left running: it then finds the later limit. */
  #schedule(): void {
    if (this.#next === Number.POSITIVE_INFINITY) this.stop();
    else if (this.#next < this.#due) this.#wait(this.#next - this.#now());
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    const wait = Math.min(Math.max(0, ms), MAX_WAIT_MS);
    this.#due = this.#now() + wait;
    this.#timer = setTimeout(() => this.#check(), wait);
  }

  #check(): void {
    const now = this.#now();
    const heldUp = wasStalled(this.#due, now);
    this.stop();
    if (this.#next - now > 1) {
      // A chunk moved the limit, the limit is further away than one timer runs, or the timer fired slightly early.
      this.#schedule();
    } else if (heldUp && !this.#isExtended) {
      // The process was suspended: what the provider sent meanwhile is read first.
      this.#isExtended = true;
      this.#wait(CATCH_UP_MS);
    } else if (this.#end - now <= 1) this.#onExceeded('total', this.#totalMs);
    else this.#onExceeded(this.#phase, this.#ms);
  }
}
