import type { Logger } from '../logger.ts';
import { SLOW_MS, type SlowStep, slowStepChannel } from './event-loop.ts';

/** How often the timer that watches the event loop is due, in milliseconds. */
const INTERVAL_MS = 50;

export interface EventLoopMonitorOptions {
  log: Logger;
  /** Called whenever the event loop was blocked, with the time in milliseconds. */
  onStall?(step: string, ms: number): void;
  /** What the process is working on, for stalls that no step reports: routes of open requests, number of runs. */
  currentWork(): Record<string, unknown>;
}

/**
 * Watches for stalls of the event loop: one long step delays every request, health checks included. A step that reports
 * itself as slow (`measureStep`) is logged with its route or run. For a stall that no step reports, the log names what
 * the process was working on.
 */
export class EventLoopMonitor implements Disposable {
  readonly #options: EventLoopMonitorOptions;
  readonly #timer: NodeJS.Timeout;
  #lastTickAt = performance.now();
  /** Time that slow steps have reported since the last tick, in milliseconds. */
  #reportedMs = 0;

  constructor(options: EventLoopMonitorOptions) {
    this.#options = options;
    slowStepChannel.subscribe(this.#onSlowStep);
    this.#timer = setInterval(() => this.#onTick(), INTERVAL_MS);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    slowStepChannel.unsubscribe(this.#onSlowStep);
  }

  readonly #onSlowStep = (message: unknown) => {
    if (!isSlowStep(message)) return;
    const { step, ms, ...scope } = message;
    this.#reportedMs += ms;
    this.#options.log.warn({ step, ms: Math.round(ms), ...scope }, 'a step held the event loop');
    this.#options.onStall?.(step, ms);
  };

  #onTick(): void {
    const now = performance.now();
    const delayMs = now - this.#lastTickAt - INTERVAL_MS;
    const unreportedMs = delayMs - this.#reportedMs;
    this.#lastTickAt = now;
    this.#reportedMs = 0;
    if (unreportedMs <= SLOW_MS) return;
    const { log, currentWork, onStall } = this.#options;
    log.warn({ ms: Math.round(unreportedMs), ...currentWork() }, 'the event loop stood');
    onStall?.('unknown', unreportedMs);
  }
}

function isSlowStep(message: unknown): message is SlowStep {
  return typeof message === 'object' && message !== null && 'step' in message && 'ms' in message;
}
