import type { Clock } from '../../base/clock.ts';
import type { RedisConnection } from './connection/connection.ts';
import type { RedisKeys } from './keys.ts';
import { numberReply } from './replies.ts';
import { loadScript, NOW } from './scripts.ts';

/** How often the clock is synchronised, in milliseconds: clocks drift, and another server may have taken over. */
const SYNC_MS = 10_000;

/** KEYS any: in a cluster it selects the server whose time counts. */
const TIME = loadScript(`${NOW}
return tonumber(whole(timeOf('')))`);

interface TimeSource {
  redis: Pick<RedisConnection, 'script'>;
  keys: Pick<RedisKeys, 'probe'>;
}

/**
 * The time of Redis, which all instances share, whatever their own clocks say. Between two synchronisations it follows
 * the monotonic clock of this process; it is never ahead of Redis.
 */
export class RedisClock implements Clock, Disposable {
  readonly #parts: TimeSource;
  #timer: NodeJS.Timeout | undefined;
  /** The time of Redis at `performance.now()` 0. */
  #offset = 0;

  private constructor(parts: TimeSource) {
    this.#parts = parts;
  }

  /** @throws GatewayError `store_unavailable`. */
  static async open(parts: TimeSource): Promise<RedisClock> {
    const clock = new RedisClock(parts);
    await clock.#sync();
    // While Redis is unavailable the last known offset stays.
    clock.#timer = setInterval(() => void clock.#sync().catch(() => {}), SYNC_MS).unref();
    return clock;
  }

  now(): number {
    return Math.floor(this.#offset + performance.now());
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #sync(): Promise<void> {
    const { redis, keys } = this.#parts;
    const sentAt = performance.now();
    const time = numberReply.parse(await redis.script(TIME, [keys.probe], []));
    // Redis returns whole milliseconds, so this is a range.
    const [min, max] = [time - performance.now(), time + 1 - sentAt];
    // An offset within the range stays: a slow answer is less accurate.
    if (this.#offset < min || this.#offset > max) this.#offset = min;
  }
}
