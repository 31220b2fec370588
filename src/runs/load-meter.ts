import { performance } from 'node:perf_hooks';

/** How busy this process's event loop is. */
export interface LoadMeter {
  /** The share of time in which it is busy, 0 to 1, over the last tenth of a second. */
  readonly utilization: number;
  /**
   * How late timers fire because of its own work, in milliseconds, over about the last quarter of a second. Time in which
   * other processes of the machine had the CPU does not count.
   */
  readonly lagMs: number;
}

const SAMPLE_MS = 50;
/** The weight of a new sample in the moving average. */
export const SAMPLE_WEIGHT = 0.2;

/** Measures the event loop of this process until it is disposed. */
export class EventLoopLoad implements LoadMeter, Disposable {
  utilization = 0;
  lagMs = 0;
  readonly #timer: NodeJS.Timeout;
  #before = performance.eventLoopUtilization();
  #last = this.#before;
  #lastUsage = process.cpuUsage();
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
    const usage = process.cpuUsage();
    // It cannot be late by more than it worked: otherwise it was waiting for the CPU, possibly in the middle of a step.
    const cpuMs = (usage.user + usage.system - this.#lastUsage.user - this.#lastUsage.system) / 1000;
    const worked = Math.min(current.active - this.#last.active, cpuMs);
    this.#last = current;
    this.#lastUsage = usage;
    this.lagMs += SAMPLE_WEIGHT * (Math.min(worked, Math.max(0, now - this.#dueAt)) - this.lagMs);
    this.#dueAt = now + SAMPLE_MS;
    this.#odd = !this.#odd;
    if (this.#odd) return;
    this.utilization = performance.eventLoopUtilization(current, this.#before).utilization;
    this.#before = current;
  }
}

/** The lag from which on new work of any kind is refused, in milliseconds: work under way comes first. */
export const MAX_LAG_MS = 250;
