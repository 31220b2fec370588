/** What an id holds of a limit. */
export interface Hold {
  points: number;
  /** What it has used so far. */
  spent: number;
  /** When it is given up by itself, by the clock of the limits. */
  until: number;
  /** See `HoldTime`. */
  lasting: boolean;
}

/** What is held of one limit, by key and id, in this process's memory. */
export class Holds {
  /** Called for what was given up because its time is over. */
  onExpired: (key: string, hold: Hold) => void = () => {};
  /** Called for each change of a hold. */
  onChange: (key: string, id: string, hold: Hold) => void = () => {};
  readonly #now: () => number;
  readonly #keys = new Map<string, KeyHolds>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Holds something from now on, in the place of what the id held. */
  put(key: string, id: string, hold: Omit<Hold, 'until'> & { ttlMs: number }): void {
    const { points, spent, lasting, ttlMs } = hold;
    this.restore(key, id, { points, spent, until: this.#now() + ttlMs, lasting });
  }

  restore(key: string, id: string, hold: Hold): void {
    const { points, spent, until } = hold;
    this.#drop(key, id);
    const held = this.#keys.get(key) ?? { byId: new Map(), points: 0, soonest: until };
    this.#keys.set(key, held);
    held.byId.set(id, hold);
    held.points += Math.max(points, spent);
    held.soonest = Math.min(held.soonest, until);
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

  /** What is held in all: what was used where that is more than was reserved. */
  points(key: string): number {
    return this.#current(key)?.points ?? 0;
  }

  /** What was used so far of holds that do not outlive this process. */
  spentHere(key: string): number {
    let spent = 0;
    for (const hold of this.#current(key)?.byId.values() ?? []) if (!hold.lasting) spent += hold.spent;
    return spent;
  }

  /** What is held of a key once what is over was given up. */
  #current(key: string): KeyHolds | undefined {
    const held = this.#keys.get(key);
    const now = this.#now();
    if (held === undefined || held.soonest > now) return held;
    const expired = [...held.byId].filter(([, { until }]) => until <= now);
    for (const [id] of expired) this.#drop(key, id);
    held.soonest = held.byId
      .values()
      .reduce((soonest, { until }) => Math.min(soonest, until), Number.POSITIVE_INFINITY);
    for (const [id, hold] of expired) {
      this.onExpired(key, hold);
      this.onChange(key, id, hold);
    }
    return held;
  }

  #drop(key: string, id: string): Hold | undefined {
    const held = this.#keys.get(key);
    const hold = held?.byId.get(id);
    if (!held || !hold) return undefined;
    held.byId.delete(id);
    held.points -= Math.max(hold.points, hold.spent);
    if (held.byId.size === 0) this.#keys.delete(key);
    return hold;
  }
}

/** What the ids of one key hold. */
interface KeyHolds {
  byId: Map<string, Hold>;
  points: number;
  /** Nothing is given up before; so that not every look goes through all of them. */
  soonest: number;
}
