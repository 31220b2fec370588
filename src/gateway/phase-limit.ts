import { MAX_TIMER_MS } from '../base/abort.ts';
import { type Phase, PhaseTimeout } from '../upstream/phase-timer.ts';

/**
 * The time limit of the phase that an exchange is in. The same timers as research turns have, for exchanges that come
 * and go by the thousand: a chunk moves the deadline, and the timer that runs finds that out when it is due.
 */
export class PhaseLimit {
  readonly #onTimeout: (timeout: PhaseTimeout) => void;
  readonly #now: () => number;
  #phase: Phase = 'headers';
  #ms = 0;
  #deadline = 0;
  /** When the timer that runs is due. */
  #due = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  /** `now`: a clock that never goes back, in milliseconds. */
  constructor(onTimeout: (timeout: PhaseTimeout) => void, options: { now?: () => number } = {}) {
    this.#onTimeout = onTimeout;
    this.#now = options.now ?? monotonic;
  }

  /** Begins a phase; it ends the one before. */
  enter(phase: Phase, ms: number): void {
    this.#phase = phase;
    this.#ms = Math.min(ms, MAX_TIMER_MS);
    this.resume();
  }

  /** Starts the clock of the phase anew, if it is this one. */
  touch(phase: Phase): void {
    if (this.#phase === phase) this.#deadline = this.#now() + this.#ms;
  }

  pause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#due = Number.POSITIVE_INFINITY;
  }

  /** Starts the clock of the phase anew, after a pause or not. */
  resume(): void {
    this.#deadline = this.#now() + this.#ms;
    if (this.#deadline < this.#due) this.#wait(this.#ms);
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    this.#due = this.#now() + ms;
    this.#timer = setTimeout(() => this.#check(), ms);
  }

  #check(): void {
    const left = this.#deadline - this.#now();
    // Timers may come a little early.
    if (left > 1) this.#wait(left);
    else this.#onTimeout(new PhaseTimeout(this.#phase, this.#ms));
  }
}

function monotonic(): number {
  return performance.now();
}
