import { limitStore } from './limit-store.ts';
import type { Count, Counter, LimitStore, Slots } from './limits.ts';

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
    // What was taken in a window that is over belongs to none that runs now.
    if (window !== undefined && window.endsAt > this.#now()) window.used = Math.max(0, window.used - points);
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
