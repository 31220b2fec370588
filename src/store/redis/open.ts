import { createKeyv } from '@keyv/redis';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { type Caches, keyvCache } from '../cache.ts';
import type { LimitStore } from '../limits.ts';
import type { RunStore } from '../run-store.ts';
import { Channels } from './channels.ts';
import { RedisConnection } from './connection.ts';
import { Keys } from './keys.ts';
import { redisLimits } from './limits.ts';
import { openQueueClient, type QueueConnection } from './queue-client.ts';
import { checkRedis } from './startup-checks.ts';
import { RedisRunStore } from './store.ts';

export interface RedisOptions {
  url: string;
  log: Logger;
  /** Before every key; several gateways may share a database under different ones. */
  prefix?: string;
  /** Longest wait for a reply, in milliseconds. */
  limitMs?: number;
  /** Longest wait for the first connection, in milliseconds: Redis may be starting too. */
  connectLimitMs?: number;
  /** The store's time; that of Redis where absent. */
  clock?: Clock;
}

const DEFAULT_PREFIX = 'gateway';
const DEFAULT_LIMIT_MS = 2000;
const DEFAULT_CONNECT_LIMIT_MS = 5000;

export interface RedisStorage {
  runs: RunStore;
  caches: Caches;
  limits: LimitStore;
  /** Opens a connection for a queue of runs, to be closed by the caller. */
  openQueue(): Promise<QueueConnection>;
}

/**
 * Opens the run store and the caches of several instances over one Redis: one connection for commands, shared by
 * both, one for subscriptions.
 * @throws Error with the fix where there is no connection or Redis is too old.
 */
export async function openRedisStore(options: RedisOptions): Promise<RedisStorage> {
  const { log, url, prefix = DEFAULT_PREFIX, limitMs = DEFAULT_LIMIT_MS, clock } = options;
  const { connectLimitMs = DEFAULT_CONNECT_LIMIT_MS } = options;
  const keys = new Keys(prefix);
  await using opening = new AsyncDisposableStack();
  const open = async () => {
    const connection = await RedisConnection.open({ url, log, limitMs, connectLimitMs });
    opening.defer(() => connection.close());
    return connection;
  };
  const redis = await open();
  await checkRedis(redis, log);
  const channels = await Channels.open({ redis: await open(), commands: redis, keys, log });
  const runs = new RedisRunStore({ redis, channels, keys, log, ...(clock && { clock }) });
  opening.move();
  return {
    runs,
    caches: redisCaches({ redis, keys, log }),
    limits: redisLimits({ redis, keys, log, now: systemClock.now }),
    openQueue: () => openQueueClient({ url, prefix, log }),
  };
}

/** Caches that all instances share, on the connection of the store. */
function redisCaches(parts: { redis: RedisConnection; keys: Keys; log: Logger }): Caches {
  return {
    open: (cache) => {
      const namespace = parts.keys.cache(cache.namespace);
      // Its defaults swallow errors, and hang while Redis is away.
      const keyv = createKeyv(parts.redis.client, { namespace, throwOnErrors: true, throwOnConnectError: true });
      return keyvCache(keyv, { ...cache, log: parts.log, closed: () => parts.redis.closed });
    },
  };
}
