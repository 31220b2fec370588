import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';
import type { SubmissionKey } from '../../store/run-store.ts';

/** How long it is believed that a place is taken, in milliseconds; its run may be deleted meanwhile, elsewhere. */
const BELIEVED_MS = 60_000;
/** Places that are remembered. */
const MOST = 10_000;

/**
 * Places of submissions that are known to be taken: where the same body comes again and again, as a monitor's, each new
 * run would ask the store for all of them in turn. A place that is free all the same costs no more than a memory of
 * retries.
 */
export class TakenPlaces {
  readonly #clock: Clock;
  /** By the hash of the place: until when it is taken, in Unix milliseconds. */
  readonly #until = new LRUCache<string, number>({ max: MOST });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has({ hash }: Pick<SubmissionKey, 'hash'>): boolean {
    return this.#clock.now() < (this.#until.peek(hash) ?? 0);
  }

  /** Remembers that a place is taken, by a run that ended then, in Unix milliseconds; null: it is open. */
  add({ hash, ttlMs }: Pick<SubmissionKey, 'hash' | 'ttlMs'>, endedAt: number | null): void {
    const believed = this.#clock.now() + Math.min(BELIEVED_MS, ttlMs);
    this.#until.set(hash, endedAt === null ? believed : Math.min(believed, endedAt + ttlMs));
  }

  /** A run was deleted, and with it its place: which one is not known. */
  forget(): void {
    this.#until.clear();
  }
}
