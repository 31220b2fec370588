/** The state of a counter after it was asked. */
export interface Count {
  /** Points used in the window, those just asked for included where they were granted. */
  used: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

/** At once where it is counted in this process. */
export type Awaitable<T> = T | Promise<T>;

/** Points in a window of time. */
export interface Counter {
  /** Takes `points` where that many are left of `limit`; `force` takes them anyway. Nothing is taken where refused. */
  take(
    key: string,
    points: number,
    options: { limit: number; force?: boolean },
  ): Awaitable<Count & { granted: boolean }>;
  /** Gives back points (or takes more, where negative) in the window that is running. */
  giveBack(key: string, points: number): Awaitable<void>;
}

/** A bounded number of places, each held by an id and free again after its time even if nobody frees it. */
export interface Slots {
  /** False where `limit` places are held. */
  take(key: string, id: string, options: { limit: number; ttlMs: number }): Awaitable<boolean>;
  release(key: string, id: string): Awaitable<void>;
  count(key: string): Awaitable<number>;
  /** The ids that hold a place. */
  holders(key: string): Awaitable<string[]>;
}

/** A window of points, by the name of its counter. */
export interface CounterName {
  name: string;
  windowSeconds: number;
}

/**
 * One of the limits of a key, as a request takes it: a place, or points. Points with `reserved` are what a request will
 * use at most: one that is alone only needs something to be left, parallel ones have to fit together.
 */
export type LimitAsk =
  | { what: 'place'; name: string; limit: number; ttlMs: number }
  | ({ what: 'points'; points: number; limit: number; reserved?: { name: string; ttlMs: number } } & CounterName);

/** What a limit that was asked for says. */
export interface LimitGrant extends Count {
  granted: boolean;
}

/** What a request gives back of a limit; points may be negative where it used more than it took. */
export type LimitReturn = { what: 'place'; name: string } | ({ what: 'points'; points: number } & CounterName);

/** Who asks: an API key, and the request of it that holds places. */
export interface LimitHolder {
  key: string;
  id: string;
}

/** Where limits are counted: in this process's memory, or in a store that instances share. */
export interface LimitStore {
  /** One of a name. */
  counter(name: CounterName): Counter;
  /** One of a name. */
  slots(options: { name: string }): Slots;
  /** Takes all of it, in this order, or nothing. The grants up to the first that was refused. */
  take(holder: LimitHolder, asks: readonly LimitAsk[]): Promise<LimitGrant[]>;
  giveBack(holder: LimitHolder, returns: readonly LimitReturn[]): Promise<void>;
}

/** A limit store over counters and slots, one of each name. */
export function limitStore(make: { counter(name: CounterName): Counter; slots(name: string): Slots }): LimitStore {
  const counters = new Map<string, Counter>();
  const places = new Map<string, Slots>();
  const parts = {
    counter(name: CounterName): Counter {
      const counter = counters.get(name.name) ?? make.counter(name);
      counters.set(name.name, counter);
      return counter;
    },
    slots({ name }: { name: string }): Slots {
      const slots = places.get(name) ?? make.slots(name);
      places.set(name, slots);
      return slots;
    },
  };
  return {
    ...parts,
    take: (holder, asks) => takeAll(parts, holder, asks),
    giveBack: (holder, returns) => giveAllBack(parts, holder, returns),
  };
}

type LimitParts = Pick<LimitStore, 'counter' | 'slots'>;

/** What is counted in this process is not waited for: every request comes by here. */
async function takeAll(parts: LimitParts, holder: LimitHolder, asks: readonly LimitAsk[]): Promise<LimitGrant[]> {
  const taken: LimitReturn[] = [];
  const grants: LimitGrant[] = [];
  let whole = false;
  try {
    for (const ask of asks) {
      const taking = ask.what === 'place' ? takePlace(parts, holder, ask) : takePoints(parts, holder, { ask, taken });
      const grant = taking instanceof Promise ? await taking : taking;
      grants.push(grant);
      if (!grant.granted) return grants;
      taken.push(ask);
    }
    whole = true;
    return grants;
  } finally {
    if (!whole) await giveAllBack(parts, holder, taken.reverse());
  }
}

async function giveAllBack(parts: LimitParts, holder: LimitHolder, returns: readonly LimitReturn[]): Promise<void> {
  for (const each of returns) {
    const giving =
      each.what === 'place'
        ? parts.slots(each).release(holder.key, holder.id)
        : parts.counter(each).giveBack(holder.key, each.points);
    if (giving instanceof Promise) await giving;
  }
}

type PlaceAsk = Extract<LimitAsk, { what: 'place' }>;
type PointsAsk = Extract<LimitAsk, { what: 'points' }>;

function takePlace(parts: LimitParts, { key, id }: LimitHolder, ask: PlaceAsk): Awaitable<LimitGrant> {
  const taking = parts.slots(ask).take(key, id, ask);
  const grant = (granted: boolean): LimitGrant => ({ granted, used: ask.limit, resetMs: ask.ttlMs });
  return taking instanceof Promise ? taking.then(grant) : grant(taking);
}

function takePoints(
  parts: LimitParts,
  holder: LimitHolder,
  { ask, taken }: { ask: PointsAsk; taken: LimitReturn[] },
): Awaitable<LimitGrant> {
  const { points, limit, reserved } = ask;
  if (reserved) return reserve(parts, holder, { ask, reserved, taken });
  return parts.counter(ask).take(holder.key, points, { limit });
}

async function reserve(
  parts: LimitParts,
  { key, id }: LimitHolder,
  { ask, reserved, taken }: { ask: PointsAsk; reserved: { name: string; ttlMs: number }; taken: LimitReturn[] },
): Promise<LimitGrant> {
  const { points, limit } = ask;
  const slots = parts.slots(reserved);
  const place = slots.take(key, id, { limit: Number.POSITIVE_INFINITY, ttlMs: reserved.ttlMs });
  if (place instanceof Promise) await place;
  taken.push({ what: 'place', name: reserved.name });
  const held = slots.count(key);
  const alone = (held instanceof Promise ? await held : held) === 1;
  const counter = parts.counter(ask);
  const fits = counter.take(key, points, { limit });
  const grant = fits instanceof Promise ? await fits : fits;
  if (grant.granted || !alone || grant.used >= limit) return grant;
  return await counter.take(key, points, { limit, force: true });
}

/** Limits counted in this process. */
export function memoryLimits(now: () => number): LimitStore {
  return limitStore({
    counter: ({ windowSeconds }) => new MemoryCounter(windowSeconds, now),
    slots: () => new MemorySlots(now),
  });
}

/** A window of a key. */
interface Window {
  used: number;
  endsAt: number;
}

/** Points in fixed windows, each beginning with the first point that is taken in it. One window a key at most. */
class MemoryCounter implements Counter {
  readonly #windowMs: number;
  readonly #now: () => number;
  readonly #windows = new Map<string, Window>();

