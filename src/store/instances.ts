import { hostname } from 'node:os';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import type { Cache, Caches } from './cache.ts';

/** An instance of the gateway that shares the store, as far as others know of it. Times are Unix milliseconds. */
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
});

export type Instance = z.output<typeof instance>;

const ANNOUNCE_MS = 5000;
/** An instance that was silent for longer is gone. */
const GONE_MS = 16_000;
/** More than anyone runs against one store. */
const MAX_INSTANCES = 256;
const LIST = 'all';

/**
 * Who else works on the store, for the operator's page only: nothing is decided by it. Instances keep one list in the
 * cache, each adding itself to what it reads; where two write at once, the one that was lost is back within seconds.
 */
export class Instances implements AsyncDisposable {
  readonly #own: () => Instance;
  readonly #list: Cache<Instance[]>;
  readonly #timer: NodeJS.Timeout;

  constructor(parts: { caches: Caches; clock: Clock; id: string; executing(): number }) {
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
    });
    this.#list = parts.caches.open({
      namespace: 'instances',
      ttlMs: GONE_MS,
      parse: (value) => z.array(instance).safeParse(value).data,
      maxBytes: 1024 ** 2,
    });
    this.#timer = setInterval(() => void this.announce(), ANNOUNCE_MS).unref();
  }

  /** Adds this instance to the list, and takes off those that are gone. Never rejects. */
  async announce(): Promise<void> {
    await this.#list.set(LIST, await this.list());
  }

  /** The instances that were heard of lately, this one included, by the time of their start. */
  async list(): Promise<Instance[]> {
    const own = this.#own();
    const known = (await this.#list.get(LIST)) ?? [];
    const others = known.filter(({ id, seenAt }) => id !== own.id && own.seenAt - seenAt < GONE_MS);
    return [...others.slice(-(MAX_INSTANCES - 1)), own].sort(
      (a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    const own = this.#own().id;
    await this.#list.set(
      LIST,
      (await this.list()).filter(({ id }) => id !== own),
    );
  }
}
