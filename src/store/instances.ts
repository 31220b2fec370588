import { hostname } from 'node:os';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { parseJson } from '../base/json.ts';
import type { LimitStore, Slots } from './limit-store.ts';

/** Recent attempts at one provider. `p50` and `p95`: duration of the successful ones, in milliseconds. */
const attempts = z.object({
  provider: z.string(),
  attempts: z.int().nonnegative(),
  failed: z.int().nonnegative(),
  p50: z.number(),
  p95: z.number(),
});
const failures = z.object({ where: z.string(), code: z.string(), count: z.int().positive(), lastAt: z.number() });
/** What an instance did recently, as it reports it to the others. */
const recentActivity = z.object({ attempts: z.array(attempts), failures: z.array(failures) });

export type RecentActivity = z.output<typeof recentActivity>;

/** An instance of the gateway, as the others that share its store see it. Times are Unix milliseconds. */
const instance = z.object({
  id: z.string(),
  host: z.string(),
  pid: z.int(),
  startedAt: z.number(),
  seenAt: z.number(),
  /** Runs that it executes. */
  executing: z.int().nonnegative(),
  /** Resident memory in bytes. */
  memory: z.number(),
  /** Absent from instances of earlier versions. */
  recent: recentActivity.optional(),
});

export type Instance = z.output<typeof instance>;

const ANNOUNCE_MS = 5000;
/** An instance that has been silent for longer counts as gone. */
const GONE_MS = 16_000;
/** More than anyone runs against one store. */
const MAX_INSTANCES = 256;
/** Most providers and kinds of failures in a report: what others read grows with the number of instances. */
const MAX_REPORTED = 20;
const ALL = 'all';

/**
 * The instances that share the store, for the operator's page only; nothing else depends on it. Each instance describes
 * itself in the id of a slot, shared the way limits are, and takes a new slot before the last one expires.
 */
export class Instances implements AsyncDisposable {
  readonly #own: () => Instance;
  readonly #slots: Slots;
  readonly #timer: NodeJS.Timeout;
  #slot: string | undefined;

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
      recent: truncateActivity(parts.recent()),
    });
    this.#slots = parts.limits.slots({ name: 'instances' });
    this.#timer = setInterval(() => void this.announce().catch(() => {}), ANNOUNCE_MS).unref();
  }

  /** Announces this instance to the others. */
  async announce(): Promise<void> {
    const before = this.#slot;
    const slot = JSON.stringify(this.#own());
    await this.#slots.take(ALL, slot, { limit: MAX_INSTANCES, ttlMs: GONE_MS });
    this.#slot = slot;
    if (before !== undefined && before !== slot) await this.#slots.release(ALL, before);
  }

  /** The instances that announced themselves recently, and this one, by start time. */
  async list(): Promise<Instance[]> {
    const own = this.#own();
    const byId = new Map<string, Instance>();
    for (const slot of await this.#slots.holders(ALL)) {
      const { data: other } = instance.safeParse(parseJson(slot));
      const known = other && byId.get(other.id);
      if (other && (known?.seenAt ?? 0) < other.seenAt) byId.set(other.id, other);
    }
    byId.set(own.id, own);
    return [...byId.values()].sort((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    // If the store cannot be reached, the slot expires by itself.
    try {
      if (this.#slot !== undefined) await this.#slots.release(ALL, this.#slot);
    } catch {}
  }
}

function truncateActivity({ attempts, failures }: RecentActivity): RecentActivity {
  return { attempts: attempts.slice(0, MAX_REPORTED), failures: failures.slice(0, MAX_REPORTED) };
}
