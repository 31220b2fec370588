import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { ask, SLOTS, startCluster, startSentinels } from '../support/redis-groups.ts';
import { type StoreLink, type StoreLinks, startStoreLinks } from './store-links.ts';

export type BackendKind = 'redis' | 'sqlite' | 'sentinel' | 'cluster';

/** The store of a fleet, and what can be done to it. */
export interface Backend extends AsyncDisposable {
  /** `store` in the configuration of an instance. */
  storeOf(instance: string): Promise<object>;
  /** `kill -9` of a server, and a new process over the same files after `downMs`; where there is a replica, it takes over. */
  strike(downMs: number): Promise<void>;
  /** A server that holds its runs stands still for `ms`; where there is a replica, it may take over. */
  hang(ms: number): Promise<void>;
  /** The link from one instance to the store, where there is one that can be cut and slowed down. */
  linkOf(instance: string): StoreLink | undefined;
}

export async function startBackend(kind: BackendKind, folder: string): Promise<Backend> {
  if (kind === 'sentinel') return await sentinelBackend();
  if (kind === 'cluster') return await clusterBackend();
  if (kind === 'redis') return await redisBackend();
  return {
    storeOf: async () => ({ url: `file:${join(folder, 'data')}` }),
    strike: () => Promise.reject(new Error('there is no Redis in this storm')),
    hang: () => Promise.reject(new Error('there is no Redis in this storm')),
    linkOf: () => undefined,
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Each instance has links of its own to all servers. */
class InstanceLinks implements AsyncDisposable {
  readonly #ports: readonly number[];
  readonly #links = new Map<string, StoreLinks>();

  constructor(ports: readonly number[]) {
    this.#ports = ports;
  }

  async of(instance: string): Promise<StoreLinks> {
    const links = this.#links.get(instance) ?? (await startStoreLinks(this.#ports));
    this.#links.set(instance, links);
    return links;
  }

  known(instance: string): StoreLink | undefined {
    return this.#links.get(instance);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#links.values()].map((links) => links[Symbol.asyncDispose]()));
  }
}

async function redisBackend(): Promise<Backend> {
  const redis = await startRedis();
  const links = new InstanceLinks([redis.port]);
  return {
    async storeOf(instance) {
      return { url: `redis://127.0.0.1:${(await links.of(instance)).to(redis.port)}/0` };
    },
    async strike(downMs) {
      await redis.kill();
      await delay(downMs);
      await redis.start();
    },
    hang: (ms) => standStill(redis, ms),
    linkOf: (instance) => links.known(instance),
    async [Symbol.asyncDispose]() {
      await links[Symbol.asyncDispose]();
      await redis[Symbol.asyncDispose]();
    },
  };
}

/** Failovers may take nothing back: instances wait for the replica. */
async function sentinelBackend(): Promise<Backend> {
  const group = await startSentinels();
  const links = new InstanceLinks([group.port, group.master.port, group.replica.port]);
  const masterNow = async () => ((await group.masterPort()) === group.master.port ? group.master : group.replica);
  /** A second failover before the first one's loser is in step would lose what nobody else has. */
  const whole = async (loser: RedisServer) => {
    const port = await group.masterPort();
    if (loser.port === port) return;
    await ask(loser.port, 'REPLICAOF', '127.0.0.1', `${port}`);
    await inStep(loser);
  };
  return {
    async storeOf(instance) {
      return { url: group.urlBy((await links.of(instance)).to(group.port)), replicas: 1 };
    },
    async strike(downMs) {
      const struck = await masterNow();
      await struck.kill();
      while ((await group.masterPort()) === struck.port) await delay(50);
      await delay(downMs);
      await struck.start();
      await whole(struck);
    },
    async hang(ms) {
      const struck = await masterNow();
      await standStill(struck, ms);
      await delay(ms > DOWN_AFTER_MS ? FAILOVER_MS : 0);
      await whole(struck);
    },
    linkOf: (instance) => links.known(instance),
    async [Symbol.asyncDispose]() {
      await links[Symbol.asyncDispose]();
      await group[Symbol.asyncDispose]();
    },
  };
}

async function clusterBackend(): Promise<Backend> {
  const cluster = await startCluster({ replicas: true });
  const servers = [...cluster.masters, ...cluster.replicas];
  const links = new InstanceLinks(servers.map(({ port }) => port));
  const anyMaster = async () => {
    const slot = Math.floor(Math.random() * SLOTS);
    return { slot, owner: await cluster.ownerOf(slot) };
  };
  const whole = async () => {
    for (const server of servers) {
      if (String(await ask(server.port, 'INFO', 'replication')).includes('role:slave')) await inStep(server);
    }
  };
  return {
    async storeOf(instance) {
      const own = await links.of(instance);
      const nodes = cluster.masters.map(({ port }) => `127.0.0.1:${own.to(port)}`);
      return { url: `redis-cluster://${nodes.join(',')}`, replicas: 1 };
    },
    async strike(downMs) {
      const { slot, owner: struck } = await anyMaster();
      if (!struck) return;
      await struck.kill();
      for (let owner = struck; owner.port === struck.port; owner = (await cluster.ownerOf(slot)) ?? struck)
        await delay(100);
      await delay(downMs);
      await struck.start();
      await delay(FAILOVER_MS);
      await whole();
    },
    async hang(ms) {
      const { owner } = await anyMaster();
      if (!owner) return;
      await standStill(owner, ms);
      await delay(ms > DOWN_AFTER_MS ? FAILOVER_MS : 0);
      await whole();
    },
    linkOf: (instance) => links.known(instance),
    async [Symbol.asyncDispose]() {
      await links[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
    },
  };
}

/** What a master may miss before it is thought to be dead, and how long it takes then until all know, in milliseconds. */
const DOWN_AFTER_MS = 1000;
const FAILOVER_MS = 2000;

async function standStill(server: RedisServer, ms: number): Promise<void> {
  server.freeze();
  await delay(ms);
  server.thaw();
}

/** Resolves when a replica has what its master has. */
async function inStep(replica: RedisServer): Promise<void> {
  const up = async () => String(await ask(replica.port, 'INFO', 'replication')).includes('master_link_status:up');
  while (!(await up().catch(() => false))) await delay(50);
}
