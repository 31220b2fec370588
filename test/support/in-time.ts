import assert from 'node:assert/strict';
import { fairMs } from './fair-time.ts';

/** Number of attempts: a busy machine makes one attempt slow, slow code makes every attempt slow. */
const MAX_ATTEMPTS = 3;

/**
 * Passes once an attempt takes less than `limitMs`, corrected for a busy machine; else fails with the time of each. An
 * attempt starts afresh and returns the milliseconds that count. It may also fail by itself.
 */
export async function inTime(limitMs: number, what: string, attempt: () => Promise<number>): Promise<void> {
  const took: number[] = [];
  while (took.length < MAX_ATTEMPTS) {
    const ms = await attempt();
    if (ms < limitMs || fairMs(ms) < limitMs) return;
    took.push(Math.round(ms));
  }
  assert.fail(`${what} took ${took.join(', ')} ms; at most ${limitMs} ms are promised`);
}
