import { ErrorReply, RESP_TYPES, type RedisArgument } from '@redis/client';
import { withTimeout } from '../../../base/abort.ts';
import { messageOf } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import { withoutTrailing } from '../../../base/text.ts';
import type { Address } from '../../../config/redis-url.ts';
import { storeUnavailable } from '../../failure.ts';
import { isHandledBySender, leadsToReplica, notConnected, redisFailure, throwRedisFailure } from './failure.ts';
import { makeClient, type RedisClient } from './make-client.ts';
import { formatAddress, type RedisTarget } from './target.ts';

export interface ConnectionOptions {
  target: RedisTarget;
  log: Logger;
  /** Longest wait for a reply, in milliseconds. */
  limitMs: number;
  /** Longest wait for the first connection, in milliseconds. */
  connectLimitMs: number;
}

/** Options of a connection to one server. */
export interface NodeOptions extends ConnectionOptions {
  address: Address;
  onLost(): void;
  /** Called when the connection is restored, including its subscriptions. */
  onBack(): void;
}

export interface NodeCommandOptions {
  /** Returns texts of the reply as buffers. */
  binary?: boolean;
  /** The cluster server is taking over the slot of this command. */
  asking?: boolean;
}

/** Whether the channel belongs to a slot, as in a cluster. */
export interface ChannelOptions {
  sharded: boolean;
}

/** How long the key that a wait for replicas writes exists, in milliseconds. */
const MARK_MS = 10_000;
const CLOSE_MS = 500;
const READ_GRACE_MS = 100;
/** The least time between two new connections to a server that says it is a replica, in milliseconds. */
const REPLICA_PAUSE_MS = 250;
const LIMITS = { connectMs: 3000, silenceMs: 10_000, maxQueued: 0 };
const BINARY = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

/**
 * A connection to one server. Commands fail at once while it is down. If the server does not answer within a limit, the
 * command fails and the connection is opened anew. It recovers by itself.
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
  #leftReplicaAt = Number.NEGATIVE_INFINITY;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.#client = makeClient({ ...options, limits: LIMITS }, (cause) => this.#fatalAtStart(cause));
    this.#client.on('error', (thrown: unknown) => this.#onFailure(thrown));
    this.#client.on('ready', () => this.#onReady());
    this.opened = this.#open();
  }

  async #open(): Promise<void> {
    const { address, connectLimitMs, target } = this.#options;
    try {
      await withTimeout('connecting', connectLimitMs, () => this.#client.connect());
    } catch (thrown) {
      const cause = this.#lastFailure ?? thrown;
      throw new Error(
        `store.url: no connection to Redis at ${formatAddress(address)}: ${connectFailure(cause)}. ` +
          `Check host, port, password and database number${target.tls ? ', and store.tls' : ''}.`,
        { cause },
      );
    }
  }

  /** The client, which never changes. */
  get client(): RedisClient {
    return this.#client;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Sends a command. @throws ErrorReply if the sender handles it (see `isHandledBySender`), otherwise GatewayError. */
  command(args: readonly RedisArgument[], { binary, asking }: NodeCommandOptions = {}): Promise<unknown> {
    return this.#send((client) => {
      // Both are written together, so nothing comes between.
      if (asking) client.sendCommand(['ASKING']).catch(() => {});
      return client.sendCommand<unknown>(args, binary ? BINARY : undefined);
    });
  }

  /** See `Connection.waitForReplicas`. */
  waitForReplicas(key: string, { replicas, limitMs }: { replicas: number; limitMs: number }): Promise<number> {
    return this.#send(async (client) => {
      // WAIT only covers writes of its own connection, and everything written before this one precedes it.
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

  /** Closes the connection, after pending replies if they arrive within `graceMs`. */
  async close({ graceMs = CLOSE_MS } = {}): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const client = this.#client;
    if (graceMs > 0 && client.isReady) await withTimeout('closing', graceMs, () => client.close()).catch(() => {});
    if (client.isOpen) client.destroy();
  }

  /** The timeout of the client ends once a command is written, so a frozen Redis would block it for ever. */
  #send<Reply>(send: (client: RedisClient) => Promise<Reply>): Promise<Reply> {
    if (this.#closed) return Promise.reject(storeUnavailable('it is closed'));
    if (!this.#client.isReady) return this.#sendAfterOpen(send);
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const overdue = () => {
        if (isSettled) return;
        const failure = storeUnavailable('Redis does not answer');
        reject(failure);
        this.#restart(failure);
      };
      // If this process itself was blocked, the reply may be waiting in the socket: it gets a chance to be read first.
      const timer = setTimeout(() => setTimeout(overdue, READ_GRACE_MS), this.#options.limitMs);
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
          if (leadsToReplica(thrown)) this.#leaveReplica(thrown);
          reject(isHandledBySender(thrown) ? thrown : redisFailure(thrown));
        },
      );
    });
  }

  /** Waits for the first connection, but not for later ones. */
  async #sendAfterOpen<Reply>(send: (client: RedisClient) => Promise<Reply>): Promise<Reply> {
    if (!this.#wasReady) await this.opened.catch(throwRedisFailure);
    if (!this.#client.isReady) throw notConnected(this.#lastFailure);
    return await this.#send(send);
  }

  /** Connects anew, perhaps to a master. Meanwhile the store cannot be read either, so this happens only now and then. */
  #leaveReplica(refusal: unknown): void {
    const now = performance.now();
    if (now - this.#leftReplicaAt < REPLICA_PAUSE_MS) return;
    this.#leftReplicaAt = now;
    this.#restart(redisFailure(refusal));
  }

  #restart(failure: unknown): void {
    if (this.#closed || !this.#client.isReady) return;
    this.#onFailure(failure);
    this.#client.destroy();
    this.#client.connect().catch((thrown: unknown) => this.#onFailure(thrown));
  }

  /** A refused password or database is fatal at the start, for the operator to fix. Later it may pass. */
  #fatalAtStart(cause: Error): Error | undefined {
    this.#lastFailure = cause;
    const isFatal = cause instanceof ErrorReply && !this.#wasReady && !cause.message.startsWith('LOADING');
    return isFatal ? cause : undefined;
  }

  #onFailure(thrown: unknown): void {
    this.#lastFailure = thrown;
    if (this.#down || this.#closed || !this.#wasReady) return;
    this.#down = true;
    const address = formatAddress(this.#options.address);
    this.#options.log.warn({ reason: messageOf(thrown), address }, 'connection to Redis lost');
    this.#options.onLost();
  }

  #onReady(): void {
    if (this.#down)
      this.#options.log.info({ address: formatAddress(this.#options.address) }, 'connection to Redis is back');
    this.#down = false;
    if (this.#wasReady) this.#options.onBack();
    this.#wasReady = true;
  }
}

/** Why there is no connection. The message of OpenSSL names its source files, its reason is what operators look for. */
function connectFailure(cause: unknown): string {
  const reason =
    cause instanceof Error && 'library' in cause && 'reason' in cause ? `${cause.reason}` : messageOf(cause);
  return withoutTrailing(reason, '.');
}
