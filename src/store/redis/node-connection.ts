import { ErrorReply, RESP_TYPES, type RedisArgument } from '@redis/client';
import { TimeoutError, withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { ChannelOptions, CommandOptions, RedisConnection } from './connection.ts';
import { isRedirect, leadsToReplica, toStoreError, unavailable } from './failure.ts';
import { makeClient, type RedisClient } from './make-client.ts';
import { type Locate, MovingClient } from './moving-client.ts';
import { PendingCommands } from './pending.ts';
import type { Script } from './scripts.ts';
import { type Address, nameOf, type RedisTarget } from './target.ts';

export interface ConnectionOptions {
  target: RedisTarget;
  log: Logger;
  /** Longest wait for a reply, in milliseconds. */
  limitMs: number;
  /** Longest wait for the first connection, in milliseconds. */
  connectLimitMs: number;
}

/** A connection to one server. */
export interface NodeOptions extends ConnectionOptions {
  address: Address;
  /** Where the server is that takes this one's place. Absent: nowhere else. */
  locate?: Locate;
  /** Told when the connection is lost. */
  onLost?(): void;
}

const LONGEST_RECONNECT_PAUSE_MS = 1000;
/** How long the mark of a wait for replicas is kept, in milliseconds. */
const MARK_MS = 10_000;

const BINARY = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

/** The connection to one server, or to whichever server has its place by now; see `RedisConnection`. */
export class NodeConnection implements RedisConnection {
  readonly #options: NodeOptions;
  readonly #moving: MovingClient<RedisClient>;
  readonly #pending = new PendingCommands(() => this.#restart());
  readonly #onReady = new Set<() => void>();
  readonly #channels = new Map<string, ChannelOptions & { listener(message: Buffer): void }>();
  #wasReady = false;
  #down = false;
  #closed = false;
  #lastFailure: unknown;

  private constructor(options: NodeOptions) {
    this.#options = options;
    this.#moving = new MovingClient({
      address: options.address,
      locate: options.locate,
      log: options.log,
      make: (address, lost) => this.#makeClient(address, lost),
      moved: (client) => this.#moved(client),
    });
  }

  #makeClient(address: Address, lost: () => void): RedisClient {
    const client = makeClient({ ...this.#options, address }, (retries, cause) => {
      lost();
      return this.#pauseBeforeReconnect(retries, cause);
    });
    client.on('error', (thrown: unknown) => this.#failed(thrown, client));
    client.on('ready', () => this.#ready(client));
    return client;
  }

  /** @throws Error naming host and reason where there is no connection within `connectLimitMs`. */
  static async open(options: NodeOptions): Promise<NodeConnection> {
    const connection = new NodeConnection(options);
    try {
      await withTimeout('connecting', options.connectLimitMs, () => connection.client.connect());
    } catch (thrown) {
      await connection.close();
      const cause = connection.#lastFailure ?? thrown;
      throw new Error(
        `store.url: no connection to Redis at ${nameOf(options.address)}: ${messageOf(cause)}. Check host, port, password and database number.`,
        { cause },
      );
    }
    return connection;
  }

  get client(): RedisClient {
    return this.#moving.current;
  }

  /** Where the server is by now. */
  get address(): Address {
    return this.#moving.address;
  }

  onReady(listener: () => void): Disposable {
    const entry = () => listener();
    this.#onReady.add(entry);
    return { [Symbol.dispose]: () => void this.#onReady.delete(entry) };
  }

  command(args: readonly RedisArgument[], options: CommandOptions = {}): Promise<unknown> {
    return this.#send(options, (client, replies) => client.sendCommand<unknown>(args, replies));
  }

  /** Sends a command to a node of a cluster that is taking its slot over. */
  asking(args: readonly RedisArgument[], options: CommandOptions = {}): Promise<unknown> {
    return this.#send(options, async (client, replies) => {
      // Written together: nothing comes between.
      const [, reply] = await Promise.all([client.sendCommand(['ASKING']), client.sendCommand<unknown>(args, replies)]);
      return reply;
    });
  }

  serverOf(): string {
    return nameOf(this.address);
  }

  replicated(key: string, { replicas, limitMs }: { replicas: number; limitMs: number }): Promise<number> {
    return this.#send({}, async (client) => {
      // A write of this connection: only those are waited for, and what others wrote before goes before it.
      const written = client.sendCommand(['SET', key, '1', 'PX', `${MARK_MS}`]);
      const [, count] = await Promise.all([written, client.sendCommand<number>(['WAIT', `${replicas}`, `${limitMs}`])]);
      return count;
    });
  }

  #send<Reply>(
    options: CommandOptions,
    send: (client: RedisClient, replies: typeof BINARY | undefined) => Promise<Reply>,
  ): Promise<Reply> {
    if (this.#closed) return Promise.reject(unavailable('it is closed'));
    return new Promise((resolve, reject) => {
      const settle = this.#pending.add(this.#options.limitMs, () => reject(unavailable('Redis does not answer')));
      send(this.client, options.binary ? BINARY : undefined).then(
        (reply) => {
          settle();
          resolve(reply);
        },
        (thrown: unknown) => {
          settle();
          if (leadsToReplica(thrown)) this.#restart();
          reject(isForSender(thrown) ? thrown : toStoreError(thrown));
        },
      );
    });
  }

  script(
    script: Script,
    keys: readonly string[],
    args: readonly RedisArgument[],
    options: CommandOptions = {},
  ): Promise<unknown> {
    return runScript((command) => this.command(command, options), script, keys, args);
  }

  get closed(): boolean {
    return this.#closed;
  }

  async subscribe(channel: string, listener: (message: Buffer) => void, options: ChannelOptions): Promise<void> {
    await this.#limited(() => subscribe(this.client, channel, { ...options, listener }));
    this.#channels.set(channel, { ...options, listener });
  }

  async unsubscribe(channel: string, { sharded }: ChannelOptions): Promise<void> {
    await this.#limited(() => (sharded ? this.client.sUnsubscribe(channel) : this.client.unsubscribe(channel)));
    this.#channels.delete(channel);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#moving.close();
    this.#pending[Symbol.dispose]();
    if (this.client.isReady) await withTimeout('closing', 500, () => this.client.close()).catch(() => {});
    if (this.client.isOpen) this.client.destroy();
  }

  /** A new client is in the place of the last one: it has to listen to the same channels. */
  async #moved(client: RedisClient): Promise<void> {
    for (const [channel, options] of this.#channels) await subscribe(client, channel, options);
    this.#ready(client);
  }

  async #limited<T>(work: () => Promise<T>): Promise<T> {
    if (!this.client.isReady) throw unavailable('Redis cannot be reached');
    try {
      return await withTimeout('Redis', this.#options.limitMs, work);
    } catch (thrown) {
      // What is still under way must not succeed later.
      if (thrown instanceof TimeoutError) this.#restart();
      throw isForSender(thrown) ? thrown : toStoreError(thrown);
    }
  }

  #restart(): void {
    if (this.#closed || !this.client.isReady) return;
    this.#failed(unavailable('Redis does not answer'), this.client);
    this.#moving.restart((thrown) => this.#failed(thrown, this.client));
  }

  #pauseBeforeReconnect(retries: number, cause: Error): number | Error {
    this.#lastFailure = cause;
    // A refused password or database at the start is for the operator; later it may pass, as a restart does.
    if (cause instanceof ErrorReply && !this.#wasReady && !cause.message.startsWith('LOADING')) return cause;
    return Math.min(50 * 2 ** Math.min(retries, 10), LONGEST_RECONNECT_PAUSE_MS) * (0.5 + Math.random() / 2);
  }

  #failed(thrown: unknown, client: RedisClient): void {
    this.#lastFailure = thrown;
    if (this.#down || this.#closed || !this.#wasReady || client !== this.client) return;
    this.#down = true;
    this.#options.log.warn({ reason: messageOf(thrown), address: nameOf(this.address) }, 'connection to Redis lost');
    this.#options.onLost?.();
  }

  #ready(client: RedisClient): void {
    // One that is about to take the place of another is not used yet.
    if (client !== this.client) return;
    if (this.#down) this.#options.log.info({ address: nameOf(this.address) }, 'connection to Redis is back');
    this.#down = false;
    if (this.#wasReady) for (const listener of [...this.#onReady]) listener();
    this.#wasReady = true;
  }
}

/** Runs a script by its digest, and in full where Redis does not know it. */
export function runScript(
  send: (args: readonly RedisArgument[]) => Promise<unknown>,
  script: Script,
  keys: readonly string[],
  args: readonly RedisArgument[],
): Promise<unknown> {
  const command = ['EVALSHA', script.digest, `${keys.length}`, ...keys, ...args];
  return send(command).catch((thrown: unknown) => {
    if (!isUnknownScript(thrown)) throw thrown;
    return send(['EVAL', script.source, ...command.slice(2)]);
  });
}

async function subscribe(
  client: RedisClient,
  channel: string,
  { sharded, listener }: ChannelOptions & { listener(message: Buffer): void },
): Promise<void> {
  if (sharded) await client.sSubscribe(channel, listener, true);
  else await client.subscribe(channel, listener, true);
}

/** Replies that the sender acts on: another node has the slot, or the script has to be sent in full. */
function isForSender(thrown: unknown): boolean {
  return isUnknownScript(thrown) || isRedirect(thrown) !== undefined;
}

function isUnknownScript(thrown: unknown): boolean {
  return thrown instanceof ErrorReply && thrown.message.startsWith('NOSCRIPT');
}
