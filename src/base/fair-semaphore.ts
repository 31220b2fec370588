import { channel } from 'node:diagnostics_channel';

export interface FairSemaphoreOptions {
  /** What is bounded, as the metric names it. */
  name: string;
  /** Permits that may be out at once: places, or bytes. Default: no bound but those of owners. */
  permits?: number | (() => number);
  /**
   * Of these, how many one owner may hold; `what is left` lets it take while it holds no more than is left for others.
   * Default: all.
   */
  ofOwner?: number | (() => number) | 'what is left';
  /**
   * Acquisitions that may wait; one owner may have as many as are left for others, and one always. Default 0: nobody
   * waits.
   */
  maxWaiting?: number;
  /** What is thrown where no permit is free and no more may wait. */
  full(): Error;
}

/** Permits that are held. Disposing gives all of them back, once. */
export interface Permit extends Disposable {
  /** How many. */
  readonly permits: number;
  /** Takes more of them now. @throws what `full` gives. */
  grow(permits: number): void;
  /** As `grow`; false where they are not free. */
  tryGrow(permits: number): boolean;
}

/** Tells of an acquisition that was refused, with the name of its semaphore. */
export const refusals = channel('research-gateway:semaphore-refusal');

interface Waiting {
  enter(): void;
}

/**
 * So much of something may be under way at once, shared fairly among owners (API keys, or runs without one): a free
 * permit goes to the waiting owner that holds the fewest, in turn where several do. However much one owner sends,
 * another waits for the end of one piece of work, and for those of the owners before it.
 */
export class FairSemaphore {
  /** A class, because an object of closures takes ten times as long to make, and each request has a permit. */
  static readonly #Held = class implements Permit {
    readonly #of: FairSemaphore;
    readonly #owner: string;
    permits: number;

    constructor(of: FairSemaphore, owner: string, permits: number) {
      this.#of = of;
      this.#owner = owner;
      this.permits = permits;
    }

    tryGrow(more: number): boolean {
      if (!this.#of.#isFree(this.#owner, more)) return false;
      this.#of.#add(this.#owner, more);
      this.permits += more;
      return true;
    }

    grow(more: number): void {
      if (!this.tryGrow(more)) throw this.#of.#refusal();
    }

    [Symbol.dispose](): void {
      const { permits } = this;
      this.permits = 0;
      if (permits > 0) this.#of.#end(this.#owner, permits);
    }
  };

  readonly #options: FairSemaphoreOptions;
  /** Permits held by owner; owners without any are not in it. */
  readonly #heldBy = new Map<string, number>();
  /** What waits by owner; owners without any are not in it. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** When owners had their last turn, counted in turns; of those that hold or wait. */
  readonly #lastTurn = new Map<string, number>();
  #turnCount = 0;
  #held = 0;
  #waitingCount = 0;

  constructor(options: FairSemaphoreOptions) {
    this.#options = options;
  }

  /** Permits that are out. */
  get held(): number {
    return this.#held;
  }

  /** Acquisitions that wait. */
  get waiting(): number {
    return this.#waitingCount;
  }

  /** A permit that holds nothing yet, to grow with what comes. */
  open(owner: string): Permit {
    return new FairSemaphore.#Held(this, owner, 0);
  }

  /** Takes permits now. @throws what `full` gives where they are not free. */
  take(owner: string, permits = 1): Permit {
    const permit = this.open(owner);
    permit.grow(permits);
    return permit;
  }

  /**
   * Takes one permit, or waits for it.
   * @throws what `full` gives; the signal's reason.
   */
  async acquire(owner: string, signal: AbortSignal): Promise<Permit> {
    signal.throwIfAborted();
    if (this.#isFree(owner, 1)) this.#begin(owner);
    else await this.#turn(owner, signal);
    return new FairSemaphore.#Held(this, owner, 1);
  }

  /** Gives free permits to those that wait; to be called when a bound that is a function has grown. */
  serve(): void {
    for (let owner = this.#next(); owner !== undefined; owner = this.#next()) {
      const own = this.#waiting.get(owner) ?? [];
      const first = own.shift();
      if (own.length === 0) this.#waiting.delete(owner);
      this.#waitingCount--;
      this.#begin(owner);
      first?.enter();
    }
  }

  #isFree(owner: string, permits: number): boolean {
    const { permits: bound, ofOwner } = this.#options;
    const left = amount(bound) - this.#held;
    return permits <= left && this.#heldOf(owner) + permits <= (ofOwner === 'what is left' ? left : amount(ofOwner));
  }

  #heldOf(owner: string): number {
    return this.#heldBy.get(owner) ?? 0;
  }

  #begin(owner: string): void {
    this.#lastTurn.set(owner, this.#turnCount++);
    this.#add(owner, 1);
  }

  #add(owner: string, permits: number): void {
    this.#held += permits;
    this.#heldBy.set(owner, this.#heldOf(owner) + permits);
  }

  #end(owner: string, permits: number): void {
    this.#held -= permits;
    const left = this.#heldOf(owner) - permits;
    if (left > 0) this.#heldBy.set(owner, left);
    else this.#heldBy.delete(owner);
    if (this.#waitingCount > 0) this.serve();
    this.#forget(owner);
  }

  #forget(owner: string): void {
    if (!this.#heldBy.has(owner) && !this.#waiting.has(owner)) this.#lastTurn.delete(owner);
  }

  #refusal(): Error {
    refusals.publish(this.#options.name);
    return this.#options.full();
  }

  async #turn(owner: string, signal: AbortSignal): Promise<void> {
    const own = this.#waiting.get(owner) ?? [];
    const { maxWaiting = 0 } = this.#options;
    const left = maxWaiting - this.#waitingCount;
    const isFull = own.length > 0 && (left <= 0 || own.length > left);
    if (isFull || maxWaiting === 0) throw this.#refusal();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { enter: resolve };
    const onAbort = () => {
      // Its turn may have come at the same moment: then it has begun.
      if (this.#leave(owner, waiting)) reject(signal.reason);
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

  #leave(owner: string, waiting: Waiting): boolean {
    const own = this.#waiting.get(owner) ?? [];
    const place = own.indexOf(waiting);
    if (place === -1) return false;
    own.splice(place, 1);
    if (own.length === 0) this.#waiting.delete(owner);
    this.#waitingCount--;
    this.#forget(owner);
    return true;
  }

  #next(): string | undefined {
    if (this.#waitingCount === 0) return undefined;
    let next: string | undefined;
    for (const owner of this.#waiting.keys()) {
      if (this.#isFree(owner, 1) && (next === undefined || this.#comesBefore(owner, next))) next = owner;
    }
    return next;
  }

  #comesBefore(one: string, other: string): boolean {
    const [has, otherHas] = [this.#heldOf(one), this.#heldOf(other)];
    return has === otherHas ? (this.#lastTurn.get(one) ?? -1) < (this.#lastTurn.get(other) ?? -1) : has < otherHas;
  }
}

function amount(bound: number | (() => number) | undefined): number {
  return typeof bound === 'function' ? bound() : (bound ?? Number.POSITIVE_INFINITY);
}
