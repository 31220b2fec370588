import { createClient, ErrorReply, RESP_TYPES, type RedisArgument } from '@redis/client';
import { TimeoutError, withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { leadsToReplica, toStoreError, unavailable } from './failure.ts';
import { PendingCommands } from './pending.ts';
import type { Script } from './scripts.ts';

export interface ConnectionOptions {
  /** `redis://user:password@host:port/db`, or `rediss://` for TLS. */
  url: string;
  log: Logger;
  /** Longest wait for a reply, in milliseconds. */
  limitMs: number;
  /** Longest wait for the first connection, in milliseconds. */
  connectLimitMs: number;
}

export interface CommandOptions {
  /** Texts of the reply as buffers. */
  binary?: boolean;
}

/** For one attempt to connect. */
const ATTEMPT_LIMIT_MS = 3000;
const PING_EVERY_MS = 3000;
/** A connection on which nothing moves for this long, pings included, leads nowhere. */
const SILENCE_LIMIT_MS = 10_000;
const LONGEST_RECONNECT_PAUSE_MS = 1000;

const BINARY = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

function makeClient(options: ConnectionOptions, reconnect: (retries: number, cause: Error) => number | Error) {
  return createClient({
    url: options.url,
    // The same for every connection: the client builds its class anew, for 20 ms, where options differ from the last.
    name: 'research-gateway',
    // What was not sent while Redis is away must not be sent later behind the back of a caller that was told so.
    disableOfflineQueue: true,
    pingInterval: PING_EVERY_MS,
    maintNotifications: 'disabled',
    socket: { connectTimeout: ATTEMPT_LIMIT_MS, socketTimeout: SILENCE_LIMIT_MS, reconnectStrategy: reconnect },
  });
}

/** The client underneath, as Keyv takes it. */
export type RedisClient = ReturnType<typeof makeClient>;

/**
 * One connection to Redis that never keeps a caller waiting: commands fail at once while it is down, and after
 * `limitMs` where Redis does not answer; then the connection is made anew, and comes back by itself.
 */
export class RedisConnection {
  readonly client: RedisClient;
  readonly #options: ConnectionOptions;
  readonly #pending = new PendingCommands(() => this.#restart());
  readonly #onReady = new Set<() => void>();
  #wasReady = false;
  #down = false;
  #closed = false;
  #lastFailure: unknown;

  private constructor(options: ConnectionOptions) {
    this.#options = options;
    this.client = makeClient(options, (retries, cause) => this.#pauseBeforeReconnect(retries, cause));
    // Every cache over this client listens too.
    this.client.setMaxListeners(100);
    this.client.on('error', (thrown: unknown) => this.#failed(thrown));
    this.client.on('ready', () => this.#ready());
  }

  /** @throws Error naming host and reason where there is no connection within `connectLimitMs`. */
  static async open(options: ConnectionOptions): Promise<RedisConnection> {
    const connection = new RedisConnection(options);
    try {
      await withTimeout('connecting', options.connectLimitMs, () => connection.client.connect());
    } catch (thrown) {
      await connection.close();
      const cause = connection.#lastFailure ?? thrown;
      throw new Error(
        `store.url: no connection to Redis at ${new URL(options.url).host}: ${messageOf(cause)}. Check host, port, password and database number.`,
        { cause },
      );
    }
    return connection;
  }

  /** Calls `listener` whenever the connection is there again, subscriptions included. */
  onReady(listener: () => void): Disposable {
    const entry = () => listener();
    this.#onReady.add(entry);
    return { [Symbol.dispose]: () => void this.#onReady.delete(entry) };
  }

  /**
   * Sends a command. The reply is what the protocol says: texts, numbers, null, arrays.
   * @throws GatewayError `store_unavailable` (the command may have been executed where it was sent), or
   * `internal_error` for an error reply of another kind.
   */
  command(args: readonly RedisArgument[], options: CommandOptions = {}): Promise<unknown> {
    if (this.#closed) return Promise.reject(unavailable('it is closed'));
    return new Promise((resolve, reject) => {
      const settle = this.#pending.add(this.#options.limitMs, () => reject(unavailable('Redis does not answer')));
      this.client.sendCommand<unknown>(args, options.binary ? BINARY : undefined).then(
        (reply) => {
          settle();
          resolve(reply);
        },
        (thrown: unknown) => {
          settle();
          if (leadsToReplica(thrown)) this.#restart();
          reject(thrown instanceof ErrorReply && isUnknownScript(thrown) ? thrown : toStoreError(thrown));
        },
      );
    });
  }

  /** Runs a script, by its digest once Redis knows it. Errors as with `command`. */
  async script(
    script: Script,
    keys: readonly string[],
    args: readonly RedisArgument[],
    options: CommandOptions = {},
  ): Promise<unknown> {
    const rest = [`${keys.length}`, ...keys, ...args];
    try {
      return await this.command(['EVALSHA', script.digest, ...rest], options);
    } catch (thrown) {
      if (!(thrown instanceof ErrorReply)) throw thrown;
      return await this.command(['EVAL', script.source, ...rest], options);
    }
  }

  /** Whether `close` was called; the client underneath must not be used any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Subscribes to a channel; resolves once Redis has confirmed it. Where it fails, there is no subscription. */
  async subscribe(channel: string, listener: (message: Buffer) => void): Promise<void> {
    await this.#limited(() => this.client.subscribe(channel, listener, true));
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#limited(() => this.client.unsubscribe(channel));
  }

  /** Ends the connection, after the replies under way where they come in time. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#pending[Symbol.dispose]();
    if (this.client.isReady) await withTimeout('closing', 500, () => this.client.close()).catch(() => {});
    if (this.client.isOpen) this.client.destroy();
  }

  async #limited<T>(work: () => Promise<T>): Promise<T> {
    if (!this.client.isReady) throw unavailable('Redis cannot be reached');
    try {
      return await withTimeout('Redis', this.#options.limitMs, work);
    } catch (thrown) {
      // What is still under way must not succeed later.
      if (thrown instanceof TimeoutError) this.#restart();
      throw toStoreError(thrown);
    }
  }

  #restart(): void {
    if (this.#closed || !this.client.isReady) return;
    this.#failed(unavailable('Redis does not answer'));
    this.client.destroy();
    this.client.connect().catch((thrown: unknown) => this.#failed(thrown));
  }

  #pauseBeforeReconnect(retries: number, cause: Error): number | Error {
    this.#lastFailure = cause;
    // A refused password or database at the start is for the operator; later it may pass, as a restart does.
    if (cause instanceof ErrorReply && !this.#wasReady && !cause.message.startsWith('LOADING')) return cause;
    return Math.min(50 * 2 ** Math.min(retries, 10), LONGEST_RECONNECT_PAUSE_MS) * (0.5 + Math.random() / 2);
  }

  #failed(thrown: unknown): void {
    this.#lastFailure = thrown;
    if (this.#down || this.#closed || !this.#wasReady) return;
    this.#down = true;
    this.#options.log.warn({ reason: messageOf(thrown) }, 'connection to Redis lost');
  }

  #ready(): void {
    if (this.#down) this.#options.log.info('connection to Redis is back');
    this.#down = false;
    if (this.#wasReady) for (const listener of [...this.#onReady]) listener();
    this.#wasReady = true;
  }
}

function isUnknownScript(reply: ErrorReply): boolean {
  return reply.message.startsWith('NOSCRIPT');
}
