/**
 * Who has to be looked at and when, so that nobody is forgotten: the runs that have something to tell a receiver
 * (docs/webhooks.md), with how far that is, and the users whose documents have to be read. One contract, several
 * backends, one suite (`test/contract/deliveries.ts`). Times go by the store's clock.
 *
 * Every method may throw `GatewayError('store_unavailable')`.
 */
export interface DeliveryStore {
  /** It is looked at in `dueInMs` milliseconds, or when it was to be looked at before, if that is earlier. */
  expect(run: string, options: { dueInMs: number }): Promise<void>;
  /** Those that are due, those that have waited longest first; they are due again in `leaseMs` unless `put` says otherwise. */
  takeDue(options: { limit: number; leaseMs: number }): Promise<string[]>;
  /** How far it is, as it was put; undefined before the first time. */
  get(run: string): Promise<string | undefined>;
  /**
   * Puts `state` in the place of `before`, for `keepMs` milliseconds, and says when it is due again: never where
   * `dueInMs` is undefined. False, and nothing is changed, where somebody else has put something else meanwhile.
   */
  put(
    run: string,
    change: { before: string | undefined; state: string; dueInMs: number | undefined; keepMs: number },
  ): Promise<boolean>;
  /** Forgets it. */
  remove(run: string): Promise<void>;
  /** How many are to be looked at. */
  count(): Promise<number>;
}
