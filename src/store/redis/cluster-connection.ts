import type { RedisArgument } from '@redis/client';
import { messageOf } from '../../base/errors.ts';
import type { ClusterTopology } from './cluster-topology.ts';
import type { ChannelOptions, CommandOptions, RedisConnection } from './connection.ts';
import { isRedirect, toStoreError, unavailable } from './failure.ts';
import { type ConnectionOptions, NodeConnection, runScript } from './node-connection.ts';
import type { Script } from './scripts.ts';
import { type Address, nameOf } from './target.ts';

/** How often a command follows a slot that is said to be elsewhere. */
const MOST_REDIRECTS = 5;

interface Subscription extends ChannelOptions {
  listener(message: Buffer): void;
  /** The node that it is made at. */
  node: NodeConnection;
}

/**
 * Connections to the nodes of a cluster, each as good as one to a single server: a node that is lost fails its own
 * commands at once and no others. See `RedisConnection`.
 */
export class ClusterConnection implements RedisConnection {
  readonly #options: ConnectionOptions;
  readonly #topology: ClusterTopology;
  readonly #nodes = new Map<string, Promise<NodeConnection>>();
  readonly #onReady = new Set<() => void>();
  readonly #channels = new Map<string, Subscription>();
  readonly #following: Disposable;
  #closed = false;

  private constructor(options: ConnectionOptions, topology: ClusterTopology) {
    this.#options = options;
    this.#topology = topology;
    this.#following = topology.onChange(() => void this.#follow());
  }

