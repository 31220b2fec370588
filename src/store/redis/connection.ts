import type { RedisArgument } from '@redis/client';
import type { RedisClient } from './make-client.ts';
import type { Script } from './scripts.ts';

export interface CommandOptions {
  /** Texts of the reply as buffers. */
  binary?: boolean;
}

/** A subscription to a channel that belongs to a slot, where the server is a cluster. */
export interface ChannelOptions {
  sharded: boolean;
}

/**
 * A connection to Redis that never keeps a caller waiting: commands fail at once while it is down, and after a limit
 * where Redis does not answer; then the connection is made anew, and comes back by itself. In a cluster it is one to
 * each node that holds slots, and the first key of a command says to which it goes.
 */
export interface RedisConnection {
  /**
   * Sends a command. The reply is what the protocol says: texts, numbers, null, arrays.
   * @throws GatewayError `store_unavailable` (the command may have been executed where it was sent), or
   * `internal_error` for an error reply of another kind.
   */
  command(args: readonly RedisArgument[], options?: CommandOptions): Promise<unknown>;
  /** Runs a script, by its digest once Redis knows it. Errors as with `command`. */
  script(
    script: Script,
    keys: readonly string[],
    args: readonly RedisArgument[],
    options?: CommandOptions,
  ): Promise<unknown>;
  /** Subscribes to a channel; resolves once Redis has confirmed it. Where it fails, there is no subscription. */
  subscribe(channel: string, listener: (message: Buffer) => void, options: ChannelOptions): Promise<void>;
  unsubscribe(channel: string, options: ChannelOptions): Promise<void>;
  /** The client itself, another one once the server has moved; undefined in a cluster, where there are many. */
  readonly client: RedisClient | undefined;
  /** Names the server that holds a key. */
  serverOf(key: string): string;
  /**
   * Resolves with the number of replicas that have everything which this server was asked to write before, once there are
   * `replicas` of them or after `limitMs`. `key` says which server, and is written.
   */
  replicated(key: string, options: { replicas: number; limitMs: number }): Promise<number>;
  /** Calls `listener` whenever a connection is there again, subscriptions included. */
  onReady(listener: () => void): Disposable;
  /** Whether `close` was called. */
  readonly closed: boolean;
  /** Ends the connection, after the replies under way where they come in time. */
  close(): Promise<void>;
}
