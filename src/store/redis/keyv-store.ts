import KeyvRedis from '@keyv/redis';
import { Keyv } from 'keyv';
import { z } from 'zod';
import type { RedisConnection } from './connection.ts';
import type { RedisClient } from './make-client.ts';

const maybeValue = z.string().nullable();

/** A Keyv over the store's connection: what it keeps, all instances share. */
export function redisKeyv(redis: RedisConnection, namespace: string): Keyv<unknown> {
  const { client } = redis;
  return client === undefined ? clusterKeyv(redis, namespace) : clientKeyv(redis, { client, namespace });
}

function clientKeyv(
  redis: RedisConnection,
  { client, namespace }: { client: RedisClient; namespace: string },
): Keyv<unknown> {
  // Its defaults swallow errors, and hang while Redis is away.
  const store = new KeyvRedis<string>(client, { namespace, throwOnErrors: true, throwOnConnectError: true });
  redis.onReady(() => {
    // After a failover the connection has another client.
    if (redis.client !== undefined && store.client !== redis.client) store.client = redis.client;
  });
  return new Keyv({ store, namespace, useKeyPrefix: false, throwOnErrors: true });
}

/** In a cluster the first key of a command says to which node it goes, and the connection knows which that is. */
function clusterKeyv(redis: RedisConnection, namespace: string): Keyv<unknown> {
  const nameOf = (key: string) => `${namespace}::${key}`;
  const store = {
    async get(key: string) {
      return maybeValue.parse(await redis.command(['GET', nameOf(key)])) ?? undefined;
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
