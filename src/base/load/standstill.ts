/**
 * Time in which the process stood still: it was stopped and went on, its machine slept, or one step held its event loop.
 * Timers that ran out meanwhile come before anything is read, so that an answer that has been there for long would be
 * taken for one that never came.
 */

/** Who comes later than this was held up, in milliseconds. */
const HELD_UP_MS = 1000;
/** What came meanwhile is read within this time, in milliseconds. */
export const READING_MS = 1000;
/** How often it is looked, in milliseconds. */
const LOOK_MS = 500;

/** Whether what was due at `dueAt` comes so late that the process must have stood still. Times are of `performance.now()`. */
export function wasHeldUp(dueAt: number, now = performance.now()): boolean {
  return now - dueAt > HELD_UP_MS;
}

/**
 * Calls back after `ms` milliseconds, at most 24.8 days. Where the process stood still meanwhile it calls back a little
 * later, once: what came in that time is read first. Disposing it stops it.
 */
export function limitTimer(ms: number, onExpired: () => void): Disposable {
  const dueAt = performance.now() + ms;
  let timer = setTimeout(() => {
    if (!wasHeldUp(dueAt)) onExpired();
    else timer = setTimeout(onExpired, Math.min(ms, READING_MS));
  }, ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** Tells whether the process stood still since this was made. */
export class StandstillWatch implements Disposable {
  #dueAt = performance.now() + LOOK_MS;
  #stood = false;
  readonly #timer = setInterval(() => this.#look(), LOOK_MS).unref();

  get stood(): boolean {
    // A timer that ran out meanwhile may come before this one.
    return this.#stood || wasHeldUp(this.#dueAt);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    this.#stood ||= wasHeldUp(this.#dueAt);
    this.#dueAt = performance.now() + LOOK_MS;
  }
}
