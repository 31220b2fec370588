import { MAX_TIMER_MS } from '../base/abort.ts';

/** The phases of an exchange that have a time limit (architecture: the four timers). */
export type Phase = 'connect' | 'headers' | 'first token' | 'idle';

/** The reason with which a phase that took too long aborts the exchange. */
export class PhaseTimeout extends Error {
  override readonly name = 'PhaseTimeout';
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
};

/**
 * One timer for the phases of one exchange: entering a phase ends the one before. Aborts `signal` with a
 * `PhaseTimeout`, or with the parent's reason when the parent aborts.
 */
export class PhaseTimer implements Disposable {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #onParentAbort = () => this.#controller.abort(this.#parent.reason);
  #timer: NodeJS.Timeout | undefined;
  #phase: Phase = 'headers';
  #ms = 0;

  constructor(parent: AbortSignal) {
    this.#parent = parent;
    if (parent.aborted) this.#onParentAbort();
    else parent.addEventListener('abort', this.#onParentAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the clock of a phase; the same phase again starts it anew. */
  enter(phase: Phase, ms: number): void {
    if (this.#timer && this.#phase === phase && this.#ms === ms) {
      this.#timer.refresh();
      return;
    }
    this.pause();
    this.#phase = phase;
    this.#ms = ms;
    this.#timer = setTimeout(() => this.#controller.abort(new PhaseTimeout(phase, ms)), Math.min(ms, MAX_TIMER_MS));
  }

  /** Starts the clock of a phase unless it runs already. */
  enterOnce(phase: Phase, ms: number): void {
    if (this.#timer === undefined || this.#phase !== phase) this.enter(phase, ms);
  }

  /** Stops the clock, for as long as the reader of the stream is busy. */
  pause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Ends the exchange. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    this.pause();
    this.#parent.removeEventListener('abort', this.#onParentAbort);
  }
}
