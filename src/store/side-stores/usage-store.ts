/**
 * Usage by day (docs/keys.md, "Usage"). One contract, several backends, one suite (`test/contract/usage.ts`).
 *
 * Every method may throw `GatewayError('store_unavailable')`.
 */
export interface UsageStore {
  /**
   * Adds usage. If it throws, its source has to send the same rows under the same id again before any others; rows that
   * were added the first time are not added twice.
   */
  add(rows: readonly UsageRow[], batch: UsageBatch): Promise<void>;
  /** Usage of the days from `from` to `to`, both included, in no particular order. */
  read(days: { from: string; to: string }): Promise<UsageRow[]>;
  removeBefore(day: string): Promise<void>;
}

/** Identifies a batch of rows. A source sends one batch after the other. */
export interface UsageBatch {
  source: string;
  id: string;
}

/** Who used what. */
export interface UsageLabels {
  key: string;
  /** Empty if the key has none. */
  team: string;
  model: string;
  /** Empty if the request named none. */
  tag: string;
}

/** The counts of a row, all of them integers. */
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

/** Usage of one combination of labels on one day, such as `2026-11-23` in UTC. */
export interface UsageRow extends UsageLabels, UsageCounts {
  day: string;
}

/** A row without any usage. */
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
