/** Answers that are looked back at, and how many of them are needed to know a route. */
const REMEMBERED = 32;
const ENOUGH = 4;
/** A route is given this many times what it took when it was slow. */
const GENEROUS = 3;
/** It is never given less than this because it was fast, in milliseconds. */
const LEAST_MS = 10_000;
/** A request of so many bytes is read in a millisecond. */
const BYTES_IN_MS = 32;

export interface Patience {
  /** What is waited while nothing is known, in milliseconds. */
  base: number;
  /** The most that the route may take at all, in milliseconds. */
  most: number;
  /** The size of the request. */
  bytes: number;
}

/**
 * How long a route was seen to take to its first token. Models that think before they speak are given the
 * time that they are known to need while another route could be asked; fast ones are left sooner.
 */
export class FirstTokenTimes {
  /** Milliseconds, the latest last. */
  #recent: number[] = [];
  /** How long the last one was waited for that said nothing but that it is there. */
  #inVain = 0;
  readonly #onTime: ((ms: number) => void) | undefined;

  /** `onTime` is called with each time, in milliseconds. */
  constructor(onTime?: (ms: number) => void) {
    this.#onTime = onTime;
  }

  /** The first token came after so long. */
  spoke(ms: number): void {
    this.#recent.push(ms);
    if (this.#recent.length > REMEMBERED) this.#recent.shift();
    this.#inVain = 0;
    this.#onTime?.(ms);
  }

  /** It was not waited for any longer. `present`: it had answered with its headers, so it may have been thinking. */
  left(ms: number, { present }: { present: boolean }): void {
    this.#inVain = present ? ms : 0;
  }

  /** How long to wait for the first token, in milliseconds. */
  patience({ base, most, bytes }: Patience): number {
    const known = this.#recent.length >= ENOUGH ? this.#slow * GENEROUS + bytes / BYTES_IN_MS : base;
    // Once twice as long, so that a model that thinks can show how long it does; not for ever, it may be dead.
    const once = this.#inVain > 0 ? Math.min(this.#inVain * 2, base * 2) : 0;
    return Math.min(most, Math.max(known, once, Math.min(base, LEAST_MS)));
  }

  /** The slowest but one: a single delay makes nobody wait. */
  get #slow(): number {
    return this.#recent.toSorted((a, b) => b - a)[1] ?? 0;
  }
}
