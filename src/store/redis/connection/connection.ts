import type { RedisArgument } from '@redis/client';
import { messageOf } from '../../../base/errors.ts';
import type { Address } from '../../../config/redis-url.ts';
import { storeUnavailable } from '../../failure.ts';
import { Listeners } from '../../listeners.ts';
import { isUnknownScript, parseRedirect, redisFailure, throwRedisFailure } from './failure.ts';
import type { RedisClient } from './make-client.ts';
import { type ChannelOptions, type ConnectionOptions, NodeConnection } from './node-connection.ts';
import { formatAddress } from './target.ts';
import type { Topology } from './topology.ts';

export interface CommandOptions {
  /** Returns texts of the reply as buffers. */
  binary?: boolean;
}

/** A Lua script that Redis runs as one atomic step, for one server and for a cluster. `digest`: SHA-1 in hex. */
export type Script = Readonly<Record<'plain' | 'sharded', { source: string; digest: string }>>;

interface Subscription extends ChannelOptions {
  listener(message: Buffer): void;
  /** The node that has the subscription. */
  node: NodeConnection;
}

/** How many redirects a command follows. */
const MAX_REDIRECTS = 5;
/** Pause between two attempts to move subscriptions, in milliseconds. */
const FOLLOW_RETRY_MS = 500;

