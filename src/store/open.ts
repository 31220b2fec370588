import { type Clock, systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { GatewayConfig } from '../config/schema.ts';
import type { SharedStorage } from './beside/side-stores.ts';
import { type Caches, memoryCaches } from './cache.ts';
import type { QueueConnection } from './redis/connection/queue-client.ts';
import { openSqliteStore } from './sqlite/open.ts';

/** Everything that outlives a request: the run store, and caches and limits over the same backend. */
export interface Storage extends AsyncDisposable, Readonly<SharedStorage> {
  readonly caches: Caches;
  /**
   * The time that all who share the store go by: that of Redis, or of this machine. What one instance writes and another
   * decides by is never the time of one machine.
   */
  readonly clock: Clock;
  /**
   * Opens what a queue of runs is kept in, to be closed by the caller; undefined where this process is alone with the
   * store and needs none.
   */
  readonly openQueue: (() => Promise<QueueConnection>) | undefined;
  /** Who removes expired runs and compresses ended logs. */
  readonly upkeep: 'here' | 'elsewhere';
  /** Closes both and frees connections and locks. */
  close(): Promise<void>;
}

export type { QueueConnection };

type StoreConfig = Omit<GatewayConfig['store'], 'replicas' | 'encryption_keys'> &
  Partial<Pick<GatewayConfig['store'], 'replicas'>>;

/**
 * Opens what `store.url` names.
 * @throws Error with the fix where it cannot be used.
 */
export async function openStorage(config: StoreConfig, options: { log: Logger }): Promise<Storage> {
  const { log } = options;
  const parts = /^redis/.test(config.url)
    ? await openRedis({ url: config.url, tls: config.tls, replicas: config.replicas ?? 0, log })
    : openEmbedded(config, log);
  const close = () => parts.runs.close();
  return { ...parts, upkeep: 'here', close, [Symbol.asyncDispose]: close };
}

/**
 * The storage of a worker: the process that holds the store is at `path`, and does its upkeep.
 * @throws the system's own error where nobody listens there.
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
    ...runs.beside,
    runs,
    clock: systemClock,
    caches: memoryCaches({ log }),
    limits: runs.limits,
    secret: () => runs.secret(),
    openQueue: undefined,
  };
}

/** Its client is 400 modules: loaded only where it is used. */
async function openRedis(options: { url: string; tls: StoreConfig['tls']; replicas: number; log: Logger }) {
  const { openRedisStore } = await import('./redis/open.ts');
  return await openRedisStore(options);
}
