/** The wall clock in Unix milliseconds, replaceable in tests. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Measures durations within this process: starts at the wall clock's time, and later clock adjustments do not move it. */
export const monotonicClock: Clock = { now: () => performance.timeOrigin + performance.now() };

/** Whole Unix seconds, the unit of OpenAI's `created_at`. */
export function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
