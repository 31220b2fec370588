import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SLOTS } from '../../src/store/redis/hash-slot.ts';
import { startRedis } from '../support/redis.ts';
import { ask, startCluster, startSentinels } from '../support/redis-groups.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

export type BackendKind = 'redis' | 'sqlite' | 'sentinel' | 'cluster';

/** The store of a fleet, and what can be done to it. */
export interface Backend extends AsyncDisposable {
  /** `store` in the configuration of an instance. */
  storeOf(instance: string): Promise<object>;
  /** `kill -9` of a server, and a new process over the same files after `downMs`; where there is a replica, it takes over. */
  strike(downMs: number): Promise<void>;
  /** The way from one instance to the store, where it is one that can be cut and slowed down. */
  wayOf(instance: string): TcpProxy | undefined;
}

export async function startBackend(kind: BackendKind, folder: string): Promise<Backend> {
  if (kind === 'sentinel') return await sentinelBackend();
  if (kind === 'cluster') return await clusterBackend();
  if (kind === 'redis') return await redisBackend();
  return {
    storeOf: async () => ({ url: `file:${join(folder, 'data')}` }),
    strike: () => Promise.reject(new Error('there is no Redis in this storm')),
    wayOf: () => undefined,
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Each instance has a way of its own to the one server. */
async function redisBackend(): Promise<Backend> {
  const redis = await startRedis();
  const ways = new Map<string, TcpProxy>();
  return {
    async storeOf(instance) {
      const way = ways.get(instance) ?? (await startTcpProxy(redis.port));
      ways.set(instance, way);
      return { url: `redis://127.0.0.1:${way.port}/0` };
    },
    async strike(downMs) {
      await redis.kill();
      await delay(downMs);
      await redis.start();
    },
    wayOf: (instance) => ways.get(instance),
    async [Symbol.asyncDispose]() {
      await Promise.all([...ways.values()].map((way) => way[Symbol.asyncDispose]()));
      await redis[Symbol.asyncDispose]();
    },
  };
}

/** Failovers may take nothing back: instances wait for the replica. */
async function sentinelBackend(): Promise<Backend> {
  const group = await startSentinels();
  return {
    storeOf: async () => ({ url: group.url, replicas: 1 }),
    async strike(downMs) {
      const port = await group.masterPort();
      const struck = port === group.master.port ? group.master : group.replica;
      await struck.kill();
      while ((await group.masterPort()) === port) await delay(50);
      await delay(downMs);
      await struck.start();
      await ask(struck.port, 'REPLICAOF', '127.0.0.1', `${await group.masterPort()}`);
    },
    wayOf: () => undefined,
    [Symbol.asyncDispose]: () => group[Symbol.asyncDispose](),
  };
}

async function clusterBackend(): Promise<Backend> {
  const cluster = await startCluster({ replicas: true });
  return {
    storeOf: async () => ({ url: cluster.url, replicas: 1 }),
    async strike(downMs) {
      const slot = Math.floor(Math.random() * SLOTS);
      const struck = await cluster.ownerOf(slot);
      if (!struck) return;
      await struck.kill();
      for (let owner = struck; owner.port === struck.port; owner = (await cluster.ownerOf(slot)) ?? struck)
        await delay(100);
      await delay(downMs);
      await struck.start();
    },
    wayOf: () => undefined,
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}
