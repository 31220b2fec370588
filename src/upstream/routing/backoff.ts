/** The pauses between rounds of attempts, in milliseconds. */
export interface BackoffPolicy {
  baseMs: number;
  maxMs: number;
  /** Where a provider asks for a longer wait than this, the turn fails and reports that wait. */
  patienceMs: number;
}

export const DEFAULT_BACKOFF: BackoffPolicy = { baseMs: 500, maxMs: 8000, patienceMs: 60_000 };

/**
 * The pause before round `round` (1 is the first repetition): doubling, with jitter between half and all of it, so that
 * runs that failed together do not come back together.
 */
export function backoffMs(policy: BackoffPolicy, round: number, random: () => number): number {
  const full = Math.min(policy.maxMs, policy.baseMs * 2 ** (round - 1));
  return Math.round(full * (0.5 + random() / 2));
}
