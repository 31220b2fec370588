import { createClient } from '@redis/client';
import slotOf from 'cluster-key-slot';
import { sleep, withTimeout } from '../../../base/abort.ts';
import { messageOf } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Address } from '../../../config/redis-url.ts';
import { storeUnavailable } from '../../failure.ts';
import { Listeners } from '../../listeners.ts';
import { clusterSlotsReply, maybeAddressReply } from '../replies.ts';
import { clientOptions, formatAddress, type Login, type RedisTarget } from './target.ts';

/** How many slots a Redis Cluster has. */
const SLOTS = 16_384;
/** Longest wait for the answer of one server, including the connection, in milliseconds. */
const TIMEOUT_MS = 1500;
/** Pause before asking again if no server has answered, in milliseconds. */
const RETRY_MS = 250;
/** How often the topology is refreshed while a node is lost, in milliseconds. */
const LOST_REFRESH_MS = 500;
/** How often it is refreshed otherwise: a slot may have moved that no command was sent to. */
const REFRESH_MS = 5000;

/** The server of each slot, or the one server of all keys. */
type Owners = readonly (Address | undefined)[];

/**
 * Tells which server holds a key: always the same one, the master that sentinels name, or in a cluster the master of
 * the slot. Sentinels and clusters are asked again when a node is lost or redirects a command, and periodically.
 * (`createCluster` never looks for the successor of a dead master, and `createSentinel` keeps commands waiting and
 * sends them later.)
 */
export class Topology implements Disposable {
  readonly #target: RedisTarget;
  readonly #log: Logger;
  readonly #changes = new Listeners();
  readonly #lost = new Set<string>();
  /** By slot, or a single entry for all keys. */
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

  /** Asks for at least `limitMs`, since sentinels or nodes may be starting too. @throws Error if none answers. */
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
        await sleep(RETRY_MS);
      }
    }
  }

  /** Whether all keys are always on the same server. */
  get isSingle(): boolean {
    return this.#target.kind === 'single';
  }

  /** Whether several servers hold keys. */
  get isSharded(): boolean {
    return this.#target.kind === 'cluster';
  }

  /** The server of a key, or any one without a key. Undefined if none is known. */
  find(key: string | undefined): Address | undefined {
    return key === undefined ? this.#masters[0] : this.#owners[this.isSharded ? slotOf(key) : 0];
  }

  /** Like `find`. @throws GatewayError `store_unavailable` if none is known. */
  ownerOf(key: string | undefined): Address {
    const owner = this.find(key);
    if (!owner) throw storeUnavailable('a part of the Redis cluster has no master');
    return owner;
  }

  get masters(): readonly Address[] {
    return this.#masters;
  }

  /** Calls `listener` whenever keys have moved to another server. */
  onChange(listener: () => void): Disposable {
    return this.#changes.add(listener);
  }

  /** The connection to this server is lost: refreshes repeatedly until the server is back or replaced. */
  markLost(address: Address): void {
    this.#lost.add(formatAddress(address));
    this.refresh().catch(() => {});
    this.#schedule();
  }

  markBack(address: Address): void {
    this.#lost.delete(formatAddress(address));
  }

  /** Asks where keys are now. @throws Error if no server answers. */
  refresh(): Promise<void> {
    if (this.#closed) return Promise.reject(storeUnavailable('it is closed'));
    if (this.#target.kind === 'single') return Promise.resolve();
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const answer = this.isSharded ? askCluster(this.#target, this.#candidates()) : askSentinels(this.#target);
    const owners = await answer;
    const before = this.#owners;
    const isSame = owners.length === before.length && owners.every((owner, slot) => isSameAddress(owner, before[slot]));
    if (this.#closed || isSame) return;
    this.#owners = owners;
    this.#masters = mastersOf(owners);
    const masters = this.#masters.map(formatAddress);
    for (const name of this.#lost) if (!masters.includes(name)) this.#lost.delete(name);
    if (before.length === 0) return;
    this.#log.info({ masters }, 'Redis is at another address now, or slots of the cluster have moved');
    this.#changes.emit();
  }

  /** The nodes of a cluster to ask; lost ones come last. */
  #candidates(): Address[] {
    const nodes = [...this.#masters, ...this.#target.nodes];
    const known = new Map(nodes.map((address) => [formatAddress(address), address]));
    const isLost = (address: Address) => Number(this.#lost.has(formatAddress(address)));
    return [...known.values()].sort((a, b) => isLost(a) - isLost(b));
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#closed || this.#target.kind === 'single') return;
    const refresh = () => {
      this.refresh()
        .catch((thrown: unknown) => this.#log.debug({ reason: messageOf(thrown) }, 'no server tells where Redis is'))
        .finally(() => this.#schedule());
    };
    this.#timer = setTimeout(refresh, this.#lost.size > 0 ? LOST_REFRESH_MS : REFRESH_MS).unref();
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }
}

function mastersOf(owners: Owners): Address[] {
  const found = [...new Set(owners)].filter((owner) => owner !== undefined);
  return [...new Map(found.map((owner) => [formatAddress(owner), owner])).values()];
}

function isSameAddress(a: Address | undefined, b: Address | undefined): boolean {
  return a?.host === b?.host && a?.port === b?.port;
}

/** The master that the first sentinel to answer names. */
function askSentinels(target: RedisTarget): Promise<Address[]> {
  const login = { tls: target.tls, database: 0, ...target.sentinel };
  return firstAnswer(target.nodes, 'no sentinel tells the master', async (sentinel) => {
    const reply = await query(login, sentinel, ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', target.master]);
    const [host, port] = maybeAddressReply.parse(reply) ?? [];
    if (host === undefined) throw new Error(`does not know a master named ${target.master}`);
    return [{ host, port: Number(port) }];
  });
}

/** The master of each slot that the first node to answer names. */
function askCluster(target: RedisTarget, nodes: readonly Address[]): Promise<Owners> {
  return firstAnswer(nodes, 'no node of the Redis cluster tells its slots', async (node) => {
    const owners: (Address | undefined)[] = new Array(SLOTS).fill(undefined);
    const slots = clusterSlotsReply.parse(await query(target, node, ['CLUSTER', 'SLOTS']));
    for (const [first, last, [host, port]] of slots) {
      // A node that does not know its own address omits it.
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
      return await withTimeout('asking', TIMEOUT_MS, () => question(server));
    } catch (thrown) {
      failures.push(`${formatAddress(server)}: ${messageOf(thrown)}`);
    }
  }
  throw new Error(`store.url: ${failure}: ${failures.join('; ')}`);
}

/** Sends one command over a separate connection. */
async function query(login: Login, address: Address, question: readonly string[]): Promise<unknown> {
  const { socket, ...options } = clientOptions(login, address);
  const limits = { connectTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS, reconnectStrategy: false as const };
  const client = createClient({ ...options, maintNotifications: 'disabled', socket: { ...socket, ...limits } });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.sendCommand<unknown>(question);
  } finally {
    if (client.isOpen) client.destroy();
  }
}
