import { performance } from 'node:perf_hooks';

/** How busy this process's event loop is. */
export interface LoadMeter {
  /** The share of the time in which it works, 0 to 1, over the last tenth of a second. */
  readonly utilization: number;
  /**
   * How late it comes to what is due for its own work, in milliseconds, over about the last quarter of a second. A wait for
   * other processes of the machine counts only where it comes in the middle of a step.
   */
  readonly lagMs: number;
}

const SAMPLE_MS = 50;
/** How much a sample counts. */
export const WEIGHT = 0.2;

/** Measures the event loop of this process until it is disposed. */
export class EventLoopLoad implements LoadMeter, Disposable {
  utilization = 0;
  lagMs = 0;
  readonly #timer: NodeJS.Timeout;
  #before = performance.eventLoopUtilization();
  #last = this.#before;
  #dueAt = performance.now() + SAMPLE_MS;
  #odd = false;

  constructor() {
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    const now = performance.now();
    const current = performance.eventLoopUtilization();
    // It cannot be late by more than it worked: the rest of the time it was not given the processor.
    const worked = current.active - this.#last.active;
    this.#last = current;
    this.lagMs += WEIGHT * (Math.min(worked, Math.max(0, now - this.#dueAt)) - this.lagMs);
    this.#dueAt = now + SAMPLE_MS;
    this.#odd = !this.#odd;
    if (this.#odd) return;
    this.utilization = performance.eventLoopUtilization(current, this.#before).utilization;
    this.#before = current;
  }
}

/** A lag from which on new work of any kind is refused, in milliseconds: what is under way comes first. */
export const MAX_LAG_MS = 250;
