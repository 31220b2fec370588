import { channel } from 'node:diagnostics_channel';

export interface FairSemaphoreOptions {
  /** Name of what is bounded, for the metric. */
  name: string;
  /** Permits that may be held at once: places, or bytes. Default: no bound except that of owners. */
  permits?: number | (() => number);
  /**
   * How many of the permits one owner may hold. With `what is left` an owner may hold as many as remain free for the
   * others. Default: all.
   */
  perOwner?: number | (() => number) | 'what is left';
  /**
   * Acquisitions that may wait. One owner may have as many waiters as remain free for the others, and always one.
   * Default: 0, nobody waits.
   */
  maxWaiting?: number;
  /** The error to throw if no permit is free and no more may wait. */
  fullError(): Error;
}

/** Permits held by one owner. Disposing releases all of them, once. */
export interface Permit extends Disposable {
  readonly permits: number;
  /** Acquires more permits now. @throws the error of `fullError` if they are not free. */
  grow(permits: number): void;
  /** Acquires more permits now; false if they are not free. */
  tryGrow(permits: number): boolean;
}

/** Publishes the name of a semaphore whenever it refuses an acquisition. */
export const semaphoreRefusals = channel('research-gateway:semaphore-refusal');

interface Waiter {
  enter(): void;
}

/**
 * Bounds how much of something is under way at once, and shares it fairly among owners (API keys, or runs without one).
 * A free permit goes to the waiting owner that holds the fewest; owners with equally many take turns. However much one
 * owner sends, another waits only for one piece of work to end, and for the owners ahead of it.
 */
export class FairSemaphore {
  /** A class, because an object of closures takes ten times as long to make, and each request has a permit. */
  static readonly #Permit = class implements Permit {
    readonly #semaphore: FairSemaphore;
    readonly #owner: string;
    permits: number;

    constructor(semaphore: FairSemaphore, owner: string, permits: number) {
      this.#semaphore = semaphore;
      this.#owner = owner;
      this.permits = permits;
    }

    tryGrow(more: number): boolean {
      if (!this.#semaphore.#isFree(this.#owner, more)) return false;
      this.#semaphore.#add(this.#owner, more);
      this.permits += more;
      return true;
    }

    grow(more: number): void {
      if (!this.tryGrow(more)) throw this.#semaphore.#refusal();
    }

    [Symbol.dispose](): void {
      const { permits } = this;
      this.permits = 0;
      if (permits > 0) this.#semaphore.#release(this.#owner, permits);
    }
  };

  readonly #options: FairSemaphoreOptions;
  /** Permits held by owner, without owners that hold none. */
  readonly #heldByOwner = new Map<string, number>();
  /** Waiters by owner, without owners that have none. */
  readonly #waiters = new Map<string, Waiter[]>();
  /** The number of the last turn of each owner that holds or waits. */
  readonly #lastTurn = new Map<string, number>();
  #turnCount = 0;
  #held = 0;
  #waitingCount = 0;

  constructor(options: FairSemaphoreOptions) {
    this.#options = options;
  }

  get held(): number {
    return this.#held;
  }

  /** Acquisitions that wait. */
  get waiting(): number {
    return this.#waitingCount;
  }

  /** Returns a permit that holds nothing yet, to `grow` as work arrives. */
  open(owner: string): Permit {
    return new FairSemaphore.#Permit(this, owner, 0);
  }

  /** Acquires permits without waiting. @throws the error of `fullError` if they are not free. */
  take(owner: string, permits = 1): Permit {
    const permit = this.open(owner);
    permit.grow(permits);
    return permit;
  }

