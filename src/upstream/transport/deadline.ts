import { MAX_TIMER_MS } from '../../base/abort.ts';
import { READING_MS, wasHeldUp } from '../../base/load/standstill.ts';

/** The phases of a call that have a time limit (architecture: the four timers); `total` is that of the whole call. */
export type Phase = 'connect' | 'headers' | 'first token' | 'idle' | 'total';

/** A phase that took too long. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
  readonly phase: Phase;
  readonly ms: number;

  constructor(phase: Phase, ms: number) {
    super(PHASE_TEXT[phase](ms));
    this.phase = phase;
    this.ms = ms;
  }
}

const PHASE_TEXT: Readonly<Record<Phase, (ms: number) => string>> = {
  connect: (ms) => `no connection within ${ms} ms`,
  headers: (ms) => `no answer within ${ms} ms`,
  'first token': (ms) => `no token within ${ms} ms of the answer`,
  idle: (ms) => `the stream stalled for ${ms} ms`,
  total: (ms) => `no whole answer within ${ms} ms`,
};

/** Timers are not made more frequent than this for the sake of short phases, in milliseconds. */
const LEAST_WAIT_MS = 1000;

/**
 * The time limit of the phase that a call is in, and of the call as a whole. Calls come and go by the thousand and
 * chunks by the million: a chunk moves the limit, and the one timer that runs finds that out when it is due.
 */
export class Deadline {
  readonly #onExceeded: (exceeded: DeadlineExceeded) => void;
  readonly #now: () => number;
  readonly #totalMs: number;
  readonly #end: number;
  readonly #longestWaitMs: number;
  #phase: Phase = 'headers';
  #ms = Number.POSITIVE_INFINITY;
  #until = Number.POSITIVE_INFINITY;
  /** When the timer that runs is due. */
  #due = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  /** Whether it was waited a little longer because the process had stood still. */
  #spared = false;

  /**
   * `totalMs` begins now and does not stop for a pause. `shortestMs`: phases to come may be as short as this, so that
   * the first timer is due no later and is not replaced by theirs. `now`: a clock that never goes back, in milliseconds.
   */
  constructor(
    onExceeded: (exceeded: DeadlineExceeded) => void,
    options: { totalMs?: number | undefined; shortestMs?: number; now?: () => number } = {},
  ) {
    this.#onExceeded = onExceeded;
    this.#now = options.now ?? monotonic;
    this.#longestWaitMs = Math.min(MAX_TIMER_MS, Math.max(LEAST_WAIT_MS, options.shortestMs ?? MAX_TIMER_MS));
    this.#totalMs = options.totalMs ?? Number.POSITIVE_INFINITY;
    this.#end = options.totalMs === undefined ? this.#totalMs : this.#now() + this.#totalMs;
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
    this.#schedule(this.#now());
  }

  /** Starts the clock of the phase anew, after a pause or not. */
  resume(): void {
    const now = this.#now();
    this.#until = now + this.#ms;
    this.#schedule(now);
  }

  /** Ends all limits. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#due = Number.POSITIVE_INFINITY;
  }

  /** A timer that is due too early is left running: it finds the later limit by itself. */
  #schedule(now: number): void {
    const until = Math.min(this.#until, this.#end);
    if (until === Number.POSITIVE_INFINITY) this.stop();
    else if (until < this.#due) this.#wait(until - now, now);
  }

  #wait(ms: number, now: number): void {
    clearTimeout(this.#timer);
    const wait = Math.min(Math.max(0, ms), this.#longestWaitMs);
    this.#due = now + wait;
    this.#timer = setTimeout(() => this.#check(), wait);
  }

  #check(): void {
    const now = this.#now();
    const heldUp = wasHeldUp(this.#due, now);
    this.#due = Number.POSITIVE_INFINITY;
    if (heldUp && !this.#spared) {
      // The process stood still: what the provider sent meanwhile is read first.
      this.#spared = true;
      this.#wait(READING_MS, now);
      return;
    }
    // Timers may come a little early.
    if (Math.min(this.#until, this.#end) - now > 1) {
      this.#schedule(now);
      return;
    }
    this.stop();
    const total = this.#end - now <= 1;
    this.#onExceeded(
      total ? new DeadlineExceeded('total', this.#totalMs) : new DeadlineExceeded(this.#phase, this.#ms),
    );
  }
}

function monotonic(): number {
  return performance.now();
}
