import { boundedCache } from '../../base/bounded-cache.ts';
import type { Clock } from '../../base/clock.ts';
import { isRunId } from '../../base/ids.ts';
import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import type { CounterWindow, LimitStore } from '../../store/limit-store.ts';
import type { RunStore } from '../../store/run-store.ts';

/** How often what an owner holds of one limit is checked, in milliseconds: a client that is refused asks again at once. */
const CHECK_MS = 5000;
/** How long a run may hold something before it is stored, in milliseconds. */
const SUBMIT_MS = 60_000;
/** How long a living process takes at most to settle a run that has ended, in milliseconds. */
const SETTLE_MS = 10_000;
/** Limits and unknown runs that are remembered. */
const MAX_REMEMBERED = 10_000;

type ReleasableLimit = { kind: 'place'; name: string } | ({ kind: 'budget' } & CounterWindow);

/**
 * What runs still hold of limits whose process died between the end of the run (or before it was stored) and its
 * release. Nobody else would release it before the longest time that a run may last.
 */
export class LostHolds {
  readonly #limits: LimitStore;
  readonly #runs: Pick<RunStore, 'get'>;
  readonly #clock: Clock;
  readonly #checkedAt = boundedCache<number>(MAX_REMEMBERED);
  /** When a run that holds something was first not found in the store. */
  readonly #missingSince = boundedCache<number>(MAX_REMEMBERED);

  constructor(parts: { limits: LimitStore; runs: Pick<RunStore, 'get'>; clock: Clock }) {
    this.#limits = parts.limits;
    this.#runs = parts.runs;
    this.#clock = parts.clock;
  }

  /**
   * Releases what lost runs hold of a limit of this owner. Of a budget, what they noted last is counted.
   * @returns whether something was released.
   * @throws GatewayError `store_unavailable`.
   */
  async release(limit: ReleasableLimit, owner: string): Promise<boolean> {
    const now = this.#clock.now();
    const name = `${limit.name} ${owner}`;
    if (Math.abs(now - (this.#checkedAt.get(name) ?? Number.NEGATIVE_INFINITY)) < CHECK_MS) return false;
    this.#checkedAt.set(name, now);
    const part = limit.kind === 'place' ? this.#limits.slots(limit) : this.#limits.budget(limit);
    // A place says only that the run goes on; a budget is still to be charged by the process that ended the run.
    const settleMs = limit.kind === 'place' ? 0 : SETTLE_MS;
    let released = false;
    // Calls that are no runs hold budgets, too; what they hold expires.
    for (const id of (await part.holders(owner)).filter(isRunId)) {
      await yieldToEventLoop();
      if (!(await this.#isLost(id, { now, settleMs }))) continue;
      await ('settle' in part ? part.settle(owner, id, { points: 0 }) : part.release(owner, id));
      released = true;
    }
    return released;
  }

  async #isLost(id: string, { now, settleMs }: { now: number; settleMs: number }): Promise<boolean> {
    const run = await this.#runs.get(id);
    if (run) return run.endedAt !== null && Math.abs(now - run.endedAt) >= settleMs;
    const since = this.#missingSince.get(id) ?? now;
    this.#missingSince.set(id, since);
    return Math.abs(now - since) >= SUBMIT_MS;
  }
}