  tryAcquire(owner: string): Permit | undefined {
    if (!this.#isFree(owner, 1)) return undefined;
    this.#admit(owner);
    return new FairSemaphore.#Permit(this, owner, 1);
  }

  /**
   * Acquires one permit, waiting for it if necessary.
   * @throws the error of `fullError`; the signal's reason.
   */
  async acquire(owner: string, signal: AbortSignal): Promise<Permit> {
    signal.throwIfAborted();
    const permit = this.tryAcquire(owner);
    if (permit) return permit;
    await this.#waitForTurn(owner, signal);
    return new FairSemaphore.#Permit(this, owner, 1);
  }

  /** Gives free permits to waiters. Call it when a bound that is a function has grown. */
  serve(): void {
    for (let owner = this.#nextOwner(); owner !== undefined; owner = this.#nextOwner()) {
      const waiters = this.#waiters.get(owner) ?? [];
      const first = waiters.shift();
      if (waiters.length === 0) this.#waiters.delete(owner);
      this.#waitingCount--;
      this.#admit(owner);
      first?.enter();
    }
  }

  #isFree(owner: string, permits: number): boolean {
    const { permits: bound, perOwner } = this.#options;
    const free = amount(bound) - this.#held;
    if (permits > free) return false;
    return this.#heldBy(owner) + permits <= (perOwner === 'what is left' ? free : amount(perOwner));
  }

  #heldBy(owner: string): number {
    return this.#heldByOwner.get(owner) ?? 0;
  }

  #admit(owner: string): void {
    this.#lastTurn.set(owner, this.#turnCount++);
    this.#add(owner, 1);
  }

  #add(owner: string, permits: number): void {
    this.#held += permits;
    this.#heldByOwner.set(owner, this.#heldBy(owner) + permits);
  }

  #release(owner: string, permits: number): void {
    this.#held -= permits;
    const remaining = this.#heldBy(owner) - permits;
    if (remaining > 0) this.#heldByOwner.set(owner, remaining);
    else this.#heldByOwner.delete(owner);
    if (this.#waitingCount > 0) this.serve();
    this.#forget(owner);
  }

  #forget(owner: string): void {
    if (!this.#heldByOwner.has(owner) && !this.#waiters.has(owner)) this.#lastTurn.delete(owner);
  }

  #refusal(): Error {
    semaphoreRefusals.publish(this.#options.name);
    return this.#options.fullError();
  }

  async #waitForTurn(owner: string, signal: AbortSignal): Promise<void> {
    const waiters = this.#waiters.get(owner) ?? [];
    const { maxWaiting = 0 } = this.#options;
    const free = maxWaiting - this.#waitingCount;
    const isFull = waiters.length > 0 && (free <= 0 || waiters.length > free);
    if (isFull || maxWaiting === 0) throw this.#refusal();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { enter: resolve };
    const onAbort = () => {
      // Its turn may have come at the same moment: then the permit is already acquired.
      if (this.#remove(owner, waiter)) reject(signal.reason);
    };
    waiters.push(waiter);
    this.#waiters.set(owner, waiters);
    this.#waitingCount++;
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #remove(owner: string, waiter: Waiter): boolean {
    const waiters = this.#waiters.get(owner) ?? [];
    const index = waiters.indexOf(waiter);
    if (index === -1) return false;
    waiters.splice(index, 1);
    if (waiters.length === 0) this.#waiters.delete(owner);
    this.#waitingCount--;
    this.#forget(owner);
    return true;
  }

  #nextOwner(): string | undefined {
    if (this.#waitingCount === 0) return undefined;
    let next: string | undefined;
    for (const owner of this.#waiters.keys()) {
      if (this.#isFree(owner, 1) && (next === undefined || this.#comesBefore(owner, next))) next = owner;
    }
    return next;
  }

  #comesBefore(owner: string, other: string): boolean {
    const [held, heldByOther] = [this.#heldBy(owner), this.#heldBy(other)];
    if (held !== heldByOther) return held < heldByOther;
    return (this.#lastTurn.get(owner) ?? -1) < (this.#lastTurn.get(other) ?? -1);
  }
}

function amount(bound: number | (() => number) | undefined): number {
  return typeof bound === 'function' ? bound() : (bound ?? Number.POSITIVE_INFINITY);
}
