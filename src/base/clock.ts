/** The wall clock in Unix milliseconds, replaceable in tests. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** For spans of time within this process: begins as the wall clock stands, and no correction of that one moves it. */
export const steadyClock: Clock = { now: () => performance.timeOrigin + performance.now() };

/** Whole Unix seconds, the unit of OpenAI's `created_at`. */
export function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
