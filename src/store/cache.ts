import { Keyv } from 'keyv';
import { LRUCache } from 'lru-cache';
import { withTimeout } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import type { JsonValue } from '../base/json.ts';
import { concatUnpooled, UNPOOLED_OVERHEAD_BYTES } from '../base/load/unpooled.ts';
import type { Logger } from '../base/logger.ts';

/**
 * A cache of JSON values that may be dropped at any time: a failure is a miss and a log line, never a failed request.
 */
export interface Cache<T> {
  /** The value; undefined if there is none, it has expired, or the cache does not answer in time. */
  get(key: string): Promise<T | undefined>;
  /** Stores `value` for `ttlMs` milliseconds. */
  set(key: string, value: T, ttlMs: number): Promise<void>;
}

export interface CacheOptions<T> {
  /** Keeps the keys of several caches apart; letters, digits and dashes. */
  namespace: string;
  /** Checks what is read, which another version of the gateway may have written. Undefined counts as a miss. */
  parse(value: unknown): T | undefined;
  /** Most memory of this cache if it is in this process, in bytes; 8 MiB if absent. */
  maxBytes?: number;
}

/** Opens caches over one backend: the memory of this process, or Redis, which instances share. */
export interface Caches {
  open<T>(options: CacheOptions<T>): Cache<T>;
}

/** A cache of any JSON. */
export function jsonCache(caches: Caches, namespace: string): Cache<JsonValue> {
  // Only JSON was ever put into the cache.
  const isJson = (value: unknown): value is JsonValue => value !== undefined;
  return caches.open<JsonValue>({ namespace, parse: (value) => (isJson(value) ? value : undefined) });
}

const DEFAULT_MAX_BYTES = 8 * 1024 ** 2;
/** A cache that is slower than this is not worth waiting for. */
const WAIT_MS = 500;

/** Caches in the memory of this process, each bounded by bytes; the least recently used entry is evicted first. */
export function memoryCaches(options: { log: Logger }): Caches {
  return {
    open: (cache) => {
      const store = boundedStore(cache.maxBytes ?? DEFAULT_MAX_BYTES);
      return keyvCache(new Keyv({ store, namespace: cache.namespace, throwOnErrors: true }), { ...cache, ...options });
    },
  };
}

/**
 * Entries larger than half of the bound are not stored. Values are bytes outside of the heap: a single non-Latin
 * character doubles the size of a string, and dropped strings stay in the old generation of the heap for long.
 */
function boundedStore(maxSize: number) {
  const values = new LRUCache<string, Buffer>({
    maxSize,
    maxEntrySize: Math.ceil(maxSize / 2),
    sizeCalculation: (value, key) => value.length + 2 * key.length + UNPOOLED_OVERHEAD_BYTES,
  });
  return {
    get: (key: string) => values.get(key)?.toString(),
    // Keyv passes a time to live as well, but checks it itself.
    set: (key: string, value: string) => void values.set(key, concatUnpooled([Buffer.from(value)])),
    delete: (key: string) => values.delete(key),
    clear: () => values.clear(),
  };
}

/**
 * A cache over a Keyv that throws on errors. Once `closed` returns true it is not used: Keyv would reopen its backend.
 */
export function keyvCache<T>(
  keyv: Keyv<unknown>,
  options: CacheOptions<T> & { log: Logger; closed?: () => boolean },
): Cache<T> {
  const { namespace, log } = options;
  // Every failure also rejects a call. Without a listener the event would be thrown.
  keyv.on('error', () => {});
  const attempt = async <R>(what: string, work: () => Promise<R>): Promise<R | undefined> => {
    if (options.closed?.()) return undefined;
    try {
      return await withTimeout(`The cache ${namespace}`, WAIT_MS, work);
    } catch (thrown) {
      log.warn({ cache: namespace, reason: messageOf(thrown) }, `cache ${what} failed`);
      return undefined;
    }
  };
  return {
    async get(key) {
      const value = await attempt('read', () => keyv.get(key));
      return value === undefined ? undefined : options.parse(value);
    },
    async set(key, value, ttlMs) {
      await attempt('write', () => keyv.set(key, value, ttlMs));
    },
  };
}
