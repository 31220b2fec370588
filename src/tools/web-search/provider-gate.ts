import { abortable } from '../../base/abort.ts';
import type { SearchFailure } from './search-provider.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** No answer of a provider closes it for longer. */
const LONGEST_PAUSE = 60 * MINUTE;
const FAILURES_BEFORE_PAUSE = 3;

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
 * and stays closed for a while after the provider refused or kept failing.
 */
export class ProviderGate {
  readonly #maxConcurrent: number;
  readonly #waiting: (() => void)[] = [];
  readonly #now: () => number;
  #running = 0;
  #closedUntil = 0;
  #failuresInARow = 0;

  constructor(options: { maxConcurrent: number; now?: () => number }) {
    this.#maxConcurrent = options.maxConcurrent;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Milliseconds until the gate opens; 0 if it is open. */
  closedForMs(): number {
    return Math.max(0, this.#closedUntil - this.#now());
  }

  /** Waits for a place; call the returned function to give it back. */
  async enter(options: { signal: AbortSignal }): Promise<() => void> {
    options.signal.throwIfAborted();
    if (this.#running >= this.#maxConcurrent) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      try {
        await abortable(promise, options.signal);
      } catch (error) {
        const place = this.#waiting.indexOf(resolve);
        // The place may have been handed over in the same moment.
        if (place < 0) this.#leave();
        else this.#waiting.splice(place, 1);
        throw error;
      }
    } else this.#running += 1;
    return () => this.#leave();
  }

  succeeded(): void {
    this.#failuresInARow = 0;
  }

  failed(failure: SearchFailure): void {
    this.#failuresInARow += 1;
    const repeated = failure.kind === 'unavailable' && this.#failuresInARow >= FAILURES_BEFORE_PAUSE;
    const pause = failure.retryAfterMs ?? (repeated ? 30 * SECOND : PAUSES[failure.kind]);
    if (pause > 0) this.#closedUntil = Math.max(this.#closedUntil, this.#now() + Math.min(pause, LONGEST_PAUSE));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
