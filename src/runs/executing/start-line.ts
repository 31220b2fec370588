export interface WaitingStart {
  /** The API key of a run that waits in this process; undefined for a place that the shared queue of runs gets. */
  owner: string | undefined;
  /** When it stops waiting, on the caller's clock. */
  until: number;
  settle(started: boolean): void;
}

/**
 * Decides who starts next, by turns: one place of the shared queue, which takes turns among keys itself, then one run that
 * waits here, of the next API key. The runs of one key start in order of arrival.
 */
export class StartLine {
  readonly #queue = new Set<WaitingStart>();
  /** In order of turns: the next key comes first. */
  readonly #byOwner = new Map<string, Set<WaitingStart>>();
  #queueIsNext = true;

  get empty(): boolean {
    return this.#queue.size === 0 && this.#byOwner.size === 0;
  }

  enter(place: WaitingStart): void {
    this.#placesOf(place).add(place);
  }

  leave(place: WaitingStart): void {
    if (this.#remove(place)) place.settle(false);
  }

  /** Removes those whose time is up. */
  expire(now: number): void {
    for (const places of [this.#queue, ...this.#byOwner.values()]) {
      for (const place of places) if (place.until <= now) this.leave(place);
    }
  }

  startNext(): void {
    const queued = this.#queue.values().next().value;
    const here = this.#byOwner.values().next().value?.values().next().value;
    const next = this.#queueIsNext ? (queued ?? here) : (here ?? queued);
    if (!next) return;
    this.#remove(next, { isServed: true });
    this.#queueIsNext = next.owner !== undefined;
    next.settle(true);
  }

  #placesOf({ owner }: WaitingStart): Set<WaitingStart> {
    return owner === undefined ? this.#queue : this.#byOwner.getOrInsertComputed(owner, () => new Set());
  }

  /** Removes a place, and puts the others of its key behind those of all other keys if `isServed`. */
  #remove(place: WaitingStart, { isServed = false } = {}): boolean {
    const { owner } = place;
    const places = this.#placesOf(place);
    const wasThere = places.delete(place);
    if (owner === undefined) return wasThere;
    if (isServed || places.size === 0) this.#byOwner.delete(owner);
    if (isServed && places.size > 0) this.#byOwner.set(owner, places);
    return wasThere;
  }
}
