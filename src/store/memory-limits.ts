import { Holds } from './holds.ts';
import type { Count, Counter, HoldTime, LimitBudget, LimitStore, Reserved, Slots } from './limit-store.ts';
import { limitStore } from './limits-of-parts.ts';

/** Limits counted in this process. */
export function memoryLimits(now: () => number): LimitStore {
  return limitStore({
    counter: ({ windowSeconds }) => new MemoryCounter(windowSeconds, now),
    slots: () => new MemorySlots(new Holds(now)),
    budget: ({ windowSeconds }) => new MemoryBudget(windowSeconds, { now, holds: new Holds(now) }),
  });
}

/** A window of a key. */
interface Window {
  used: number;
  endsAt: number;
}

/** Points in fixed windows, each beginning with the first point that is taken in it. One window a key at most. */
export class MemoryCounter implements Counter {
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
    const window = this.#current(key);
    const granted = force || window.used + points <= limit;
    if (granted) window.used += points;
    return { granted, used: window.used, resetMs: window.endsAt - this.#now() };
  }

  giveBack(key: string, points: number): void {
    const window = this.#windows.get(key);
    // What was taken in a window that is over belongs to none that runs now.
    if (window !== undefined && window.endsAt > this.#now()) window.used = Math.max(0, window.used - points);
  }

  /** The window of a key that runs, to be stored. */
  window(key: string): Readonly<Window> {
    return this.#current(key);
  }

  restore(key: string, window: Window): void {
    this.#windows.set(key, window);
  }

  #current(key: string): Window {
    const now = this.#now();
    let window = this.#windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      window = { used: 0, endsAt: now + this.#windowMs };
      this.#windows.set(key, window);
    }
    return window;
  }
}

export class MemorySlots implements Slots {
  readonly #holds: Holds;

  constructor(holds: Holds) {
    this.#holds = holds;
  }

  take(key: string, id: string, { limit, ttlMs, lasting = false }: { limit: number } & HoldTime): boolean {
    if (this.#holds.count(key) >= limit) return false;
    this.#holds.put(key, id, { points: 1, spent: 0, ttlMs, lasting });
    return true;
  }

  release(key: string, id: string): void {
    this.#holds.remove(key, id);
  }

  count(key: string): number {
    return this.#holds.count(key);
  }

  holders(key: string): string[] {
    return this.#holds.ids(key);
  }
}

/** Points in fixed windows, with what is reserved of them beside. */
export class MemoryBudget implements LimitBudget {
  readonly #counter: MemoryCounter;
  readonly #holds: Holds;
  readonly #changed: (key: string) => void;

  /** `holds`: what is reserved, for this budget alone. `changed`: called where `window` may give something else. */
  constructor(
    windowSeconds: number,
    { now, holds, changed = () => {} }: { now: () => number; holds: Holds; changed?: (key: string) => void },
  ) {
    this.#counter = new MemoryCounter(windowSeconds, now);
    this.#holds = holds;
    this.#changed = changed;
    holds.onExpired = (key, { spent }) => this.#count(key, spent);
  }

  reserve(
    key: string,
    id: string,
    { points, limit, ttlMs, lasting = false }: { points: number; limit: number } & HoldTime,
  ): Reserved {
    const held = this.#holds.get(key, id);
    const others = this.#holds.count(key) > (held ? 1 : 0);
    const { used, resetMs } = this.used(key);
    const spent = held?.spent ?? 0;
    const before = used - (held ? Math.max(held.points, spent) : 0);
    const granted = before + points <= limit || (!others && before < limit);
    if (!granted) return { granted, others, used, resetMs };
    this.#holds.put(key, id, { points, spent, ttlMs, lasting });
    return { granted, others, used: before + Math.max(points, spent), resetMs };
  }

  note(key: string, id: string, { spent, ttlMs }: { spent: number; ttlMs: number }): void {
    const held = this.#holds.get(key, id);
    if (!held) return;
    this.#holds.put(key, id, { ...held, spent, ttlMs });
    this.#changed(key);
  }

  settle(key: string, id: string, { spent }: { spent?: number | undefined }): void {
    const held = this.#holds.remove(key, id);
    if (held) this.#count(key, spent ?? held.spent);
  }

  used(key: string): Count {
    const reserved = this.#holds.points(key);
    const { used, resetMs } = this.#counter.take(key, 0, { limit: 0, force: true });
    return { used: used + reserved, resetMs };
  }

  /** What is counted for good, with what was noted of holds that end with this process; to be stored. */
  window(key: string): Window {
    const { used, endsAt } = this.#counter.window(key);
    return { used: used + this.#holds.spentHere(key), endsAt };
  }

  restore(key: string, window: Window): void {
    this.#counter.restore(key, window);
  }

  #count(key: string, spent: number): void {
    this.#counter.take(key, spent, { limit: 0, force: true });
    this.#changed(key);
  }
}
