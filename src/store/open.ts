import { type Clock, systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { GatewayConfig } from '../config/schema.ts';
import { type Caches, memoryCaches } from './cache.ts';
import type { QueueConnection } from './redis/connection/queue-client.ts';
import type { SharedStorage } from './side-stores/side-stores.ts';
import { openSqliteStore } from './sqlite/open.ts';

/** Everything that outlives a request: the run store, and the caches and limits over the same backend. */
export interface Storage extends AsyncDisposable, Readonly<SharedStorage> {
  readonly caches: Caches;
  /**
   * The time that everyone who shares the store goes by: the time of Redis, or of this machine for an embedded store.
   * What one instance writes and another one compares never depends on the clock of a single instance.
   */
  readonly clock: Clock;
  /**
   * Opens a connection for the queue of runs, which the caller closes. Undefined if only this process uses the store.
   */
  readonly openQueue: (() => Promise<QueueConnection>) | undefined;
  /** Whether this process or another one removes expired runs and compresses ended logs. */
  readonly upkeep: 'here' | 'elsewhere';
  /** Closes the stores, connections and locks. */
  close(): Promise<void>;
}

export type { QueueConnection };

type StoreConfig = Omit<GatewayConfig['store'], 'replicas' | 'encryption_keys'> &
  Partial<Pick<GatewayConfig['store'], 'replicas'>>;

/** Opens the storage that `store.url` names. @throws Error with the fix if it cannot be used. */
export async function openStorage(config: StoreConfig, options: { log: Logger }): Promise<Storage> {
  const { log } = options;
  const parts = /^redis/.test(config.url)
    ? await openRedis({ url: config.url, tls: config.tls, replicas: config.replicas ?? 0, log })
    : openEmbedded(config, log);
  const close = () => parts.runs.close();
  return { ...parts, upkeep: 'here', close, [Symbol.asyncDispose]: close };
}

/**
 * Connects a worker to the process at `path`, which holds the store and does its upkeep.
 * @throws the system's own error if nobody listens there.
 */
export async function connectStorage(path: string, options: { log: Logger }): Promise<Storage> {
  const { connectStore } = await import('./shared/store-client.ts');
  const parts = await connectStore(path);
  const close = () => parts.runs.close();
  const caches = memoryCaches(options);
  const clock = systemClock;
  return { ...parts, clock, caches, openQueue: undefined, upkeep: 'elsewhere', close, [Symbol.asyncDispose]: close };
}

function openEmbedded({ url, sync }: StoreConfig, log: Logger) {
  const runs = openSqliteStore(url, { sync, log });
  return {
    ...runs.sideStores,
    runs,
    clock: systemClock,
    caches: memoryCaches({ log }),
    limits: runs.limits,
    secret: () => runs.secret(),
    openQueue: undefined,
  };
}

/** The Redis client has 400 modules, so it is loaded only if needed. */
async function openRedis(options: { url: string; tls: StoreConfig['tls']; replicas: number; log: Logger }) {
  const { openRedisStore } = await import('./redis/open.ts');
  return await openRedisStore(options);
}
