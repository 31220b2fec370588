/**
 * Stalls: times in which the process did not run because it was stopped (SIGSTOP), its machine slept, or one step
 * blocked its event loop. After a stall expired timers fire before sockets are read, so an answer that arrived long ago
 * would be taken for one that never came.
 */

/** A timer that fires this much too late was delayed by a stall, in milliseconds. */
const STALL_MS = 1000;
/** How long reading what arrived during a stall may take, in milliseconds. */
const CATCH_UP_MS = 1000;
/** How often `StallDetector` checks, in milliseconds. */
const CHECK_MS = 500;

/** Whether something due at `dueAt` is so late that the process must have stalled. Times are those of `performance.now()`. */
function wasStalled(dueAt: number): boolean {
  return performance.now() - dueAt > STALL_MS;
}

/**
 * Calls back once after `ms` milliseconds, at most 24.8 days. If the process stalled in between, it calls back a little
 * later, so that what arrived during the stall is read first. Disposing it stops the timer.
 */
export function deadlineTimer(ms: number, onExpired: () => void): Disposable {
  return new DeadlineTimer(ms, onExpired);
}

/** A class, because an object literal with a computed method takes ten times as long to make. */
class DeadlineTimer implements Disposable {
  #timer: NodeJS.Timeout;

  constructor(ms: number, onExpired: () => void) {
    const dueAt = performance.now() + ms;
    this.#timer = setTimeout(() => {
      if (!wasStalled(dueAt)) onExpired();
      else this.#timer = setTimeout(onExpired, Math.min(ms, CATCH_UP_MS));
    }, ms);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

/** Detects whether the process has stalled since this was created. */
export class StallDetector implements Disposable {
  #dueAt = performance.now() + CHECK_MS;
  #hasStalled = false;
  readonly #timer = setInterval(() => this.#check(), CHECK_MS).unref();

  get hasStalled(): boolean {
    // After a stall another timer may fire before this one.
    return this.#hasStalled || wasStalled(this.#dueAt);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    this.#hasStalled ||= wasStalled(this.#dueAt);
    this.#dueAt = performance.now() + CHECK_MS;
  }
}
