import type { Logger } from '../logger.ts';
import { SLOW_MS, type SlowStep, slowSteps } from './event-loop.ts';

/** How often the event loop has to come by, in milliseconds. */
const BEAT_MS = 50;

export interface LoopWatchOptions {
  log: Logger;
  /** Called for every time that it stood, in milliseconds. */
  stood?(step: string, ms: number): void;
  /** What was being worked on, where no step tells: routes of open requests and how many runs. */
  busyWith(): Record<string, unknown>;
}

/**
 * Watches the event loop: one step that takes long holds up every request, health checks too. A step that knows itself
 * to be slow is logged with its route or run (`step` in `event-loop.ts`); where the loop stood and no step tells, what
 * was being worked on is logged.
 */
export class LoopWatch implements Disposable {
  readonly #options: LoopWatchOptions;
  readonly #beat: NodeJS.Timeout;
  #beatAt = performance.now();
  /** What slow steps since the last beat took. */
  #told = 0;

  constructor(options: LoopWatchOptions) {
    this.#options = options;
    slowSteps.subscribe(this.#onSlowStep);
    this.#beat = setInterval(() => this.#onBeat(), BEAT_MS);
    this.#beat.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#beat);
    slowSteps.unsubscribe(this.#onSlowStep);
  }

  readonly #onSlowStep = (message: unknown) => {
    if (!isSlowStep(message)) return;
    const { step, ms, ...scope } = message;
    this.#told += ms;
    this.#options.log.warn({ step, ms: Math.round(ms), ...scope }, 'a step held the event loop');
    this.#options.stood?.(step, ms);
  };

  #onBeat(): void {
    const now = performance.now();
    const late = now - this.#beatAt - BEAT_MS;
    const untold = late - this.#told;
    this.#beatAt = now;
    this.#told = 0;
    if (untold <= SLOW_MS) return;
    const { log, busyWith, stood } = this.#options;
    log.warn({ ms: Math.round(untold), ...busyWith() }, 'the event loop stood');
    stood?.('unknown', untold);
  }
}

function isSlowStep(message: unknown): message is SlowStep {
  return typeof message === 'object' && message !== null && 'step' in message && 'ms' in message;
}
