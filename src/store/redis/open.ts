import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { SharedStorage } from '../beside/side-stores.ts';
import { type Caches, keyvCache } from '../cache.ts';
import { RedisConversations } from './beside/conversations.ts';
import { RedisDeliveries } from './beside/deliveries.ts';
import { RedisEntries } from './beside/entries.ts';
import { RedisFiles } from './beside/files.ts';
import { RedisUsage } from './beside/usage.ts';
import { Connection, type RedisConnection } from './connection/connection.ts';
import { openQueueClient, type QueueConnection } from './connection/queue-client.ts';
import { checkQueueKeys, checkRedis, withRights } from './connection/startup-checks.ts';
import { parseTarget, type TlsFiles } from './connection/target.ts';
import { Topology } from './connection/topology.ts';
import { enterFormat } from './format.ts';
import { Keys } from './keys.ts';
import { redisKeyv } from './keyv-store.ts';
import { redisLimits } from './limits.ts';
import { RedisClock } from './redis-clock.ts';
import { Channels } from './runs/channels.ts';
import { Replicas } from './runs/replicas.ts';
import { redisSecret } from './shared-secret.ts';
import { RedisRunStore } from './store.ts';

export interface RedisOptions {
  /** See `parseTarget`. */
  url: string;
  tls?: TlsFiles | undefined;
  log: Logger;
  /** Before every key; several gateways may share a database under different ones. */
  prefix?: string;
  /** Longest wait for a reply, in milliseconds. */
  limitMs?: number;
  /** Longest wait for the first connection, in milliseconds: Redis may be starting too. */
  connectLimitMs?: number;
  /** Replicas that must have a write before it is answered and shown; 0 where absent. */
  replicas?: number;
  /** The store's time; that of Redis where absent. */
  clock?: Clock;
}

const DEFAULT_PREFIX = 'gateway';
const DEFAULT_LIMIT_MS = 2000;
const DEFAULT_CONNECT_LIMIT_MS = 5000;
/** Into how many keys each set over all runs is divided in a cluster. It must never change: runs would be lost sight of. */
export const CLUSTER_SHARDS = 16;

export interface RedisStorage extends SharedStorage {
  clock: Clock;
  caches: Caches;
  /** Opens a connection for a queue of runs, to be closed by the caller. */
  openQueue(): Promise<QueueConnection>;
}

/**
 * Opens the run store and the caches of several instances over one Redis, alone, watched by sentinels or a cluster: one
 * connection for commands, shared by both, one for subscriptions (in a cluster, to each of its masters).
 * @throws Error with the fix where there is no connection or Redis is too old.
 */
export async function openRedisStore(options: RedisOptions): Promise<RedisStorage> {
  return await withRights(options.prefix ?? DEFAULT_PREFIX, () => open(options));
}

async function open(options: RedisOptions): Promise<RedisStorage> {
  const { log, prefix = DEFAULT_PREFIX, replicas = 0 } = options;
  const { limitMs = DEFAULT_LIMIT_MS, connectLimitMs = DEFAULT_CONNECT_LIMIT_MS } = options;
  const target = parseTarget(options.url, options.tls);
  const cluster = target.kind === 'cluster';
  const keys = new Keys(prefix, { shards: cluster ? CLUSTER_SHARDS : 1 });
  await using opening = new AsyncDisposableStack();
  const topology = opening.use(await Topology.open({ target, log, limitMs: connectLimitMs }));
  const connect = async () => {
    const connection = await Connection.open({ target, log, limitMs, connectLimitMs, topology });
    opening.defer(() => connection.close());
    return connection;
  };
  const redis = await connect();
  await checkRedis(redis, { log, cluster });
  await enterFormat(redis, keys);
  await checkQueueKeys(redis, prefix);
  const clock = options.clock ?? opening.use(await RedisClock.open({ redis, keys }));
  const channels = await Channels.open({ redis: await connect(), commands: redis, keys, log, sharded: cluster });
  const replicated =
    replicas > 0
      ? new Replicas({ redis: await connect(), commands: redis, keys, options: { replicas, limitMs: limitMs / 2 } })
      : undefined;
  const opened = opening.move();
  // Empty: scripts ask Redis itself.
  const now = () => (options.clock ? `${options.clock.now()}` : '');
  const have = async (id: string) => await replicated?.have(id);
  const parts = { redis, keys, now, have, awaitsReplicas: replicated !== undefined };
  return {
    runs: new RedisRunStore(parts, {
      channels,
      log,
      clock,
      replicas: replicated,
      onClose: () => opened.disposeAsync(),
    }),
    clock,
    conversations: new RedisConversations(parts),
    deliveries: new RedisDeliveries(parts, keys.deliveries),
    readings: new RedisDeliveries(parts, keys.readings),
    entries: new RedisEntries(parts),
    usage: new RedisUsage(parts),
    files: new RedisFiles(parts),
    secret: () => redisSecret(parts),
    caches: redisCaches({ redis, keys, log }),
    limits: redisLimits({ redis, keys, log, now: () => clock.now() }),
    openQueue: () => openQueueClient({ target, prefix, log, topology }),
  };
}

/** Caches that all instances share, on the connection of the store. */
function redisCaches(parts: { redis: RedisConnection; keys: Keys; log: Logger }): Caches {
  const { redis, keys, log } = parts;
  return {
    open: (cache) => {
      const keyv = redisKeyv(redis, keys.cache(cache.namespace));
      return keyvCache(keyv, { ...cache, log, closed: () => redis.closed });
    },
  };
}
