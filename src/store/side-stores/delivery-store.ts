/** The longest that an entry waits, in milliseconds: the last retry of a webhook, and what clocks differ by. */
export const LONGEST_WAIT_MS = 13 * 3_600_000;

/**
 * A durable schedule of work: runs that have something to deliver to a webhook receiver (docs/webhooks.md), each with
 * the state of its delivery, and users whose documents have to be read. One contract, several backends, one suite
 * (`test/contract/deliveries.ts`). Times go by the store's clock.
 *
 * Every method may throw `GatewayError('store_unavailable')`.
 */
export interface DeliveryStore {
  /** Makes an entry due in `dueInMs` milliseconds; an earlier due time stays. */
  schedule(run: string, options: { dueInMs: number }): Promise<void>;
  /**
   * Returns due entries, longest overdue first, and those that are due later than any can be: the clock ran ahead when they
   * were scheduled. Unless `put` says otherwise they are due again in `leaseMs`.
   */
  takeDue(options: { limit: number; leaseMs: number }): Promise<string[]>;
  /** The state as last `put`; undefined before that. */
  get(run: string): Promise<string | undefined>;
  /**
   * Replaces the state `before` with `state` for `keepMs` milliseconds, and sets when the entry is due again: never if
   * `dueInMs` is undefined. False, and nothing changes, if the state is no longer `before`.
   */
  put(
    run: string,
    change: { before: string | undefined; state: string; dueInMs: number | undefined; keepMs: number },
  ): Promise<boolean>;
  remove(run: string): Promise<void>;
  /** The number of entries that are or become due. */
  count(): Promise<number>;
}
