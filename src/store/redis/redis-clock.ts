import type { Clock } from '../../base/clock.ts';
import type { RedisConnection } from './connection/connection.ts';
import type { Keys } from './keys.ts';
import { numberReply } from './replies.ts';
import { loadScript, NOW } from './scripts.ts';

/** How often Redis is asked, in milliseconds: clocks drift, and another server may have taken over. */
const ASK_MS = 10_000;

/** KEYS any: in a cluster it names the server whose time counts. */
const TIME = loadScript(`${NOW}
return tonumber(whole(timeOf('')))`);

interface TimeSource {
  redis: Pick<RedisConnection, 'script'>;
  keys: Pick<Keys, 'probe'>;
}

/**
 * The time of Redis, which all instances share, whatever their own clocks say. In between it goes on with this process's
 * steady time, and is never ahead.
 */
export class RedisClock implements Clock, Disposable {
  readonly #parts: TimeSource;
  #timer: NodeJS.Timeout | undefined;
  /** The time of Redis where `performance.now()` is 0. */
  #began = 0;

  private constructor(parts: TimeSource) {
    this.#parts = parts;
  }

  /** @throws GatewayError `store_unavailable`. */
  static async open(parts: TimeSource): Promise<RedisClock> {
    const clock = new RedisClock(parts);
    await clock.#ask();
    // Redis that is away keeps no time either: what was known goes on.
    clock.#timer = setInterval(() => void clock.#ask().catch(() => {}), ASK_MS).unref();
    return clock;
  }

  now(): number {
    return Math.floor(this.#began + performance.now());
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #ask(): Promise<void> {
    const { redis, keys } = this.#parts;
    const asked = performance.now();
    const time = numberReply.parse(await redis.script(TIME, [keys.probe], []));
    // Redis answers in whole milliseconds.
    const [least, most] = [time - performance.now(), time + 1 - asked];
    // What may still be right stays: a slow answer knows less.
    if (this.#began < least || this.#began > most) this.#began = least;
  }
}
