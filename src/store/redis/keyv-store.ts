import { Keyv } from 'keyv';
import type { RedisConnection } from './connection/connection.ts';
import { maybeText } from './replies.ts';

/** A Keyv over the store's connection, which knows the server of a key: what it keeps, all instances share. */
export function redisKeyv(redis: RedisConnection, namespace: string): Keyv<unknown> {
  const nameOf = (key: string) => `${namespace}::${key}`;
  const store = {
    async get(key: string) {
      return maybeText.parse(await redis.command(['GET', nameOf(key)])) ?? undefined;
    },
    async set(key: string, value: string, ttlMs?: number) {
      const expiry = ttlMs === undefined ? [] : ['PX', `${Math.max(1, Math.ceil(ttlMs))}`];
      return await redis.command(['SET', nameOf(key), value, ...expiry]);
    },
    async delete(key: string) {
      return (await redis.command(['UNLINK', nameOf(key)])) === 1;
    },
    /** Values go with their time; nothing here removes all of them. */
    async clear() {},
  };
  return new Keyv({ store, useKeyPrefix: false, throwOnErrors: true });
}
