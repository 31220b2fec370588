import type { RedisArgument } from '@redis/client';
import { messageOf } from '../../../base/errors.ts';
import type { Address } from '../../../config/redis-url.ts';
import { unavailable } from '../../failure.ts';
import { Listeners } from '../../listeners.ts';
import { isRedirect, isUnknownScript, redisFailure, unreachable } from './failure.ts';
import type { RedisClient } from './make-client.ts';
import { type ChannelOptions, type ConnectionOptions, NodeConnection } from './node-connection.ts';
import { nameOf } from './target.ts';
import type { Topology } from './topology.ts';

export interface CommandOptions {
  /** Texts of the reply as buffers. */
  binary?: boolean;
}

/** A Lua script that Redis runs as one atomic step, for one server and for a cluster. `digest`: SHA-1 in hex. */
export type Script = Readonly<Record<'plain' | 'sharded', { source: string; digest: string }>>;

interface Subscription extends ChannelOptions {
  listener(message: Buffer): void;
  /** The node that it is made at. */
  node: NodeConnection;
}

/** How often a command follows a slot that is said to be elsewhere. */
const MOST_REDIRECTS = 5;
/** Between two attempts to move subscriptions, in milliseconds. */
const FOLLOW_AGAIN_MS = 500;

/**
 * A connection to Redis that never keeps a caller waiting: one to each server that holds keys, and the first key of a
 * command says to which it goes. A server that is lost fails its own commands at once and no others.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #topology: Topology;
  readonly #nodes = new Map<string, NodeConnection>();
  readonly #ready = new Listeners();
  readonly #channels = new Map<string, Subscription>();
  readonly #following: Disposable;
  #closed = false;

  private constructor(options: ConnectionOptions, topology: Topology) {
    this.#options = options;
    this.#topology = topology;
    this.#following = topology.onChange(() => void this.#follow());
  }

  /** @throws Error where a server cannot be reached. */
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

  /** Whether `close` was called. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Whether keys lie on several servers, which do not keep the order of commands among each other. */
  get sharded(): boolean {
    return this.#topology.sharded;
  }

  /** The client of the one server that holds all keys for ever; undefined with sentinels and in a cluster. */
  get client(): RedisClient | undefined {
    return this.#topology.fixed ? this.#nodeOf(undefined).client : undefined;
  }

  /** Calls `listener` whenever a connection is there again, subscriptions included. */
  onReady(listener: () => void): Disposable {
    return this.#ready.add(listener);
  }

  /**
   * Sends a command. The reply is what the protocol says: texts, numbers, null, arrays.
   * @throws GatewayError `store_unavailable` (the command may have been executed where it was sent), or
   * `internal_error` for an error reply of another kind; ErrorReply for a script that Redis does not know.
   */
  async command(args: readonly RedisArgument[], options: CommandOptions = {}): Promise<unknown> {
    const key = keyOf(args);
    try {
      return await this.#nodeOf(key).command(args, options);
    } catch (thrown) {
      return await this.#redirected(thrown, {
        key,
        send: (node, asking) => node.command(args, { ...options, asking }),
      });
    }
  }

  /** Sends a command again where its slot is by now. */
  async #redirected(
    thrown: unknown,
    { key, send }: { key: string | undefined; send(node: NodeConnection, asking: boolean): Promise<unknown> },
  ): Promise<unknown> {
    let failure = thrown;
    for (let redirects = 0; redirects < MOST_REDIRECTS; redirects++) {
      const redirect = isRedirect(failure);
      if (!redirect) throw failure;
      const asking = redirect.kind === 'ask';
      if (!asking) await this.#topology.refresh().catch(unreachable);
      try {
        return await send(asking ? this.#node(redirect.address) : this.#nodeOf(key), asking);
      } catch (again) {
        failure = again;
      }
    }
    throw redisFailure(failure);
  }

  /** Runs a script by its digest, and in full where Redis does not know it. Errors as with `command`. */
  async script(
    script: Script,
    keys: readonly string[],
    args: readonly RedisArgument[],
    options: CommandOptions = {},
  ): Promise<unknown> {
    const { source, digest } = script[this.sharded ? 'sharded' : 'plain'];
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
    return nameOf(this.#topology.ownerOf(key));
  }

  /**
   * Resolves with the number of replicas that have everything which the server of `key` was asked to write before, once
   * there are `replicas` of them or after `limitMs`. The key is written.
   */
  async replicated(key: string, options: { replicas: number; limitMs: number }): Promise<number> {
    return await this.#at(key, (node) => node.replicated(key, options));
  }

  /** Subscribes to a channel; resolves once Redis has confirmed it. Where it fails, there is no subscription. */
  async subscribe(channel: string, listener: (message: Buffer) => void, options: ChannelOptions): Promise<void> {
    const node = await this.#at(options.sharded ? channel : undefined, async (found) => {
      await found.subscribe(channel, listener, options);
      return found;
    });
    this.#channels.set(channel, { ...options, listener, node });
  }

  async unsubscribe(channel: string, options: ChannelOptions): Promise<void> {
    const subscription = this.#channels.get(channel);
    if (!subscription) return;
    if (!subscription.node.closed) await subscription.node.unsubscribe(channel, options);
    this.#channels.delete(channel);
  }

  /** Ends the connection, after the replies under way where they come in time. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#following[Symbol.dispose]();
    await Promise.all([...this.#nodes.values()].map((node) => node.close()));
  }

  /** Work that is not done elsewhere where its slot has moved: the next attempt finds it. */
  async #at<T>(key: string | undefined, work: (node: NodeConnection) => Promise<T>): Promise<T> {
    try {
      return await work(this.#nodeOf(key));
    } catch (thrown) {
      if (isRedirect(thrown)) await this.#topology.refresh().catch(() => {});
      throw redisFailure(thrown);
    }
  }

  #nodeOf(key: string | undefined): NodeConnection {
    return this.#node(this.#topology.ownerOf(key));
  }

  /** The connection to a node, made if there is none yet. */
  #node(address: Address, connectLimitMs = this.#options.limitMs): NodeConnection {
    if (this.#closed) throw unavailable('it is closed');
    const name = nameOf(address);
    const known = this.#nodes.get(name);
    if (known) return known;
    const node = new NodeConnection({
      ...this.#options,
      address,
      connectLimitMs,
      onLost: () => this.#topology.lost(address),
      onBack: () => {
        this.#topology.back(address);
        this.#ready.tell();
      },
    });
    this.#nodes.set(name, node);
    node.opened.catch(() => {
      this.#leave(name, node);
      this.#topology.lost(address);
    });
    return node;
  }

  #leave(name: string, node: NodeConnection): void {
    if (this.#nodes.get(name) === node) this.#nodes.delete(name);
    void node.close({ graceMs: 0 });
  }

  /**
   * Keys have other owners: subscriptions go with them, and nodes that have none any more are left at once. What such a
   * node still answered would count as written, and be lost.
   */
  async #follow(): Promise<void> {
    const masters = new Set(this.#topology.masters.map(nameOf));
    for (const [name, node] of this.#nodes) {
      if (!masters.has(name)) this.#leave(name, node);
    }
    const moves = [...this.#channels].map(([channel, subscription]) => this.#resubscribe(channel, subscription));
    const moved = await Promise.all(moves);
    // Whatever was published meanwhile was not heard.
    this.#ready.tell();
    if (moved.includes(false) && !this.#closed) setTimeout(() => void this.#follow(), FOLLOW_AGAIN_MS).unref();
  }

  /** Whether a subscription is where its channel is by now. */
  async #resubscribe(channel: string, subscription: Subscription): Promise<boolean> {
    const { node: before, sharded, listener } = subscription;
    try {
      const node = this.#nodeOf(sharded ? channel : undefined);
      if (node === before && !node.closed) return true;
      if (!before.closed) await before.unsubscribe(channel, { sharded }).catch(() => {});
      await node.subscribe(channel, listener, { sharded });
      subscription.node = node;
      return true;
    } catch (thrown) {
      this.#options.log.debug({ channel, reason: messageOf(thrown) }, 'a subscription could not be moved yet');
      return false;
    }
  }
}

/** What others need of a connection. */
export type RedisConnection = Pick<Connection, keyof Connection>;

const KEYLESS: ReadonlySet<string> = new Set(['INFO', 'CONFIG', 'CLUSTER', 'PING', 'PUBLISH', 'SCRIPT']);

/** The key by which a command finds its node; undefined where any node will do. */
function keyOf(args: readonly RedisArgument[]): string | undefined {
  const name = String(args[0]);
  if (KEYLESS.has(name)) return undefined;
  const key = name === 'EVALSHA' || name === 'EVAL' ? args[3] : args[1];
  return key === undefined ? undefined : String(key);
}
