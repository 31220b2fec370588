import { sleep } from '../../base/abort.ts';
import { FairSemaphore } from '../../base/fair-semaphore.ts';
import { workOwner } from '../../base/load/event-loop.ts';
import { SearchFailure } from './search-provider.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** No answer of a provider closes it for longer. */
const LONGEST_PAUSE = 60 * MINUTE;
const FAILURES_BEFORE_PAUSE = 3;
/** Searches that wait at most. */
const MAX_WAITING = 4096;

/** A rest of at most this long is waited for at the gate. */
const LONGEST_REST = 3 * SECOND;

/** Pauses where the provider named none, by kind of failure. A rejected query says nothing about the next one. */
const PAUSES = {
  rate_limited: 10 * SECOND,
  quota_exceeded: 60 * MINUTE,
  unauthorized: 5 * MINUTE,
  rejected: 0,
  unavailable: 0,
} as const;

/**
 * The way to one provider, shared by all runs: bounds the searches under way, so that parallel queries are no storm,
 * in fair turns of those who search, and stays closed for a while after the provider refused or kept failing.
 */
export class ProviderGate {
  readonly #searches: FairSemaphore;
  readonly #now: () => number;
  #closedUntil = 0;
  #restsUntil = 0;
  #lastFailure: SearchFailure | undefined;
  #failuresInARow = 0;

  constructor(options: { maxConcurrent: number; now?: () => number }) {
    this.#searches = new FairSemaphore({
      name: 'searches',
      permits: options.maxConcurrent,
      maxWaiting: MAX_WAITING,
      full: () => new SearchFailure('rate_limited', 'too many searches wait for it'),
    });
    this.#now = options.now ?? (() => performance.now());
  }

  /** Milliseconds until the gate opens; 0 if it is open. */
  closedForMs(): number {
    return Math.max(0, this.#closedUntil - this.#now());
  }

  /** The failure that closed it. */
  get lastFailure(): SearchFailure | undefined {
    return this.#lastFailure;
  }

  /**
   * Waits for a place, and until a rest that the provider asked for is over.
   * @throws SearchFailure `rate_limited` if too many wait; the signal's reason.
   */
  async enter(options: { signal: AbortSignal }): Promise<Disposable> {
    using owned = new DisposableStack();
    owned.use(await this.#searches.acquire(workOwner(), options.signal));
    const restMs = this.#restsUntil - this.#now();
    if (restMs > 0) await sleep(restMs, options);
    return owned.move();
  }

  /** Notes a success; the next search comes `restMs` later at the earliest. */
  succeeded(restMs = 0): void {
    this.#failuresInARow = 0;
    this.#restsUntil = this.#now() + Math.min(restMs, LONGEST_REST);
  }

  failed(failure: SearchFailure): void {
    this.#failuresInARow += 1;
    this.#lastFailure = failure;
    const repeated = failure.kind === 'unavailable' && this.#failuresInARow >= FAILURES_BEFORE_PAUSE;
    const pause = failure.retryAfterMs ?? (repeated ? 30 * SECOND : PAUSES[failure.kind]);
    if (pause > 0) this.#closedUntil = Math.max(this.#closedUntil, this.#now() + Math.min(pause, LONGEST_PAUSE));
  }
}
