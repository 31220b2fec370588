import type { RunId } from '../base/ids.ts';

/**
 * Which runs have something to tell a receiver, and how far that is (docs/webhooks.md). What is told is the end of the
 * run itself, which its record holds: here stands only who has to be looked at and when, so that no end is forgotten. One
 * contract, several backends, one contract suite (`test/contract/deliveries.ts`). Times go by the store's clock.
 *
 * Every method may throw `GatewayError('store_unavailable')`.
 */
export interface DeliveryStore {
  /** The run is looked at in `dueInMs` milliseconds, or when it was to be looked at before, if that is earlier. */
  expect(run: RunId, options: { dueInMs: number }): Promise<void>;
  /** Runs that are due, those that have waited longest first; they are due again in `leaseMs` unless `put` says otherwise. */
  takeDue(options: { limit: number; leaseMs: number }): Promise<RunId[]>;
  /** How far it is, as it was put; undefined before the first time. */
  get(run: RunId): Promise<string | undefined>;
  /**
   * Puts `state` in the place of `before`, for `keepMs` milliseconds, and says when the run is due again: never where
   * `dueInMs` is undefined. False, and nothing is changed, where somebody else has put something else meanwhile.
   */
  put(
    run: RunId,
    change: { before: string | undefined; state: string; dueInMs: number | undefined; keepMs: number },
  ): Promise<boolean>;
  /** Forgets the run. */
  remove(run: RunId): Promise<void>;
  /** How many runs are to be looked at. */
  count(): Promise<number>;
}
