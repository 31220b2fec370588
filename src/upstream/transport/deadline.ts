import { deadlineTimer } from '../../base/load/stall.ts';

/** How long one timer waits at most, in milliseconds. The next phase needs a new one only if its limit is shorter. */
const CHECK_MS = 15_000;

/** The phases of a call that have a time limit; `total` is the whole call. */
export type Phase = 'connection' | 'headers' | 'first token' | 'idle' | 'error' | 'total';

/**
 * The time limit of a call's current phase, and of the whole call. There are millions of chunks, so a chunk or a phase that
 * ends later only moves the limit, and the timer finds that out when it fires.
 */
export class Deadline {
  readonly #onExceeded: (phase: Phase, ms: number) => void;
  readonly #total: Disposable | undefined;
  #phase: Phase = 'headers';
  #ms = 0;
  #until = 0;
  #timer: Disposable | undefined;
  /** When the timer fires, which may be before the limit. */
  #firesAt = 0;

  /** `totalMs` begins now and does not stop for a pause. */
  constructor(onExceeded: (phase: Phase, ms: number) => void, { totalMs }: { totalMs?: number | undefined } = {}) {
    this.#onExceeded = onExceeded;
    this.#total = totalMs === undefined ? undefined : deadlineTimer(totalMs, () => onExceeded('total', totalMs));
  }

  /** Starts a phase, which ends the previous one. */
  enter(phase: Exclude<Phase, 'total'>, ms: number): void {
    this.#phase = phase;
    this.#ms = ms;
    this.resume();
  }

  /** Restarts the clock if the phase is `idle`. */
  touch(): void {
    if (this.#phase === 'idle') this.#until = performance.now() + this.#ms;
  }

  /** Stops the clock of the phase. */
  pause(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  /** Restarts the clock of the phase, whether it was paused or not. */
  resume(): void {
    this.#until = performance.now() + this.#ms;
    if (!this.#timer || this.#firesAt > this.#until) this.#wait(this.#ms);
  }

  /** Ends all limits. */
  stop(): void {
    this.pause();
    this.#total?.[Symbol.dispose]();
  }

  #wait(ms: number): void {
    this.pause();
    const delay = Math.min(ms, CHECK_MS);
    this.#firesAt = performance.now() + delay;
    this.#timer = deadlineTimer(delay, () => {
      const left = this.#until - performance.now();
      // Timers may fire slightly early.
      if (left > 1) this.#wait(left);
      else this.#onExceeded(this.#phase, this.#ms);
    });
  }
}
