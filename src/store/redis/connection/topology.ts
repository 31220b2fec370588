import { createClient } from '@redis/client';
import slotOf from 'cluster-key-slot';
import { sleep, withTimeout } from '../../../base/abort.ts';
import { messageOf } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Address } from '../../../config/redis-url.ts';
import { unavailable } from '../../failure.ts';
import { Listeners } from '../../listeners.ts';
import { clusterSlotsReply, maybeAddressReply } from '../replies.ts';
import { clientOptions, type Login, nameOf, type RedisTarget } from './target.ts';

/** How many slots a Redis Cluster has. */
const SLOTS = 16_384;
/** How long one server may take to answer, connecting included, in milliseconds. */
const ASK_LIMIT_MS = 1500;
/** Between two questions where none was answered yet, in milliseconds. */
const ASK_AGAIN_MS = 250;
/** How often servers are asked while a node is lost, in milliseconds. */
const LOST_LOOK_MS = 500;
/** How often they are asked without a cause: a slot may have moved that nobody sends commands to. */
const LOOK_MS = 5000;

/** The server of each slot, or the one of all. */
type Owners = readonly (Address | undefined)[];

/**
 * Which server holds a key: always the same one, the one that sentinels call the master, or in a cluster the master of
 * the key's slot. Sentinels and clusters are asked again when a node is lost or sends a command elsewhere, and now and
 * then. (`createCluster` never looks for the successor of a master that died, and `createSentinel` keeps commands
 * waiting and sends them later.)
 */
