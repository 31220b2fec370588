import { boundedCache } from '../../base/bounded-cache.ts';
import type { Clock } from '../../base/clock.ts';
import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import type { LimitStore } from '../../store/limit-store.ts';
import type { RunStore } from '../../store/run-store.ts';
import { RUNS } from './key-limits.ts';

/** How often the places of one owner are checked, in milliseconds: a client that is refused asks again at once. */
const CHECK_MS = 5000;
/** How long a run may hold a place before it is stored, in milliseconds. */
const SUBMIT_MS = 60_000;
/** Owners and unknown runs that are remembered. */
const MAX_REMEMBERED = 10_000;

/**
 * Places of `concurrent_runs` whose process died between the end of their run (or before it was stored) and their
 * release. Nobody else would release them before the longest time that a run may last.
 */
export class LostPlaces {
  readonly #limits: LimitStore;
  readonly #runs: Pick<RunStore, 'get'>;
  readonly #clock: Clock;
  readonly #checkedAt = boundedCache<number>(MAX_REMEMBERED);
  /** When a run that holds a place was first not found in the store. */
  readonly #missingSince = boundedCache<number>(MAX_REMEMBERED);

  constructor(parts: { limits: LimitStore; runs: Pick<RunStore, 'get'>; clock: Clock }) {
    this.#limits = parts.limits;
    this.#runs = parts.runs;
    this.#clock = parts.clock;
  }

  /**
   * Releases the lost places of an owner of limits.
   * @returns whether one was released.
   * @throws GatewayError `store_unavailable`.
   */
  async release(owner: string): Promise<boolean> {
    const now = this.#clock.now();
    if (Math.abs(now - (this.#checkedAt.get(owner) ?? Number.NEGATIVE_INFINITY)) < CHECK_MS) return false;
    this.#checkedAt.set(owner, now);
    const places = this.#limits.slots({ name: RUNS });
    let released = false;
    for (const id of await places.holders(owner)) {
      await yieldToEventLoop();
      if (!(await this.#isLost(id, now))) continue;
      await places.release(owner, id);
      released = true;
    }
    return released;
  }

  async #isLost(id: string, now: number): Promise<boolean> {
    const run = await this.#runs.get(id);
    if (run) return run.endedAt !== null;
    const since = this.#missingSince.get(id) ?? now;
    this.#missingSince.set(id, since);
    return Math.abs(now - since) >= SUBMIT_MS;
  }
}
