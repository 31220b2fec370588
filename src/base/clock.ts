/** The wall clock in Unix milliseconds, replaceable in tests. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Whole Unix seconds, the unit of OpenAI's `created_at`. */
export function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
