import { Keyv } from 'keyv';
import { LRUCache } from 'lru-cache';
import { withTimeout } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import type { JsonValue } from '../base/json.ts';
import { inOwnMemory, OWN_MEMORY_BYTES } from '../base/load/own-memory.ts';
import type { Logger } from '../base/logger.ts';

/**
 * Values that may be forgotten at any time: a failure of the cache is a miss and a line of log, never a failed
 * request. Values are JSON.
 */
export interface Cache<T> {
  /** The value, or undefined if there is none, it is too old, or the cache cannot answer in time. */
  get(key: string): Promise<T | undefined>;
  /** Keeps `value` for `ttlMs` milliseconds, the cache's own time where absent. */
  set(key: string, value: T, options?: { ttlMs?: number }): Promise<void>;
  delete(key: string): Promise<void>;
}

export interface CacheOptions<T> {
  /** Keeps the keys of several caches apart; letters, digits and dashes. */
  namespace: string;
  /** Time to live in milliseconds. */
  ttlMs: number;
  /** Checks what comes back: another version of the gateway may have written it. Undefined counts as a miss. */
  parse(value: unknown): T | undefined;
  /** Memory for this cache where it lives in the process, in bytes; 8 MiB where absent. */
  maxBytes?: number;
}

/** Opens caches over one backend: this process's memory, or Redis, where instances share them. */
export interface Caches {
  open<T>(options: CacheOptions<T>): Cache<T>;
}

/** A cache of JSON of any shape, whose entries each have a time to live of their own, in milliseconds. */
export function sharedCache(caches: Caches, options: Pick<CacheOptions<JsonValue>, 'namespace' | 'ttlMs'>) {
  // What comes back from a cache was JSON when it went in.
  const isJson = (value: unknown): value is JsonValue => value !== undefined;
  const cache = caches.open<JsonValue>({ ...options, parse: (value) => (isJson(value) ? value : undefined) });
  return {
    get: (key: string) => cache.get(key),
    set: (key: string, value: JsonValue, ttlMs: number) => cache.set(key, value, { ttlMs }),
  };
}

const DEFAULT_MAX_BYTES = 8 * 1024 ** 2;
/** A cache that is slower than this is not worth waiting for. */
const WAIT_MS = 500;

/** Caches in this process's memory, each bounded by bytes; the least recently used entry goes first. */
export function memoryCaches(options: { log: Logger }): Caches {
  return {
    open: (cache) => {
      const store = boundedStore(cache.maxBytes ?? DEFAULT_MAX_BYTES);
      return keyvCache(new Keyv({ store, namespace: cache.namespace, throwOnErrors: true }), { ...cache, ...options });
    },
  };
}

/**
 * What is larger than half of the bound is not kept at all. Values are bytes, outside of the heap: one character
 * that is not Latin makes a text twice as large, and texts that were dropped stay in the old part of the heap for long.
 */
function boundedStore(maxSize: number) {
  const values = new LRUCache<string, Buffer>({
    maxSize,
    maxEntrySize: Math.ceil(maxSize / 2),
    sizeCalculation: (value, key) => value.length + 2 * key.length + OWN_MEMORY_BYTES,
  });
  return {
    get: (key: string) => values.get(key)?.toString(),
    // Keyv gives a time as well, which it looks at itself.
    set: (key: string, value: string) => void values.set(key, inOwnMemory([Buffer.from(value)])),
    delete: (key: string) => values.delete(key),
    clear: () => values.clear(),
  };
}

/**
 * A cache over any Keyv that throws on errors. Where `closed` says so, its backend is not touched any more: Keyv would
 * open it again.
 */
export function keyvCache<T>(
  keyv: Keyv<unknown>,
  options: CacheOptions<T> & { log: Logger; closed?: () => boolean },
): Cache<T> {
  const { namespace, log } = options;
  // Failures arrive as rejections too; without a listener the event would be thrown.
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
    async set(key, value, { ttlMs = options.ttlMs } = {}) {
      await attempt('write', () => keyv.set(key, value, ttlMs));
    },
    async delete(key) {
      await attempt('delete', () => keyv.delete(key));
    },
  };
}