  /** @throws Error where a master cannot be reached. */
  static async open(options: ConnectionOptions & { topology: ClusterTopology }): Promise<ClusterConnection> {
    const connection = new ClusterConnection(options, options.topology);
    try {
      const { connectLimitMs } = options;
      await Promise.all(options.topology.masters.map((master) => connection.#node(master, connectLimitMs)));
    } catch (thrown) {
      await connection.close();
      throw thrown;
    }
    return connection;
  }

  get closed(): boolean {
    return this.#closed;
  }

  onReady(listener: () => void): Disposable {
    const entry = () => listener();
    this.#onReady.add(entry);
    return { [Symbol.dispose]: () => void this.#onReady.delete(entry) };
  }

  async command(args: readonly RedisArgument[], options: CommandOptions = {}): Promise<unknown> {
    const key = keyOf(args);
    let send = async () => await (await this.#nodeOfKey(key)).command(args, options);
    for (let redirects = 0; ; redirects++) {
      try {
        return await send();
      } catch (thrown) {
        const redirect = isRedirect(thrown);
        if (!redirect) throw thrown;
        if (redirects === MOST_REDIRECTS) throw toStoreError(thrown);
        if (redirect.kind === 'ask') {
          send = async () => await (await this.#node(redirect.address)).asking(args, options);
        } else {
          await this.#topology.refresh().catch((failure: unknown) => {
            throw toStoreError(failure);
          });
          send = async () => await (await this.#nodeOfKey(key)).command(args, options);
        }
      }
    }
  }

  readonly client = undefined;

  serverOf(key: string): string {
    return nameOf(this.#topology.ownerOfKey(key));
  }

  async replicated(key: string, options: { replicas: number; limitMs: number }): Promise<number> {
    return await (await this.#nodeOfKey(key)).replicated(key, options);
  }

  script(
    script: Script,
    keys: readonly string[],
    args: readonly RedisArgument[],
    options: CommandOptions = {},
  ): Promise<unknown> {
    return runScript((command) => this.command(command, options), script, keys, args);
  }

  async subscribe(channel: string, listener: (message: Buffer) => void, options: ChannelOptions): Promise<void> {
    const node = await this.#nodeOfChannel(channel, options);
    try {
      await node.subscribe(channel, listener, options);
    } catch (thrown) {
      if (!isRedirect(thrown)) throw thrown;
      await this.#topology.refresh().catch(() => {});
      throw unavailable('the Redis cluster is changing', thrown);
    }
    this.#channels.set(channel, { ...options, listener, node });
  }

  async unsubscribe(channel: string, options: ChannelOptions): Promise<void> {
    const subscription = this.#channels.get(channel);
    this.#channels.delete(channel);
    if (subscription && !subscription.node.closed) await subscription.node.unsubscribe(channel, options);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#following[Symbol.dispose]();
    const nodes = [...this.#nodes.values()];
    await Promise.all(nodes.map((node) => node.then((opened) => opened.close()).catch(() => {})));
  }

  #nodeOfKey(key: string | undefined): Promise<NodeConnection> {
    if (key !== undefined) return this.#node(this.#topology.ownerOfKey(key));
    const [any] = this.#topology.masters;
    if (!any) throw unavailable('no node of the Redis cluster is known');
    return this.#node(any);
  }

  /** A channel without a slot is heard at every node. */
  #nodeOfChannel(channel: string, { sharded }: ChannelOptions): Promise<NodeConnection> {
    return this.#nodeOfKey(sharded ? channel : undefined);
  }

  /** The connection to a node, made where there is none yet. */
  async #node(address: Address, connectLimitMs = this.#options.limitMs): Promise<NodeConnection> {
    if (this.#closed) throw unavailable('it is closed');
    const name = nameOf(address);
    const known = this.#nodes.get(name);
    if (known) return await known;
    const opening = this.#openNode(address, connectLimitMs);
    this.#nodes.set(name, opening);
    try {
      return await opening;
    } catch (thrown) {
      this.#nodes.delete(name);
      this.#topology.lost(address);
      throw connectLimitMs === this.#options.limitMs ? toStoreError(unavailable(messageOf(thrown), thrown)) : thrown;
    }
  }

  async #openNode(address: Address, connectLimitMs: number): Promise<NodeConnection> {
    const node = await NodeConnection.open({
      ...this.#options,
      address,
      connectLimitMs,
      onLost: () => this.#topology.lost(address),
    });
    if (this.#closed) await node.close();
    node.onReady(() => {
      this.#topology.back(address);
      this.#ready();
    });
    return node;
  }

  #ready(): void {
    for (const listener of [...this.#onReady]) listener();
  }

  /** Slots have other owners: subscriptions go with them, and nodes that have none any more are left. */
  async #follow(): Promise<void> {
    const masters = new Set(this.#topology.masters.map(nameOf));
    for (const [name, node] of this.#nodes) {
      if (masters.has(name)) continue;
      this.#nodes.delete(name);
      node.then((opened) => opened.close()).catch(() => {});
    }
    for (const [channel, subscription] of this.#channels) await this.#resubscribe(channel, subscription);
    // Whatever was published meanwhile was not heard.
    this.#ready();
  }

  async #resubscribe(channel: string, subscription: Subscription): Promise<void> {
    try {
      const node = await this.#nodeOfChannel(channel, subscription);
      if (node === subscription.node && !node.closed) return;
      if (!subscription.node.closed) await subscription.node.unsubscribe(channel, subscription).catch(() => {});
      await node.subscribe(channel, subscription.listener, subscription);
      subscription.node = node;
    } catch (thrown) {
      this.#options.log.debug({ channel, reason: messageOf(thrown) }, 'a subscription could not be moved yet');
      // The topology looks again, and tells once more.
      setTimeout(() => {
        if (!this.#closed && this.#channels.get(channel) === subscription) void this.#retry(channel, subscription);
      }, RESUBSCRIBE_MS).unref();
    }
  }

  async #retry(channel: string, subscription: Subscription): Promise<void> {
    await this.#resubscribe(channel, subscription);
    this.#ready();
  }
}

const RESUBSCRIBE_MS = 500;

const KEYLESS: ReadonlySet<string> = new Set(['INFO', 'CONFIG', 'CLUSTER', 'PING', 'PUBLISH', 'SCRIPT']);

/** The key by which a command finds its node; undefined where any node will do. */
function keyOf(args: readonly RedisArgument[]): string | undefined {
  const name = String(args[0]);
  if (KEYLESS.has(name)) return undefined;
  const key = name === 'EVALSHA' || name === 'EVAL' ? args[3] : args[1];
  return key === undefined ? undefined : String(key);
}
