import type { RedisArgument } from '@redis/client';
import type { CommandOptions, RedisConnection, Script } from './connection/connection.ts';
import type { Keys } from './keys.ts';

/** What all parts of the run store over Redis work with. */
export interface RedisParts {
  redis: RedisConnection;
  keys: Keys;
  /** The store's time as scripts take it: empty for that of Redis. */
  now(): string;
  /** Events are held back until replicas have them; see `Log.show`. */
  awaitsReplicas: boolean;
  /** Waits until replicas have what was written in the slot of this id or tag. */
  have(tag: string): Promise<void>;
}

/** One part of the run store over Redis. */
export abstract class RedisPart {
  protected readonly redis: RedisConnection;
  protected readonly keys: Keys;
  protected readonly now: () => string;
  protected readonly awaitsReplicas: boolean;
  protected readonly have: RedisParts['have'];

  constructor({ redis, keys, now, awaitsReplicas, have }: RedisParts) {
    this.redis = redis;
    this.keys = keys;
    this.now = now;
    this.awaitsReplicas = awaitsReplicas;
    this.have = have;
  }

  protected command(...args: readonly RedisArgument[]): Promise<unknown> {
    return this.redis.command(args);
  }

  protected script(
    script: Script,
    keys: readonly string[],
    args: readonly RedisArgument[],
    options?: CommandOptions,
  ): Promise<unknown> {
    return this.redis.script(script, keys, args, options);
  }
}
