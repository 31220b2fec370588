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
  put(key: string, id: string, { ttlMs, ...hold }: Omit<Hold, 'until'> & { ttlMs: number }): void {
    this.restore(key, id, { ...hold, until: this.#now() + ttlMs });
  }

  restore(key: string, id: string, { points, spent, until, lasting }: Hold): void {
    const hold = { points, spent, until, lasting };
    const held = this.#keys.get(key) ?? new KeyHolds();
    this.#keys.set(key, held);
    held.set(id, hold);
    this.onChange(key, id, hold);
  }

  get(key: string, id: string): Hold | undefined {
    return this.#current(key)?.byId.get(id);
  }

  remove(key: string, id: string): Hold | undefined {
    const held = this.#current(key);
    const hold = held?.delete(id);
    if (held?.byId.size === 0) this.#keys.delete(key);
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
  passing(key: string): number {
    let spent = 0;
    for (const hold of this.#current(key)?.byId.values() ?? []) if (!hold.lasting) spent += hold.spent;
    return spent;
  }

  #current(key: string): KeyHolds | undefined {
    const held = this.#keys.get(key);
    const now = this.#now();
    if (held === undefined || held.soonest > now) return held;
    for (const [id, hold] of held.takeExpired(now)) {
      this.onExpired(key, hold);
      this.onChange(key, id, hold);
    }
    return held;
  }
}

class KeyHolds {
  readonly byId = new Map<string, Hold>();
  points = 0;
  /** Nothing is given up before; so that not every look goes through all of them. */
  soonest = Number.POSITIVE_INFINITY;

  set(id: string, hold: Hold): void {
    this.delete(id);
    this.byId.set(id, hold);
    this.points += Math.max(hold.points, hold.spent);
    this.soonest = Math.min(this.soonest, hold.until);
  }

  delete(id: string): Hold | undefined {
    const hold = this.byId.get(id);
    if (!hold) return undefined;
    this.byId.delete(id);
    this.points -= Math.max(hold.points, hold.spent);
    return hold;
  }

  takeExpired(now: number): [string, Hold][] {
    const expired = [...this.byId].filter(([, { until }]) => until <= now);
    for (const [id] of expired) this.delete(id);
    this.soonest = Number.POSITIVE_INFINITY;
    for (const { until } of this.byId.values()) this.soonest = Math.min(this.soonest, until);
    return expired;
  }
}
