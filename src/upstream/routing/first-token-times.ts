/** How many of the latest answers count, and how many are needed before they say anything. */
const MAX_RECENT = 32;
const MIN_SAMPLES = 4;
/** A route gets this many times as long as its slow answers took. */
const SLOW_FACTOR = 3;
/** A fast route never gets less than this, in milliseconds. */
const MIN_PATIENCE_MS = 10_000;
/** How many bytes of a request a model reads in a millisecond. */
const BYTES_PER_MS = 32;

export interface PatienceLimits {
  /** How long to wait while too few answers were seen, in milliseconds. */
  base: number;
  /** The longest wait, in milliseconds. */
  max: number;
  /** The size of the request, in bytes. */
  bytes: number;
}

/**
 * How long a route took to its first token. While another route could be tried, a model that thinks first gets the time
 * that it is known to need, and a fast one that falls silent is abandoned sooner.
 */
export class FirstTokenTimes {
  /** Milliseconds, the latest last. */
  #recent: number[] = [];
  /** How long the last attempt was given that sent its headers but no token; 0 after any other outcome. */
  #lastGivenUp = 0;
  readonly #onRecord: ((ms: number) => void) | undefined;

  /** `onRecord` is called with each time, in milliseconds. */
  constructor(onRecord?: (ms: number) => void) {
    this.#onRecord = onRecord;
  }

  /** Records that the first token came after `ms`. */
  record(ms: number): void {
    this.#recent.push(ms);
    if (this.#recent.length > MAX_RECENT) this.#recent.shift();
    this.#lastGivenUp = 0;
    this.#onRecord?.(ms);
  }

  /** Records a wait that ended without a token. `hadAnswered`: the headers had come, so the model may have been thinking. */
  gaveUp(ms: number, { hadAnswered }: { hadAnswered: boolean }): void {
    this.#lastGivenUp = hadAnswered ? ms : 0;
  }

  /** How long to wait for the first token, in milliseconds. */
  patience({ base, max, bytes }: PatienceLimits): number {
    const known = this.#recent.length >= MIN_SAMPLES ? this.#slow * SLOW_FACTOR + bytes / BYTES_PER_MS : base;
    // Twice the last wait, so that a thinking model can show how long it takes; bounded, since it may be dead.
    const extended = this.#lastGivenUp > 0 ? Math.min(this.#lastGivenUp * 2, base * 2) : 0;
    return Math.min(max, Math.max(known, extended, Math.min(base, MIN_PATIENCE_MS)));
  }

  /** The second slowest time, so that a single delay changes nothing. */
  get #slow(): number {
    return this.#recent.toSorted((a, b) => b - a)[1] ?? 0;
  }
}