/**
 * A connection to Redis that never keeps a caller waiting: one to each server that holds keys. The first key of a
 * command selects the server. A server that is lost fails its own commands at once and no others.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #topology: Topology;
  readonly #nodes = new Map<string, NodeConnection>();
  readonly #ready = new Listeners();
  readonly #channels = new Map<string, Subscription>();
  readonly #topologyListener: Disposable;
  #closed = false;

  private constructor(options: ConnectionOptions, topology: Topology) {
    this.#options = options;
    this.#topology = topology;
    this.#topologyListener = topology.onChange(() => void this.#followTopology());
  }

  /** @throws Error if a server cannot be reached. */
  static async open(options: ConnectionOptions & { topology: Topology }): Promise<Connection> {
    const { topology, connectLimitMs } = options;
    const connection = new Connection(options, topology);
    try {
      await Promise.all(topology.masters.map((master) => connection.#node(master, connectLimitMs).opened));
    } catch (thrown) {
      await connection.close();
      throw thrown;
    }
    return connection;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Whether several servers hold keys, which do not keep the order of commands among each other. */
  get isSharded(): boolean {
    return this.#topology.isSharded;
  }

  /** The client of the one server that always holds all keys; undefined with sentinels and in a cluster. */
  get client(): RedisClient | undefined {
    return this.#topology.isSingle ? this.#nodeOf(undefined).client : undefined;
  }

  /** Calls `listener` whenever a connection is restored, including its subscriptions. */
  onReady(listener: () => void): Disposable {
    return this.#ready.add(listener);
  }

  /**
   * Sends a command. The reply is what the protocol returns: texts, numbers, null, arrays.
   * @throws GatewayError `store_unavailable` (the server may have executed the command), or `internal_error` for
   * another kind of error reply; ErrorReply for a script that Redis does not know.
   */
  async command(args: readonly RedisArgument[], options: CommandOptions = {}): Promise<unknown> {
    const key = keyOf(args);
    try {
      return await this.#nodeOf(key).command(args, options);
    } catch (thrown) {
      return await this.#followRedirects(thrown, {
        key,
        send: (node, asking) => node.command(args, { ...options, asking }),
      });
    }
  }

  /** Sends a command again to the server that has its slot now. */
  async #followRedirects(
    thrown: unknown,
    { key, send }: { key: string | undefined; send(node: NodeConnection, asking: boolean): Promise<unknown> },
  ): Promise<unknown> {
    let failure = thrown;
    for (let redirects = 0; redirects < MAX_REDIRECTS; redirects++) {
      const redirect = parseRedirect(failure);
      if (!redirect) throw failure;
      const asking = redirect.kind === 'ask';
      if (!asking) await this.#topology.refresh().catch(throwRedisFailure);
      try {
        return await send(asking ? this.#node(redirect.address) : this.#nodeOf(key), asking);
      } catch (again) {
        failure = again;
      }
    }
    throw redisFailure(failure);
  }

  /** Runs a script by its digest, or in full if Redis does not know it. Errors as for `command`. */
  async script(
    script: Script,
    keys: readonly string[],
    args: readonly RedisArgument[],
    options: CommandOptions = {},
  ): Promise<unknown> {
    const { source, digest } = script[this.isSharded ? 'sharded' : 'plain'];
    const command = ['EVALSHA', digest, `${keys.length}`, ...keys, ...args];
    try {
      return await this.command(command, options);
    } catch (thrown) {
      if (!isUnknownScript(thrown)) throw thrown;
      return await this.command(['EVAL', source, ...command.slice(2)], options);
    }
  }

  /** Names the server that holds a key. */
  serverOf(key: string): string {
    return formatAddress(this.#topology.ownerOf(key));
  }

  /**
   * Writes `key`, and resolves with the number of replicas that have everything written to its server before: once
   * there are `replicas` of them, or after `limitMs`.
   */
  async waitForReplicas(key: string, options: { replicas: number; limitMs: number }): Promise<number> {
    return await this.#withNode(key, (node) => node.waitForReplicas(key, options));
  }

  /** Subscribes to a channel; resolves once Redis has confirmed it. If it fails, there is no subscription. */
  async subscribe(channel: string, listener: (message: Buffer) => void, options: ChannelOptions): Promise<void> {
    const node = await this.#withNode(options.sharded ? channel : undefined, async (found) => {
      await found.subscribe(channel, listener, options);
      return found;
    });
    this.#channels.set(channel, { ...options, listener, node });
  }

  async unsubscribe(channel: string, options: ChannelOptions): Promise<void> {
    const subscription = this.#channels.get(channel);
    if (!subscription) return;
    if (!subscription.node.isClosed) await subscription.node.unsubscribe(channel, options);
    this.#channels.delete(channel);
  }

  /** Closes the connection, after pending replies if they arrive in time. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#topologyListener[Symbol.dispose]();
    await Promise.all([...this.#nodes.values()].map((node) => node.close()));
  }

  /** Work that is not redirected if its slot has moved: the next attempt goes to the right server. */
  async #withNode<T>(key: string | undefined, work: (node: NodeConnection) => Promise<T>): Promise<T> {
    try {
      return await work(this.#nodeOf(key));
    } catch (thrown) {
      if (parseRedirect(thrown)) await this.#topology.refresh().catch(() => {});
      throw redisFailure(thrown);
    }
  }

  #nodeOf(key: string | undefined): NodeConnection {
    return this.#node(this.#topology.ownerOf(key));
  }

  /** The connection to a node, opened if there is none yet. */
  #node(address: Address, connectLimitMs = this.#options.limitMs): NodeConnection {
    if (this.#closed) throw storeUnavailable('it is closed');
    const name = formatAddress(address);
    const known = this.#nodes.get(name);
    if (known) return known;
    const node = new NodeConnection({
      ...this.#options,
      address,
      connectLimitMs,
      onLost: () => this.#topology.markLost(address),
      onBack: () => {
        this.#topology.markBack(address);
        this.#ready.emit();
      },
    });
    this.#nodes.set(name, node);
    node.opened.then(
      () => this.#topology.markBack(address),
      () => {
        this.#drop(name, node);
        this.#topology.markLost(address);
      },
    );
    return node;
  }

  #drop(name: string, node: NodeConnection): void {
    if (this.#nodes.get(name) === node) this.#nodes.delete(name);
    void node.close({ graceMs: 0 });
  }

  /**
   * Follows keys to their new owners: moves subscriptions, and drops nodes without keys at once. A write that such a
   * node still acknowledged would be lost.
   */
  async #followTopology(): Promise<void> {
    const masters = new Set(this.#topology.masters.map(formatAddress));
    for (const [name, node] of this.#nodes) {
      if (!masters.has(name)) this.#drop(name, node);
    }
    const moves = [...this.#channels].map(([channel, subscription]) => this.#resubscribe(channel, subscription));
    const moved = await Promise.all(moves);
    // Messages published meanwhile were missed.
    this.#ready.emit();
    if (moved.includes(false) && !this.#closed) setTimeout(() => void this.#followTopology(), FOLLOW_RETRY_MS).unref();
  }

  /** Moves a subscription to the present node of its channel. False if that failed. */
  async #resubscribe(channel: string, subscription: Subscription): Promise<boolean> {
    const { node: before, sharded, listener } = subscription;
    try {
      const node = this.#nodeOf(sharded ? channel : undefined);
      if (node === before && !node.isClosed) return true;
      if (!before.isClosed) await before.unsubscribe(channel, { sharded }).catch(() => {});
      await node.subscribe(channel, listener, { sharded });
      subscription.node = node;
      return true;
    } catch (thrown) {
      this.#options.log.debug({ channel, reason: messageOf(thrown) }, 'a subscription could not be moved yet');
      return false;
    }
  }
}

/** The public members of a connection. */
export type RedisConnection = Pick<Connection, keyof Connection>;

const KEYLESS: ReadonlySet<string> = new Set(['INFO', 'CONFIG', 'CLUSTER', 'PING', 'PUBLISH', 'SCRIPT']);

/** The key that selects the node of a command; undefined if any node will do. */
function keyOf(args: readonly RedisArgument[]): string | undefined {
  const name = String(args[0]);
  if (KEYLESS.has(name)) return undefined;
  const key = name === 'EVALSHA' || name === 'EVAL' ? args[3] : args[1];
  return key === undefined ? undefined : String(key);
}
