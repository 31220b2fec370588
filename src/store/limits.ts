import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';

/** The state of a counter after it was asked. */
export interface Count {
  /** Points used in the window, those just asked for included where they were granted. */
  used: number;
  /** Milliseconds until the window ends. */
  resetMs: number;
}

/** Points in a window of time. */
export interface Counter {
  /** Takes `points` where that many are left of `limit`; `force` takes them anyway. Nothing is taken where refused. */
  take(key: string, points: number, options: { limit: number; force?: boolean }): Promise<Count & { granted: boolean }>;
  /** Gives back points (or takes more, where negative) in the window that is running. */
  giveBack(key: string, points: number): Promise<void>;
}

/** A bounded number of places, each held by an id and free again after its time even if nobody frees it. */
export interface Slots {
  /** False where `limit` places are held. */
  take(key: string, id: string, options: { limit: number; ttlMs: number }): Promise<boolean>;
  release(key: string, id: string): Promise<void>;
  count(key: string): Promise<number>;
}

/** Where limits are counted: in this process's memory, or in a store that instances share. */
export interface LimitStore {
  counter(options: { name: string; windowSeconds: number }): Counter;
  slots(options: { name: string }): Slots;
}

/** Limits counted in this process. */
export function memoryLimits(now: () => number): LimitStore {
  return {
    counter: ({ name, windowSeconds }) => memoryCounter(name, windowSeconds),
    slots: () => new MemorySlots(now),
  };
}

function memoryCounter(name: string, windowSeconds: number): Counter {
  // The limit differs by key, so the limiter only counts.
  const limiter = new RateLimiterMemory({
    keyPrefix: name,
    points: Number.MAX_SAFE_INTEGER,
    duration: windowSeconds,
  });
  const giveBack = async (key: string, points: number) => {
    if (points === 0 || (await limiter.get(key)) === null) return;
    await (points > 0 ? limiter.reward(key, points) : limiter.penalty(key, -points));
  };
  return {
    giveBack,
    async take(key, points, { limit, force = false }) {
      const state: RateLimiterRes = await limiter.consume(key, points);
      const resetMs = Math.max(0, state.msBeforeNext);
      if (state.consumedPoints <= limit || force) return { granted: true, used: state.consumedPoints, resetMs };
      await giveBack(key, points);
      return { granted: false, used: state.consumedPoints - points, resetMs };
    },
  };
}

class MemorySlots implements Slots {
  readonly #now: () => number;
  readonly #held = new Map<string, Map<string, number>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  async take(key: string, id: string, { limit, ttlMs }: { limit: number; ttlMs: number }): Promise<boolean> {
    if (this.#current(key).size >= limit) return false;
    const held = this.#held.get(key) ?? new Map<string, number>();
    held.set(id, this.#now() + ttlMs);
    this.#held.set(key, held);
    return true;
  }

  async release(key: string, id: string): Promise<void> {
    const held = this.#held.get(key);
    held?.delete(id);
    if (held?.size === 0) this.#held.delete(key);
  }

  async count(key: string): Promise<number> {
    return this.#current(key).size;
  }

  #current(key: string): ReadonlyMap<string, number> {
    const held = this.#held.get(key);
    if (!held) return new Map();
    const now = this.#now();
    for (const [id, until] of held) if (until <= now) held.delete(id);
    return held;
  }
}
