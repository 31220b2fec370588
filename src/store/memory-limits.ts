import { composeLimitStore } from './compose-limit-store.ts';
import { Holds } from './holds.ts';
import type { Count, Counter, HoldTime, LimitBudget, ReservationResult, Slots } from './limit-store.ts';

/** Limits that this process counts by itself. */
export function memoryLimits(now: () => number) {
  return composeLimitStore({
    counter: ({ windowSeconds }) => new MemoryCounter(windowSeconds, now),
    slots: () => new MemorySlots(new Holds(now)),
    budget: ({ windowSeconds }) => new MemoryBudget(windowSeconds, { now, holds: new Holds(now) }),
  });
}

/** The current window of a key. */
interface Window {
  used: number;
  endsAt: number;
}

/** Points in fixed windows. A window starts with the first point taken in it; a key has one at most. */
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

  refund(key: string, points: number): void {
    const window = this.#windows.get(key);
    // Points of a past window do not count in the current one.
    if (window !== undefined && window.endsAt > this.#now()) window.used = Math.max(0, window.used - points);
  }

  /** The current window of a key, to be stored. */
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
    if (!this.#holds.get(key, id) && this.#holds.count(key) >= limit) return false;
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

/** Points in fixed windows, and reservations in addition to them. */
export class MemoryBudget implements LimitBudget {
  readonly #now: () => number;
  readonly #counter: MemoryCounter;
  readonly #holds: Holds;
  readonly #onChange: (key: string) => void;

  /** `holds`: the reservations of this budget alone. `onChange`: called when `window` may return something else. */
  constructor(
    windowSeconds: number,
    { now, holds, onChange = () => {} }: { now: () => number; holds: Holds; onChange?: (key: string) => void },
  ) {
    this.#now = now;
    this.#counter = new MemoryCounter(windowSeconds, now);
    this.#holds = holds;
    this.#onChange = onChange;
    holds.onExpired = (key, { spent }) => this.#charge(key, spent);
  }

  reserve(
    key: string,
    id: string,
    { points, limit, ttlMs, lasting = false }: { points: number; limit: number } & HoldTime,
  ): ReservationResult {
    const hold = this.#holds.get(key, id);
    const others = this.#holds.count(key) > (hold ? 1 : 0);
    const { used, resetMs } = this.used(key);
    const spent = hold?.spent ?? 0;
    const before = used - (hold ? Math.max(hold.points, spent) : 0);
    const granted = before + points <= limit || (!others && before < limit);
    if (!granted) return { granted, others, used, resetMs };
    this.#holds.put(key, id, { points, spent, ttlMs, lasting });
    return { granted, others, used: before + Math.max(points, spent), resetMs };
  }

  note(key: string, id: string, { spent, ttlMs }: { spent: number; ttlMs: number }): void {
    const hold = this.#holds.get(key, id);
    if (!hold) return;
    this.#holds.put(key, id, { ...hold, spent, ttlMs });
    this.#onChange(key);
  }

  settle(key: string, id: string, { spent }: { spent?: number | undefined }): void {
    const hold = this.#holds.remove(key, id);
    if (hold) this.#charge(key, spent ?? hold.spent);
  }

  used(key: string): Count {
    const reserved = this.#holds.points(key);
    const { used, resetMs } = this.#counter.take(key, 0, { limit: 0, force: true });
    return { used: used + reserved, resetMs };
  }

  holders(key: string): string[] {
    return this.#holds.ids(key);
  }

  /** The settled points and what holds that end with this process have used so far; to be stored. */
  window(key: string): Window {
    const { used, endsAt } = this.#counter.window(key);
    return { used: used + this.#holds.spentByCalls(key), endsAt };
  }

  restore(key: string, window: Window): void {
    this.#counter.restore(key, window);
  }

  /** Goes on from what a shared store has counted, which includes the reservations that are known here. */
  follow(key: string, { used, resetMs }: Count): void {
    const settled = Math.max(0, used - this.#holds.points(key));
    this.#counter.restore(key, { used: settled, endsAt: this.#now() + resetMs });
  }

  #charge(key: string, spent: number): void {
    this.#counter.take(key, spent, { limit: 0, force: true });
    this.#onChange(key);
  }
}
