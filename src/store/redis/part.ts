import type { RedisArgument } from '@redis/client';
import type { CommandOptions, RedisConnection, Script } from './connection/connection.ts';
import type { RedisKeys } from './keys.ts';

/** What all parts of the storage over Redis share. */
export interface RedisParts {
  redis: RedisConnection;
  keys: RedisKeys;
  /** The time that scripts are given; empty for the time of Redis. */
  now(): string;
  /** Events stay hidden until replicas have them; see `RedisLog.makeVisible`. */
  awaitsReplicas: boolean;
  /** Waits until replicas have what was written in the slot of this id or tag. */
  waitForReplicas(tag: string): Promise<void>;
}

/** Base class of the parts of the storage over Redis. */
export abstract class RedisPart {
  protected readonly redis: RedisConnection;
  protected readonly keys: RedisKeys;
  protected readonly now: () => string;
  protected readonly awaitsReplicas: boolean;
  protected readonly waitForReplicas: RedisParts['waitForReplicas'];

  constructor({ redis, keys, now, awaitsReplicas, waitForReplicas }: RedisParts) {
    this.redis = redis;
    this.keys = keys;
    this.now = now;
    this.awaitsReplicas = awaitsReplicas;
    this.waitForReplicas = waitForReplicas;
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
