import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { freePort } from './free-port.ts';
import { end, REDIS_SERVER, type RedisServer, ready, startRedis } from './redis.ts';

/** Sends one command to a server. */
export async function ask(port: number, ...args: string[]): Promise<unknown> {
  const client = await createClient({ url: `redis://127.0.0.1:${port}` }).connect();
  try {
    return await client.sendCommand<unknown>(args);
  } finally {
    client.destroy();
  }
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await condition().catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** A Redis Cluster on loopback: masters, and optionally one replica of each. */
export interface RedisCluster extends AsyncDisposable {
  readonly url: string;
  readonly masters: readonly RedisServer[];
  readonly replicas: readonly RedisServer[];
  /** The server that owns a slot, as the cluster says. */
  ownerOf(slot: number): Promise<RedisServer | undefined>;
}

/** The number of hash slots of every cluster. */
export const SLOTS = 16_384;

export async function startCluster(options: { masters?: number; replicas?: boolean } = {}): Promise<RedisCluster> {
  const count = options.masters ?? 3;
  const settings = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1500', '--repl-diskless-sync-delay', '0'];
  const start = () => startClusterNode(settings);
  const masters = await Promise.all(Array.from({ length: count }, start));
  const replicas = options.replicas ? await Promise.all(masters.map(start)) : [];
  const all = [...masters, ...replicas];
  const [seed] = masters;
  if (!seed) throw new Error('a cluster needs a master');
  for (const [index, master] of masters.entries()) {
    const first = Math.floor((index * SLOTS) / count);
    const last = Math.floor(((index + 1) * SLOTS) / count) - 1;
    await ask(master.port, 'CLUSTER', 'ADDSLOTSRANGE', `${first}`, `${last}`);
    await ask(master.port, 'CLUSTER', 'SET-CONFIG-EPOCH', `${index + 1}`);
  }
  for (const server of all.slice(1)) {
    await ask(server.port, 'CLUSTER', 'MEET', '127.0.0.1', `${seed.port}`, `${seed.bus}`);
  }
  for (const server of all) {
    await until('the nodes know each other', async () => {
      return (
        String(await ask(server.port, 'CLUSTER', 'NODES'))
          .trim()
          .split('\n').length === all.length
      );
    });
  }
  for (const [index, replica] of replicas.entries()) {
    const id = String(await ask(masters[index]?.port ?? 0, 'CLUSTER', 'MYID'));
    await until('a replica follows', async () => (await ask(replica.port, 'CLUSTER', 'REPLICATE', id)) === 'OK');
  }
  for (const server of all) {
    await until('the cluster is there', async () =>
      String(await ask(server.port, 'CLUSTER', 'INFO')).includes('cluster_state:ok'),
    );
  }
  for (const replica of replicas) {
    await until('a replica is in step', async () =>
      String(await ask(replica.port, 'INFO', 'replication')).includes('master_link_status:up'),
    );
  }
  return {
    url: `redis-cluster://${masters.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    masters,
    replicas,
    async ownerOf(slot) {
      for (const server of all) {
        const reply = await ask(server.port, 'CLUSTER', 'SLOTS').catch(() => undefined);
        if (!Array.isArray(reply)) continue;
        const range = reply.find(([first, last]) => slot >= first && slot <= last);
        return all.find(({ port }) => port === range?.[2]?.[1]);
      }
      return undefined;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((server) => server[Symbol.asyncDispose]()));
    },
  };
}

/** Starts a node with its own cluster bus port: the default one, 10 000 higher, may be taken or out of range. */
async function startClusterNode(settings: readonly string[]): Promise<RedisServer & { bus: number }> {
  const start = async () => {
    const bus = await freePort();
    const server = await startRedis([...settings, '--cluster-port', `${bus}`]);
    return Object.assign(server, { bus });
  };
  // Somebody else may take the port of the bus in the meantime.
  return await start().catch(start);
}

/** A master, its replica, and the sentinel that monitors them. */
export interface SentinelGroup extends AsyncDisposable {
  readonly url: string;
  /** Of the sentinel. */
  readonly port: number;
  /** The same as `url` by another way to the sentinel. */
  urlBy(port: number): string;
  readonly master: RedisServer;
  readonly replica: RedisServer;
  /** Port of the master by now. */
  masterPort(): Promise<number>;
  /** Makes the replica the master, whatever state the master is in; resolves once the sentinel tells the new one. */
  failOver(): Promise<void>;
}

export async function startSentinels(): Promise<SentinelGroup> {
  const master = await startRedis(['--repl-diskless-sync-delay', '0']);
  const replica = await startRedis(['--replicaof', '127.0.0.1', `${master.port}`, '--repl-diskless-sync-delay', '0']);
  await until('the replica is in step', async () =>
    String(await ask(replica.port, 'INFO', 'replication')).includes('master_link_status:up'),
  );
  const folder = await mkdtemp(join(tmpdir(), 'sentinel-test-'));
  const port = await freePort();
  const file = join(folder, 'sentinel.conf');
  await writeFile(
    file,
    `port ${port}
bind 127.0.0.1
dir ${folder}
sentinel monitor runs 127.0.0.1 ${master.port} 1
sentinel down-after-milliseconds runs 1000
sentinel failover-timeout runs 3000
`,
  );
  const sentinel = await ready(
    spawn(REDIS_SERVER, [file, '--sentinel'], { stdio: ['ignore', 'pipe', 'pipe'] }),
    '+monitor master',
  );
  await until('the sentinel knows the replica', async () => {
    const replicas = await ask(port, 'SENTINEL', 'REPLICAS', 'runs');
    return Array.isArray(replicas) && replicas.length === 1;
  });
  const masterPort = async () => {
    const reply = await ask(port, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'runs');
    return Array.isArray(reply) ? Number(reply[1]) : 0;
  };
  const urlBy = (way: number) => `redis-sentinel://127.0.0.1:${way}/runs`;
  return {
    url: urlBy(port),
    port,
    urlBy,
    master,
    replica,
    masterPort,
    async failOver() {
      const before = await masterPort();
      await until('the sentinel fails over', async () => (await ask(port, 'SENTINEL', 'FAILOVER', 'runs')) === 'OK');
      await until('there is a new master', async () => (await masterPort()) !== before);
    },
    async [Symbol.asyncDispose]() {
      await end(sentinel);
      await Promise.all([master, replica].map((server) => server[Symbol.asyncDispose]()));
      await rm(folder, { recursive: true });
    },
  };
}
