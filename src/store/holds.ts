/** What one id has reserved of a limit. */
export interface Hold {
  points: number;
  /** How many points it has used so far. */
  spent: number;
  /** When the hold expires, by the clock of the limits. */
  until: number;
  /** See `HoldTime`. */
  lasting: boolean;
}

/** The reservations of one limit, by key and id, in the memory of this process. */
export class Holds {
  onExpired: (key: string, hold: Hold) => void = () => {};
  /** Called when a hold is set, removed or expires. */
  onChange: (key: string, id: string, hold: Hold) => void = () => {};
  readonly #now: () => number;
  readonly #keys = new Map<string, KeyHolds>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Sets the hold of an id, replacing its former one. */
  put(key: string, id: string, hold: Omit<Hold, 'until'> & { ttlMs: number }): void {
    const { points, spent, lasting, ttlMs } = hold;
    this.restore(key, id, { points, spent, until: this.#now() + ttlMs, lasting });
  }

  restore(key: string, id: string, hold: Hold): void {
    const { points, spent, until } = hold;
    this.#drop(key, id);
    const keyHolds = this.#keys.getOrInsertComputed(key, () => ({ byId: new Map(), points: 0, soonest: until }));
    keyHolds.byId.set(id, hold);
    keyHolds.points += Math.max(points, spent);
    keyHolds.soonest = Math.min(keyHolds.soonest, until);
    this.onChange(key, id, hold);
  }

  get(key: string, id: string): Hold | undefined {
    return this.#current(key)?.byId.get(id);
  }

  remove(key: string, id: string): Hold | undefined {
    this.#current(key);
    const hold = this.#drop(key, id);
    if (hold) this.onChange(key, id, hold);
    return hold;
  }

  count(key: string): number {
    return this.#current(key)?.byId.size ?? 0;
  }

  ids(key: string): string[] {
    return [...(this.#current(key)?.byId.keys() ?? [])];
  }

  /** All points that are held. A hold that used more than it reserved counts what it used. */
  points(key: string): number {
    return this.#current(key)?.points ?? 0;
  }

  /** What holds that end with this process have used so far. */
  spentByCalls(key: string): number {
    let spent = 0;
    for (const hold of this.#current(key)?.byId.values() ?? []) if (!hold.lasting) spent += hold.spent;
    return spent;
  }

  /** The holds of a key, without those that have expired. */
  #current(key: string): KeyHolds | undefined {
    const keyHolds = this.#keys.get(key);
    const now = this.#now();
    if (keyHolds === undefined || keyHolds.soonest > now) return keyHolds;
    const expired = [...keyHolds.byId].filter(([, { until }]) => until <= now);
    for (const [id] of expired) this.#drop(key, id);
    keyHolds.soonest = keyHolds.byId
      .values()
      .reduce((soonest, { until }) => Math.min(soonest, until), Number.POSITIVE_INFINITY);
    for (const [id, hold] of expired) {
      this.onExpired(key, hold);
      this.onChange(key, id, hold);
    }
    return keyHolds;
  }

  #drop(key: string, id: string): Hold | undefined {
    const keyHolds = this.#keys.get(key);
    const hold = keyHolds?.byId.get(id);
    if (!keyHolds || !hold) return undefined;
    keyHolds.byId.delete(id);
    keyHolds.points -= Math.max(hold.points, hold.spent);
    if (keyHolds.byId.size === 0) this.#keys.delete(key);
    return hold;
  }
}

interface KeyHolds {
  byId: Map<string, Hold>;
  points: number;
  /** No hold expires before this time, so not every access has to check all of them. */
  soonest: number;
}