export class Topology implements Disposable {
  readonly #target: RedisTarget;
  readonly #log: Logger;
  readonly #changes = new Listeners();
  readonly #lost = new Set<string>();
  /** By slot, or the one server for all keys. */
  #owners: Owners;
  #masters: readonly Address[];
  #refreshing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(target: RedisTarget, log: Logger) {
    this.#target = target;
    this.#log = log;
    this.#owners = target.kind === 'single' ? target.nodes : [];
    this.#masters = mastersOf(this.#owners);
  }

  /** Asks for `limitMs` at least: what tells where Redis is may be starting at the same time. @throws Error where none does. */
  static async open({ target, log, limitMs }: { target: RedisTarget; log: Logger; limitMs: number }) {
    const topology = new Topology(target, log);
    const until = performance.now() + limitMs;
    for (;;) {
      try {
        await topology.refresh();
        topology.#schedule();
        return topology;
      } catch (thrown) {
        if (performance.now() > until) throw thrown;
        await sleep(ASK_AGAIN_MS);
      }
    }
  }

  /** Whether it is always the same server. */
  get fixed(): boolean {
    return this.#target.kind === 'single';
  }

  /** Whether keys lie on several servers. */
  get sharded(): boolean {
    return this.#target.kind === 'cluster';
  }

  /** The server of a key, any one without. Undefined where none is known. */
  find(key: string | undefined): Address | undefined {
    return key === undefined ? this.#masters[0] : this.#owners[this.sharded ? slotOf(key) : 0];
  }

  /** The same. @throws GatewayError `store_unavailable` where none is known. */
  ownerOf(key: string | undefined): Address {
    const owner = this.find(key);
    if (!owner) throw unavailable('a part of the Redis cluster has no master');
    return owner;
  }

  get masters(): readonly Address[] {
    return this.#masters;
  }

  /** Calls `listener` whenever keys have another owner than before. */
  onChange(listener: () => void): Disposable {
    return this.#changes.add(listener);
  }

  /** A connection to this server is lost: it is asked again and again until it is back or replaced. */
  lost(address: Address): void {
    this.#lost.add(nameOf(address));
    this.refresh().catch(() => {});
    this.#schedule();
  }

  back(address: Address): void {
    this.#lost.delete(nameOf(address));
  }

  /** Asks where keys lie by now. @throws Error where nobody tells. */
  refresh(): Promise<void> {
    if (this.#closed) return Promise.reject(unavailable('it is closed'));
    if (this.#target.kind === 'single') return Promise.resolve();
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const owners = this.sharded ? await askCluster(this.#target, this.#candidates()) : await askSentinels(this.#target);
    const before = this.#owners;
    if (this.#closed || (owners.length === before.length && owners.every((owner, slot) => same(owner, before[slot])))) {
      return;
    }
    this.#owners = owners;
    this.#masters = mastersOf(owners);
    const masters = this.#masters.map(nameOf);
    for (const name of this.#lost) if (!masters.includes(name)) this.#lost.delete(name);
    if (before.length === 0) return;
    this.#log.info({ masters }, 'Redis is at another address now, or slots of the cluster have moved');
    this.#changes.tell();
  }

  /** Nodes of a cluster to ask, those that are lost last. */
  #candidates(): Address[] {
    const known = new Map([...this.#masters, ...this.#target.nodes].map((address) => [nameOf(address), address]));
    const isLost = (address: Address) => Number(this.#lost.has(nameOf(address)));
    return [...known.values()].sort((a, b) => isLost(a) - isLost(b));
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#closed || this.#target.kind === 'single') return;
    const look = () => {
      this.refresh()
        .catch((thrown: unknown) => this.#log.debug({ reason: messageOf(thrown) }, 'nobody tells where Redis is'))
        .finally(() => this.#schedule());
    };
    this.#timer = setTimeout(look, this.#lost.size > 0 ? LOST_LOOK_MS : LOOK_MS).unref();
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }
}

function mastersOf(owners: Owners): Address[] {
  const found = [...new Set(owners)].filter((owner) => owner !== undefined);
  return [...new Map(found.map((owner) => [nameOf(owner), owner])).values()];
}

function same(one: Address | undefined, other: Address | undefined): boolean {
  return one?.host === other?.host && one?.port === other?.port;
}

/** The master by the first sentinel that knows it. */
function askSentinels(target: RedisTarget): Promise<Address[]> {
  const login = { tls: target.tls, database: 0, ...target.sentinel };
  return firstAnswer(target.nodes, 'no sentinel tells the master', async (sentinel) => {
    const reply = await ask(login, sentinel, ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', target.master]);
    const [host, port] = maybeAddressReply.parse(reply) ?? [];
    if (host === undefined) throw new Error(`does not know a master named ${target.master}`);
    return [{ host, port: Number(port) }];
  });
}

/** The master of each slot by the first node that answers. */
function askCluster(target: RedisTarget, nodes: readonly Address[]): Promise<Owners> {
  return firstAnswer(nodes, 'no node of the Redis cluster tells its slots', async (node) => {
    const owners: (Address | undefined)[] = new Array(SLOTS).fill(undefined);
    for (const [first, last, [host, port]] of clusterSlotsReply.parse(await ask(target, node, ['CLUSTER', 'SLOTS']))) {
      // A node that does not know its own address leaves it out.
      owners.fill({ host: host || node.host, port }, first, last + 1);
    }
    if (!owners.some(Boolean)) throw new Error('it has no slots: is this a Redis Cluster?');
    return owners;
  });
}

async function firstAnswer<T>(
  servers: readonly Address[],
  failure: string,
  question: (server: Address) => Promise<T>,
): Promise<T> {
  const failures: string[] = [];
  for (const server of servers) {
    try {
      return await withTimeout('asking', ASK_LIMIT_MS, () => question(server));
    } catch (thrown) {
      failures.push(`${nameOf(server)}: ${messageOf(thrown)}`);
    }
  }
  throw new Error(`store.url: ${failure}: ${failures.join('; ')}`);
}

/** One question over a connection of its own. */
async function ask(login: Login, address: Address, question: readonly string[]): Promise<unknown> {
  const { socket, ...options } = clientOptions(login, address);
  const limits = { connectTimeout: ASK_LIMIT_MS, socketTimeout: ASK_LIMIT_MS, reconnectStrategy: false as const };
  const client = createClient({ ...options, maintNotifications: 'disabled', socket: { ...socket, ...limits } });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.sendCommand<unknown>(question);
  } finally {
    if (client.isOpen) client.destroy();
  }
}
