import { performance } from 'node:perf_hooks';

/** How long a measurement counts, in milliseconds. */
const WINDOW_MS = 100;

/** How busy this process's event loop is: the share of the time in which it works, 0 to 1. */
export interface LoadMeter {
  utilization(): number;
}

/** Measures the event loop when it is asked, over windows of a tenth of a second. */
export class EventLoopLoad implements LoadMeter {
  #before = performance.eventLoopUtilization();
  #measuredAt = performance.now();
  #utilization = 0;

  utilization(): number {
    const now = performance.now();
    if (now - this.#measuredAt >= WINDOW_MS) {
      const current = performance.eventLoopUtilization();
      this.#utilization = performance.eventLoopUtilization(current, this.#before).utilization;
      this.#before = current;
      this.#measuredAt = now;
    }
    return this.#utilization;
  }
}
