import { boundedCache } from '../../base/bounded-cache.ts';
import type { Clock } from '../../base/clock.ts';
import type { SubmissionKey } from '../../store/run-store.ts';

/** How long a slot is assumed to stay taken, in milliseconds; another process may delete its run meanwhile. */
const ASSUMED_MS = 60_000;
const MAX_SLOTS = 10_000;

/**
 * Remembers which slots of repeat keys are taken: when the same body comes again and again, as from a monitor, each new run
 * would otherwise try all of them in the store. If a slot is free after all, only a retry may go unrecognised.
 */
export class TakenSlots {
  readonly #clock: Clock;
  /** Until when each slot is taken, in Unix milliseconds, by hash. */
  readonly #until = boundedCache<number>(MAX_SLOTS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has({ hash }: Pick<SubmissionKey, 'hash'>): boolean {
    return this.#clock.now() < (this.#until.peek(hash) ?? 0);
  }

  /** Remembers that a slot is taken by a run that ended at `endedAt`, in Unix milliseconds; null: it is open. */
  add({ hash, ttlMs }: Pick<SubmissionKey, 'hash' | 'ttlMs'>, endedAt: number | null): void {
    const assumedUntil = this.#clock.now() + Math.min(ASSUMED_MS, ttlMs);
    this.#until.set(hash, endedAt === null ? assumedUntil : Math.min(assumedUntil, endedAt + ttlMs));
  }

  /** Forgets all slots, because a run was deleted and it is not known which slot it had. */
  forget(): void {
    this.#until.clear();
  }
}
