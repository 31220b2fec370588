import assert from 'node:assert/strict';
import { patience } from './time-limit.ts';

/** Polls until a condition returns a value, and returns it. Default of `limitMs`: a minute, longer on a busy machine. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  limitMs = Math.max(60_000, patience(20)),
): Promise<T> {
  const limit = performance.now() + limitMs;
  // Polls less and less often, because each poll may be a request.
  for (let wait = 5; ; wait = Math.min(wait * 1.2, 100)) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    assert.ok(performance.now() < limit, `it did not come to this in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** Repeats assertions until they hold: what they look at may still be loading. Fails as they failed last. */
export async function untilHolds(assertions: () => Promise<void> | void): Promise<void> {
  let failure: unknown;
  const hold = async () => {
    try {
      await assertions();
      return true;
    } catch (error) {
      failure = error;
      return undefined;
    }
  };
  await eventually('assertions', hold, patience(15)).catch((error) => {
    throw failure ?? error;
  });
}
