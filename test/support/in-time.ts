import assert from 'node:assert/strict';
import { fairMs } from './fair-time.ts';

/** A machine that is busy with something else makes an attempt slow; what is slow by itself is slow each time. */
const MOST_ATTEMPTS = 3;

/**
 * Passes once an attempt takes less than `limitMs`, as on a machine of its own, and fails with what each took. An attempt starts afresh, gives the
 * milliseconds that counted, and may fail for itself.
 */
export async function inTime(limitMs: number, what: string, attempt: () => Promise<number>): Promise<void> {
  const took: number[] = [];
  while (took.length < MOST_ATTEMPTS) {
    const ms = await attempt();
    if (ms < limitMs || fairMs(ms) < limitMs) return;
    took.push(Math.round(ms));
  }
  assert.fail(`${what} took ${took.join(', ')} ms; at most ${limitMs} ms are promised`);
}
