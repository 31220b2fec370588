import { ErrorReply, RESP_TYPES, type RedisArgument } from '@redis/client';
import { withTimeout } from '../../../base/abort.ts';
import { messageOf } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Address } from '../../../config/redis-url.ts';
import { unavailable } from '../../failure.ts';
import { isForSender, leadsToReplica, redisFailure, unreachable } from './failure.ts';
import { makeClient, type RedisClient } from './make-client.ts';
import { nameOf, type RedisTarget } from './target.ts';

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
  onLost(): void;
  /** Called when it is there again, subscriptions included. */
  onBack(): void;
}

export interface NodeCommandOptions {
  /** Texts of the reply as buffers. */
  binary?: boolean;
  /** The server is in a cluster and takes the slot of this command over. */
  asking?: boolean;
}

/** A subscription to a channel that belongs to a slot, where the server is a cluster. */
export interface ChannelOptions {
  sharded: boolean;
}

/** How long the mark of a wait for replicas is kept, in milliseconds. */
const MARK_MS = 10_000;
const CLOSE_MS = 500;
const READING_MS = 100;
const LIMITS = { connectMs: 3000, silenceMs: 10_000, waiting: 0 };
const BINARY = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

/**
 * The connection to one server. Commands fail at once while it is down, and after a limit where the server does not
 * answer; then the connection is made anew. It comes back by itself.
 */
export class NodeConnection {
  readonly #options: NodeOptions;
  readonly #client: RedisClient;
  /** Settles with the first connection. Rejects with host and reason if there is none within `connectLimitMs`. */
  readonly opened: Promise<void>;
  #wasReady = false;
  #down = false;
  #closed = false;
  #lastFailure: unknown;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.#client = makeClient({ ...options, limits: LIMITS }, (cause) => this.#fatalAtStart(cause));
    this.#client.on('error', (thrown: unknown) => this.#failed(thrown));
    this.#client.on('ready', () => this.#ready());
    this.opened = this.#open();
  }

  async #open(): Promise<void> {
    const { address, connectLimitMs } = this.#options;
    try {
      await withTimeout('connecting', connectLimitMs, () => this.#client.connect());
    } catch (thrown) {
      const cause = this.#lastFailure ?? thrown;
      throw new Error(
        `store.url: no connection to Redis at ${nameOf(address)}: ${messageOf(cause)}. Check host, port, password and database number.`,
        { cause },
      );
    }
  }

  /** The client itself, the same one for ever. */
  get client(): RedisClient {
    return this.#client;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Sends a command.
   * @throws ErrorReply for what the sender acts on (see `isForSender`), GatewayError for everything else.
   */
  command(args: readonly RedisArgument[], { binary, asking }: NodeCommandOptions = {}): Promise<unknown> {
    return this.#send((client) => {
      // Written together: nothing comes between.
      if (asking) client.sendCommand(['ASKING']).catch(() => {});
      return client.sendCommand<unknown>(args, binary ? BINARY : undefined);
    });
  }

  /** See `Connection.replicated`. */
  replicated(key: string, { replicas, limitMs }: { replicas: number; limitMs: number }): Promise<number> {
    return this.#send(async (client) => {
      // A write of this connection: only those are waited for, and what others wrote before goes before it.
      const written = client.sendCommand(['SET', key, '1', 'PX', `${MARK_MS}`]);
      const [, count] = await Promise.all([written, client.sendCommand<number>(['WAIT', `${replicas}`, `${limitMs}`])]);
      return count;
    });
  }

  subscribe(channel: string, listener: (message: Buffer) => void, { sharded }: ChannelOptions): Promise<void> {
    return this.#send((client) =>
      sharded ? client.sSubscribe(channel, listener, true) : client.subscribe(channel, listener, true),
    );
  }

  unsubscribe(channel: string, { sharded }: ChannelOptions): Promise<void> {
    return this.#send((client) => (sharded ? client.sUnsubscribe(channel) : client.unsubscribe(channel)));
  }

  /** Ends the connection, after the replies under way where they come within `graceMs`. */
  async close({ graceMs = CLOSE_MS } = {}): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const client = this.#client;
    if (graceMs > 0 && client.isReady) await withTimeout('closing', graceMs, () => client.close()).catch(() => {});
    if (client.isOpen) client.destroy();
  }

  /** The client's own limit ends once a command is written: a frozen Redis would keep it for ever. */
  #send<Reply>(send: (client: RedisClient) => Promise<Reply>): Promise<Reply> {
    if (this.#closed) return Promise.reject(unavailable('it is closed'));
    if (!this.#client.isReady) return this.#sendOpened(send);
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const overdue = () => {
        if (isSettled) return;
        reject(unavailable('Redis does not answer'));
        this.#restart();
      };
      // Where this process itself stood still, the reply may wait in the socket, or come at once: it is read first.
      const timer = setTimeout(() => setTimeout(overdue, READING_MS), this.#options.limitMs);
      const settle = () => {
        isSettled = true;
        clearTimeout(timer);
      };
      send(this.#client).then(
        (reply) => {
          settle();
          resolve(reply);
        },
        (thrown: unknown) => {
          settle();
          if (leadsToReplica(thrown)) this.#restart();
          reject(isForSender(thrown) ? thrown : redisFailure(thrown));
        },
      );
    });
  }

  /** The first connection is waited for, later ones are not. */
  async #sendOpened<Reply>(send: (client: RedisClient) => Promise<Reply>): Promise<Reply> {
    if (!this.#wasReady) await this.opened.catch(unreachable);
    if (!this.#client.isReady) throw unavailable('Redis cannot be reached');
    return await this.#send(send);
  }

  #restart(): void {
    if (this.#closed || !this.#client.isReady) return;
    this.#failed(unavailable('Redis does not answer'));
    this.#client.destroy();
    this.#client.connect().catch((thrown: unknown) => this.#failed(thrown));
  }

  /** A refused password or database at the start is for the operator; later it may pass, as a restart does. */
  #fatalAtStart(cause: Error): Error | undefined {
    this.#lastFailure = cause;
    const isFatal = cause instanceof ErrorReply && !this.#wasReady && !cause.message.startsWith('LOADING');
    return isFatal ? cause : undefined;
  }

  #failed(thrown: unknown): void {
    this.#lastFailure = thrown;
    if (this.#down || this.#closed || !this.#wasReady) return;
    this.#down = true;
    const address = nameOf(this.#options.address);
    this.#options.log.warn({ reason: messageOf(thrown), address }, 'connection to Redis lost');
    this.#options.onLost();
  }

  #ready(): void {
    if (this.#down) this.#options.log.info({ address: nameOf(this.#options.address) }, 'connection to Redis is back');
    this.#down = false;
    if (this.#wasReady) this.#options.onBack();
    this.#wasReady = true;
  }
}
