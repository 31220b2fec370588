import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { type Caches, keyvCache } from '../cache.ts';
import type { SharedStorage } from '../side-stores/side-stores.ts';
import { Connection, type RedisConnection } from './connection/connection.ts';
import { openQueueClient, type QueueConnection } from './connection/queue-client.ts';
import { checkRedis, checkRights, explainStart } from './connection/startup-checks.ts';
import { parseTarget, type TlsFiles } from './connection/target.ts';
import { Topology } from './connection/topology.ts';
import { enterFormat } from './format.ts';
import { RedisKeys } from './keys.ts';
import { redisKeyv } from './keyv-store.ts';
import { redisLimits } from './limits.ts';
import { RedisClock } from './redis-clock.ts';
import { Channels } from './runs/channels.ts';
import { Replicas } from './runs/replicas.ts';
import { redisSecret } from './shared-secret.ts';
import { RedisConversations } from './side-stores/conversations.ts';
import { RedisDeliveries } from './side-stores/deliveries.ts';
import { RedisEntries } from './side-stores/entries.ts';
import { RedisFiles } from './side-stores/files.ts';
import { RedisUsage } from './side-stores/usage.ts';
import { RedisRunStore } from './store.ts';

export interface RedisOptions {
  /** See `parseTarget`. */
  url: string;
  tls?: TlsFiles | undefined;
  log: Logger;
  /** Prefix of every key; several gateways may share a database under different prefixes. */
  prefix?: string;
  /** Longest wait for a reply, in milliseconds. */
  limitMs?: number;
  /** Longest wait for the first connection, in milliseconds: Redis may be starting too. */
  connectLimitMs?: number;
  /** Replicas that must have a write before it is acknowledged and visible; 0 if absent. */
  replicas?: number;
  /** The clock of the store; that of Redis if absent. */
  clock?: Clock;
}

const DEFAULT_PREFIX = 'gateway';
const DEFAULT_LIMIT_MS = 2000;
const DEFAULT_CONNECT_LIMIT_MS = 5000;
/** Number of keys of each set over all runs in a cluster. It must never change, or runs would be lost from sight. */
export const CLUSTER_SHARDS = 16;

export interface RedisStorage extends SharedStorage {
  clock: Clock;
  caches: Caches;
  /** Opens a connection for a queue of runs, to be closed by the caller. */
  openQueue(): Promise<QueueConnection>;
}

/**
 * Opens the storage that several instances share over one Redis, alone, watched by sentinels or a cluster: a connection
 * for commands, one for subscriptions and, with replicas, one to wait for them (in a cluster, to each master).
 * @throws Error with the fix if there is no connection or Redis is too old.
 */
export async function openRedisStore(options: RedisOptions): Promise<RedisStorage> {
  return await explainStart(options.prefix ?? DEFAULT_PREFIX, () => open(options));
}

async function open(options: RedisOptions): Promise<RedisStorage> {
  const { log, prefix = DEFAULT_PREFIX, replicas = 0 } = options;
  const { limitMs = DEFAULT_LIMIT_MS, connectLimitMs = DEFAULT_CONNECT_LIMIT_MS } = options;
  const target = parseTarget(options.url, options.tls);
  const isCluster = target.kind === 'cluster';
  const keys = new RedisKeys(prefix, { shards: isCluster ? CLUSTER_SHARDS : 1 });
  await using opening = new AsyncDisposableStack();
  const topology = opening.use(await Topology.open({ target, log, limitMs: connectLimitMs }));
  const connect = async () => {
    const connection = await Connection.open({ target, log, limitMs, connectLimitMs, topology });
    opening.defer(() => connection.close());
    return connection;
  };
  const redis = await connect();
  await checkRedis(redis, { log, cluster: isCluster });
  await enterFormat(redis, keys);
  await checkRights(redis, prefix);
  const clock = options.clock ?? opening.use(await RedisClock.open({ redis, keys }));
  const channels = await Channels.open({ redis: await connect(), commands: redis, keys, log, sharded: isCluster });
  const replicaWaits =
    replicas > 0
      ? new Replicas({ redis: await connect(), commands: redis, keys, options: { replicas, limitMs: limitMs / 2 } })
      : undefined;
  const resources = opening.move();
  // Empty: scripts use the time of Redis.
  const now = () => (options.clock ? `${options.clock.now()}` : '');
  const waitForReplicas = async (id: string) => await replicaWaits?.waitForRun(id);
  const parts = { redis, keys, now, waitForReplicas, awaitsReplicas: replicaWaits !== undefined };
  return {
    runs: new RedisRunStore(parts, {
      channels,
      log,
      clock,
      replicas: replicaWaits,
      onClose: () => resources.disposeAsync(),
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

/** Caches that all instances share, over the connection of the store. */
function redisCaches(parts: { redis: RedisConnection; keys: RedisKeys; log: Logger }): Caches {
  const { redis, keys, log } = parts;
  return {
    open: (cache) => {
      const keyv = redisKeyv(redis, keys.cache(cache.namespace));
      return keyvCache(keyv, { ...cache, log, closed: () => redis.isClosed });
    },
  };
}