  constructor(windowSeconds: number, now: () => number) {
    this.#windowMs = windowSeconds * 1000;
    this.#now = now;
  }

  take(
    key: string,
    points: number,
    { limit, force = false }: { limit: number; force?: boolean },
  ): Count & { granted: boolean } {
    const now = this.#now();
    let window = this.#windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      window = { used: 0, endsAt: now + this.#windowMs };
      this.#windows.set(key, window);
    }
    const granted = force || window.used + points <= limit;
    if (granted) window.used += points;
    return { granted, used: window.used, resetMs: window.endsAt - now };
  }

  giveBack(key: string, points: number): void {
    const window = this.#windows.get(key);
    if (window !== undefined && window.endsAt > this.#now()) window.used -= points;
  }
}

/** The places of a key that are held. */
interface Held {
  /** When each id's place is free by itself. */
  until: Map<string, number>;
  /** No place is free by itself before; so that not every look goes through all of them. */
  soonest: number;
}

class MemorySlots implements Slots {
  readonly #now: () => number;
  readonly #held = new Map<string, Held>();

  constructor(now: () => number) {
    this.#now = now;
  }

  take(key: string, id: string, { limit, ttlMs }: { limit: number; ttlMs: number }): boolean {
    const held = this.#current(key) ?? { until: new Map<string, number>(), soonest: Number.POSITIVE_INFINITY };
    if (held.until.size >= limit) return false;
    const until = this.#now() + ttlMs;
    held.until.set(id, until);
    held.soonest = Math.min(held.soonest, until);
    this.#held.set(key, held);
    return true;
  }

  release(key: string, id: string): void {
    const held = this.#held.get(key);
    held?.until.delete(id);
    if (held?.until.size === 0) this.#held.delete(key);
  }

  count(key: string): number {
    return this.#current(key)?.until.size ?? 0;
  }

  holders(key: string): string[] {
    return [...(this.#current(key)?.until.keys() ?? [])];
  }

  #current(key: string): Held | undefined {
    const held = this.#held.get(key);
    const now = this.#now();
    if (held === undefined || held.soonest > now) return held;
    held.soonest = Number.POSITIVE_INFINITY;
    for (const [id, until] of held.until) {
      if (until <= now) held.until.delete(id);
      else held.soonest = Math.min(held.soonest, until);
    }
    return held;
  }
}
