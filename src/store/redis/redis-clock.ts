import type { Clock } from '../../base/clock.ts';
import type { RedisParts } from './part.ts';
import { numberReply } from './replies.ts';
import { loadScript, NOW } from './scripts.ts';

/** How often Redis is asked, in milliseconds: clocks drift, and another server may have taken over. */
const ASK_MS = 10_000;
/** An answer that took longer says too little, in milliseconds. */
const SLOW_MS = 1000;

/** KEYS any. */
const TIME = loadScript(`${NOW}
redis.call('EXISTS', KEYS[1])
return tonumber(whole(timeOf('')))`);

/**
 * The time of Redis, which all instances share, whatever their own clocks say. In between it goes on with this process's
 * steady time, and is never ahead.
 */
export class RedisClock implements Clock, Disposable {
  readonly #parts: Pick<RedisParts, 'redis' | 'keys'>;
  readonly #timer: NodeJS.Timeout;
  /** The time of Redis where `performance.now()` is 0. */
  #began = 0;

  private constructor(parts: Pick<RedisParts, 'redis' | 'keys'>) {
    this.#parts = parts;
    // Redis that is away keeps no time either: what was known goes on.
    this.#timer = setInterval(() => void this.#ask().catch(() => {}), ASK_MS).unref();
  }

  /** @throws GatewayError `store_unavailable`. */
  static async open(parts: Pick<RedisParts, 'redis' | 'keys'>): Promise<RedisClock> {
    const clock = new RedisClock(parts);
    await clock.#ask();
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
    const answered = performance.now();
    if (this.#began === 0 || answered - asked <= SLOW_MS) this.#began = time - answered;
  }
}
