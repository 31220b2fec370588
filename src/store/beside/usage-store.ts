/**
 * What was used, by day (docs/keys.md, "Usage"). One contract, several backends, one contract suite (`test/contract/usage.ts`).
 *
 * Every method may throw `GatewayError('store_unavailable')`.
 */
export interface UsageStore {
  /**
   * Adds to what was used. Where it throws, its source gives the same rows under the same id again, before others: what
   * was added of them already is not added twice.
   */
  add(rows: readonly UsageRow[], batch: UsageBatch): Promise<void>;
  /** What was used on the days from `from` to `to`, both included, in no order. */
  read(days: { from: string; to: string }): Promise<UsageRow[]>;
  /** Removes days before this one. */
  removeBefore(day: string): Promise<void>;
}

/** Rows are added by one batch of a source after the other. */
export interface UsageBatch {
  source: string;
  id: string;
}

/** Whose use it is, and of what. */
export interface UsageLabels {
  key: string;
  /** Empty where the key has none. */
  team: string;
  model: string;
  /** Empty where the request named none. */
  tag: string;
}

/** The counts of a row; all are whole numbers. */
export const USAGE_COUNTS = [
  'requests',
  'errors',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  /** In billionths of `server.currency`. */
  'cost_nanos',
] as const;

export type UsageCounts = Record<(typeof USAGE_COUNTS)[number], number>;

/** What was used by one on one day, as `2026-11-23` in UTC. */
export interface UsageRow extends UsageLabels, UsageCounts {
  day: string;
}

/** A row in which nothing was used. */
export function emptyUsage(labels: UsageLabels & { day: string }): UsageRow {
  return {
    ...labels,
    requests: 0,
    errors: 0,
    input_tokens: 0,
    cached_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    cost_nanos: 0,
  };
}
