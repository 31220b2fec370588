import { sleep } from '../../base/abort.ts';
import { FairSemaphore } from '../../base/fair-semaphore.ts';
import { workOwner } from '../../base/load/event-loop.ts';
import { SearchFailure } from './search-provider.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** The longest time that a failure closes the gate. */
const MAX_PAUSE = 60 * MINUTE;
const FAILURES_BEFORE_PAUSE = 3;
const MAX_WAITING = 4096;

/** The longest rest that a successful answer can impose. */
const MAX_REST = 3 * SECOND;

/** How long the gate closes where the provider named no time, by kind of failure. A rejected query does not close it. */
const PAUSES = {
  rate_limited: 10 * SECOND,
  quota_exceeded: 5 * MINUTE,
  unauthorized: 5 * MINUTE,
  rejected: 0,
  unavailable: 0,
} as const;

/**
 * Guards one search provider for all runs: bounds concurrent searches, shares them fairly among callers, and closes for a
 * while after the provider refused or kept failing.
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
      fullError: () => new SearchFailure('rate_limited', 'too many searches wait for it'),
    });
    this.#now = options.now ?? (() => performance.now());
  }

  /** Milliseconds until the gate opens; 0 while it is open. */
  closedForMs(): number {
    return Math.max(0, this.#closedUntil - this.#now());
  }

  /** The last failure, which closed the gate if it is closed. */
  get lastFailure(): SearchFailure | undefined {
    return this.#lastFailure;
  }

  /**
   * Waits for a permit, and for the end of a rest that the provider asked for.
   * @throws SearchFailure `rate_limited` if too many searches wait; the signal's reason.
   */
  async enter(options: { signal: AbortSignal }): Promise<Disposable> {
    using owned = new DisposableStack();
    owned.use(await this.#searches.acquire(workOwner(), options.signal));
    const restMs = this.#restsUntil - this.#now();
    if (restMs > 0) await sleep(restMs, options);
    return owned.move();
  }

  /** Records a success; the next search starts after `restMs` at the earliest. */
  succeeded(restMs = 0): void {
    this.#failuresInARow = 0;
    this.#restsUntil = this.#now() + Math.min(restMs, MAX_REST);
  }

  failed(failure: SearchFailure): void {
    // A provider that rejects a query works.
    this.#failuresInARow = failure.kind === 'rejected' ? 0 : this.#failuresInARow + 1;
    this.#lastFailure = failure;
    const keepsFailing = failure.kind === 'unavailable' && this.#failuresInARow >= FAILURES_BEFORE_PAUSE;
    const pause = failure.retryAfterMs ?? (keepsFailing ? 30 * SECOND : PAUSES[failure.kind]);
    if (pause > 0) this.#closedUntil = Math.max(this.#closedUntil, this.#now() + Math.min(pause, MAX_PAUSE));
  }
}
