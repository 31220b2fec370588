export interface FairTurnsOptions {
  /** Work under way at most. */
  places: number;
  /** Of these, how many one owner may have. Default: all. */
  ofOwner?: number;
  /** Work that waits at most, of all owners. One owner may have as much of it as is left for others. */
  maxWaiting: number;
  /** What is thrown where no more may wait. */
  full(): Error;
}

interface Waiting {
  enter(): void;
}

/**
 * Places for work that takes a process or a thread, shared fairly among owners (API keys, or runs where there is no
 * key): a free place goes to the waiting owner that has the fewest, in turn where several do. However much one
 * owner sends, another waits for the end of one piece of work at most, and for those of other owners before it.
 */
export class FairTurns {
  readonly #options: FairTurnsOptions;
  readonly #ofOwner: number;
  /** Work under way by owner; owners without any are not in it. */
  readonly #running = new Map<string, number>();
  /** What waits by owner; owners without any are not in it. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** When owners had their last turn, counted in turns; of those that have or wait for one. */
  readonly #lastTurn = new Map<string, number>();
  #turnCount = 0;
  #busy = 0;
  #waitingCount = 0;

  constructor(options: FairTurnsOptions) {
    this.#options = options;
    this.#ofOwner = options.ofOwner ?? options.places;
  }

  /**
   * Takes a place, or waits for one. Disposing gives it back.
   * @throws what `full` gives; the signal's reason.
   */
  async enter(owner: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#mayBegin(owner)) this.#begin(owner);
    else await this.#turn(owner, signal);
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (held) this.#end(owner);
        held = false;
      },
    };
  }

  #mayBegin(owner: string): boolean {
    return this.#busy < this.#options.places && this.#of(owner) < this.#ofOwner;
  }

  #of(owner: string): number {
    return this.#running.get(owner) ?? 0;
  }

  #begin(owner: string): void {
    this.#busy++;
    this.#lastTurn.set(owner, this.#turnCount++);
    this.#running.set(owner, this.#of(owner) + 1);
  }

  #end(owner: string): void {
    this.#busy--;
    const left = this.#of(owner) - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
    this.#serve();
    this.#forget(owner);
  }

  #forget(owner: string): void {
    if (!this.#running.has(owner) && !this.#waiting.has(owner)) this.#lastTurn.delete(owner);
  }

  async #turn(owner: string, signal: AbortSignal): Promise<void> {
    const own = this.#waiting.get(owner) ?? [];
    const left = this.#options.maxWaiting - this.#waitingCount;
    if (left <= 0 || own.length > left) throw this.#options.full();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { enter: resolve };
    const onAbort = () => {
      // Its turn may have come at the same moment: then it has begun.
      if (this.#remove(owner, waiting)) reject(signal.reason);
    };
    own.push(waiting);
    this.#waiting.set(owner, own);
    this.#waitingCount++;
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #remove(owner: string, waiting: Waiting): boolean {
    const own = this.#waiting.get(owner) ?? [];
    const place = own.indexOf(waiting);
    if (place === -1) return false;
    own.splice(place, 1);
    if (own.length === 0) this.#waiting.delete(owner);
    this.#waitingCount--;
    this.#forget(owner);
    return true;
  }

  /** Gives free places to those that wait. */
  #serve(): void {
    for (let owner = this.#next(); owner !== undefined; owner = this.#next()) {
      const own = this.#waiting.get(owner) ?? [];
      const first = own.shift();
      if (own.length === 0) this.#waiting.delete(owner);
      this.#waitingCount--;
      this.#begin(owner);
      first?.enter();
    }
  }

  #next(): string | undefined {
    let next: string | undefined;
    for (const owner of this.#waiting.keys()) {
      if (this.#mayBegin(owner) && (next === undefined || this.#comesBefore(owner, next))) next = owner;
    }
    return next;
  }

  #comesBefore(one: string, other: string): boolean {
    const [had, hadOther] = [this.#of(one), this.#of(other)];
    return had === hadOther ? (this.#lastTurn.get(one) ?? -1) < (this.#lastTurn.get(other) ?? -1) : had < hadOther;
  }
}
