import { READING_MS, wasHeldUp } from '../../base/load/standstill.ts';

/**
 * A timer runs for so long at most, in milliseconds: most calls are over by then, and the next phase of one, which mostly
 * has less time, needs no timer of its own.
 */
const MAX_WAIT_MS = 30_000;

/** The phases of a call that have a time limit; `total` is that of the whole call. */
export type Phase = 'headers' | 'first token' | 'idle' | 'total';

/**
 * The time limit of the phase that a call is in, and of the call as a whole. Calls come and go by the thousand and
 * chunks by the million: a chunk moves the limit, and the one timer that runs finds that out when it is due.
 */
export class Deadline {
  readonly #onExceeded: (phase: Phase, ms: number) => void;
  readonly #now: () => number;
  readonly #totalMs: number;
  readonly #end: number;
  #phase: Phase = 'headers';
  #ms = Number.POSITIVE_INFINITY;
  #until = Number.POSITIVE_INFINITY;
  /** When the timer that runs is due. */
  #due = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  /** Whether it was waited a little longer because the process had stood still. */
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

  /** Begins a phase; it ends the one before. */
  enter(phase: Exclude<Phase, 'total'>, ms: number): void {
    this.#phase = phase;
    this.#ms = ms;
    this.resume();
  }

  /** Starts the clock of the phase anew, if it is this one. */
  touch(phase: Phase): void {
    if (this.#phase === phase) this.#until = this.#now() + this.#ms;
  }

  /** Stops the clock of the phase. */
  pause(): void {
    this.#until = Number.POSITIVE_INFINITY;
    this.#schedule();
  }

  /** Starts the clock of the phase anew, after a pause or not. */
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

  /** A timer that is due too early is left running: it finds the later limit by itself. */
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
    const heldUp = wasHeldUp(this.#due, now);
    this.stop();
    if (this.#next - now > 1) {
      // A chunk moved the limit, or it is further away than a timer runs; or the timer came a little early, which does
      // not matter.
      this.#schedule();
    } else if (heldUp && !this.#isExtended) {
      // The process stood still: what the provider sent meanwhile is read first.
      this.#isExtended = true;
      this.#wait(READING_MS);
    } else if (this.#end - now <= 1) this.#onExceeded('total', this.#totalMs);
    else this.#onExceeded(this.#phase, this.#ms);
  }
}
