import { hostname } from 'node:os';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { parseJson } from '../base/json.ts';
import type { LimitStore, Slots } from './limit-store.ts';

/** How attempts at a provider went lately: times in milliseconds to the end of those that ended well. */
const attempts = z.object({
  provider: z.string(),
  attempts: z.int().nonnegative(),
  failed: z.int().nonnegative(),
  p50: z.number(),
  p95: z.number(),
});
const failures = z.object({ where: z.string(), code: z.string(), count: z.int().positive(), lastAt: z.number() });
/** What an instance did lately, as it tells the others. */
const recentActivity = z.object({ attempts: z.array(attempts), failures: z.array(failures) });

export type RecentActivity = z.output<typeof recentActivity>;

/** An instance of the gateway that shares the store, as others know it. Times are Unix milliseconds. */
const instance = z.object({
  id: z.string(),
  host: z.string(),
  pid: z.int(),
  startedAt: z.number(),
  seenAt: z.number(),
  /** Runs that it drives. */
  executing: z.int().nonnegative(),
  /** Resident memory in bytes. */
  memory: z.number(),
  /** Absent where the instance is of an earlier version. */
  recent: recentActivity.optional(),
});

export type Instance = z.output<typeof instance>;

const ANNOUNCE_MS = 5000;
/** An instance that was silent for longer is gone. */
const GONE_MS = 16_000;
/** More than anyone runs against one store. */
const MAX_INSTANCES = 256;
/** Providers and kinds of failures in a report at most: what others read grows with the instances. */
const MAX_TOLD = 20;
const ALL = 'all';

/**
 * Who else works on the store, for the operator's page only: nothing is decided by it. Each instance holds a place that
 * says what it is, among the places that instances share as they share limits, and takes another before that one runs
 * out.
 */
export class Instances implements AsyncDisposable {
  readonly #own: () => Instance;
  readonly #places: Slots;
  readonly #timer: NodeJS.Timeout;
  #place: string | undefined;

  constructor(parts: {
    limits: LimitStore;
    clock: Clock;
    id: string;
    executing(): number;
    recent(): RecentActivity;
  }) {
    const { clock, id } = parts;
    const startedAt = clock.now();
    this.#own = () => ({
      id,
      host: hostname(),
      pid: process.pid,
      startedAt,
      seenAt: clock.now(),
      executing: parts.executing(),
      memory: process.memoryUsage.rss(),
      recent: bounded(parts.recent()),
    });
    this.#places = parts.limits.slots({ name: 'instances' });
    this.#timer = setInterval(() => void this.announce().catch(() => {}), ANNOUNCE_MS).unref();
  }

  /** Says that this instance is there. */
  async announce(): Promise<void> {
    const before = this.#place;
    const place = JSON.stringify(this.#own());
    await this.#places.take(ALL, place, { limit: MAX_INSTANCES, ttlMs: GONE_MS });
    this.#place = place;
    if (before !== undefined && before !== place) await this.#places.release(ALL, before);
  }

  /** The instances that were heard of lately, this one included, by the time of their start. */
  async list(): Promise<Instance[]> {
    const own = this.#own();
    const byId = new Map<string, Instance>();
    for (const place of await this.#places.holders(ALL)) {
      const { data: other } = instance.safeParse(parseJson(place));
      const known = other && byId.get(other.id);
      if (other && (known === undefined || known.seenAt < other.seenAt)) byId.set(other.id, other);
    }
    byId.set(own.id, own);
    return [...byId.values()].sort((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    // The store may be gone: then the place runs out.
    try {
      if (this.#place !== undefined) await this.#places.release(ALL, this.#place);
    } catch {}
  }
}

function bounded({ attempts, failures }: RecentActivity): RecentActivity {
  return { attempts: attempts.slice(0, MAX_TOLD), failures: failures.slice(0, MAX_TOLD) };
}
