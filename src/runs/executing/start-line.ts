export interface WaitingStart {
  /** The API key of a run that waits in this process; undefined for a place that the queue of runs gets. */
  owner: string | undefined;
  /** When it waits no longer. */
  until: number;
  settle(started: boolean): void;
}

/**
 * Those that wait for a start, in turns: one from the queue, which has turns of its own, and one of those that wait here,
 * of the next API key. The runs of one key start in the order of coming.
 */
export class StartLine {
  readonly #queue = new Set<WaitingStart>();
  /** The key whose turn is next comes first. */
  readonly #byOwner = new Map<string, Set<WaitingStart>>();
  #queueIsNext = true;

  get empty(): boolean {
    return this.#queue.size === 0 && this.#byOwner.size === 0;
  }

  enter(place: WaitingStart): void {
    const own = this.#placesOf(place);
    own.add(place);
    if (place.owner !== undefined) this.#byOwner.set(place.owner, own);
  }

  leave(place: WaitingStart): void {
    if (this.#remove(place)) place.settle(false);
  }

  /** Those whose time is over leave. */
  leaveLate(now: number): void {
    for (const own of [this.#queue, ...this.#byOwner.values()]) {
      for (const place of own) if (place.until <= now) this.leave(place);
    }
  }

  /** Lets the next one start. */
  startNext(): void {
    const queued = this.#queue.values().next().value;
    const here = this.#byOwner.values().next().value?.values().next().value;
    const next = this.#queueIsNext ? (queued ?? here) : (here ?? queued);
    if (!next) return;
    this.#remove(next);
    this.#queueIsNext = next.owner !== undefined;
    this.#tookTurn(next.owner);
    next.settle(true);
  }

  #tookTurn(owner: string | undefined): void {
    const own = owner === undefined ? undefined : this.#byOwner.get(owner);
    if (owner === undefined || !own) return;
    this.#byOwner.delete(owner);
    this.#byOwner.set(owner, own);
  }

  #placesOf({ owner }: WaitingStart): Set<WaitingStart> {
    return owner === undefined ? this.#queue : (this.#byOwner.get(owner) ?? new Set());
  }

  #remove(place: WaitingStart): boolean {
    const own = this.#placesOf(place);
    const wasThere = own.delete(place);
    if (place.owner !== undefined && own.size === 0) this.#byOwner.delete(place.owner);
    return wasThere;
  }
}
