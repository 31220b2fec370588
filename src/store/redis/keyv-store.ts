import KeyvRedis from '@keyv/redis';
import { Keyv } from 'keyv';
import type { RedisConnection } from './connection/connection.ts';
import { maybeText } from './replies.ts';

/** A Keyv over the connection of the store, shared by all instances. */
export function redisKeyv(redis: RedisConnection, namespace: string): Keyv<unknown> {
  const { client } = redis;
  if (!client) return movingKeyv(redis, namespace);
  // By default it swallows errors, and hangs while Redis is unavailable.
  const store = new KeyvRedis<string>(client, { namespace, throwOnErrors: true, throwOnConnectError: true });
  return new Keyv({ store, namespace, useKeyPrefix: false, throwOnErrors: true });
}

/** For keys that move between servers: the connection knows which one to ask, while `@keyv/redis` has one client. */
function movingKeyv(redis: RedisConnection, namespace: string): Keyv<unknown> {
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
    /** Values expire by themselves; nothing here removes all of them. */
    async clear() {},
  };
  return new Keyv({ store, useKeyPrefix: false, throwOnErrors: true });
}
