import { LRUCache } from 'lru-cache';
import { sleep } from '../../base/abort.ts';
import { FairSemaphore } from '../../base/fair-semaphore.ts';
import { ToolError } from '../tool.ts';

/** Requests under way at one host, and those that wait for one, of all hosts. */
const MAX_PER_HOST = 2;
const MAX_WAITING = 4096;
/** A host that asked for a pause of at most this long is waited for; in milliseconds. */
const LONGEST_WAIT = 3000;
const LONGEST_PAUSE = 5 * 60_000;
/** Hosts whose wish for quiet is remembered. */
const MAX_QUIET = 2000;

/** Keeps the gateway from storming a site: a few requests at a time, and none while it asked for quiet. */
export class PoliteHosts {
  readonly #visits = new FairSemaphore({
    name: 'page_hosts',
    ofOwner: MAX_PER_HOST,
    maxWaiting: MAX_WAITING,
    full: () => new ToolError('rate_limited', 'Too many pages of this site are waited for.'),
  });
  /** Until when hosts want to be left alone. */
  readonly #quietUntil = new LRUCache<string, number>({ max: MAX_QUIET });
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Runs `work` when the host has a place for it.
   * @throws ToolError `rate_limited` if the host wants to be left alone for longer than a call can wait.
   */
  async visit<T>(host: string, work: () => Promise<T>, options: { signal: AbortSignal }): Promise<T> {
    using _ = await this.#visits.acquire(host, options.signal);
    const quietMs = (this.#quietUntil.get(host) ?? 0) - this.#now();
    if (quietMs > LONGEST_WAIT) {
      throw new ToolError('rate_limited', `${host} asked not to be visited for ${Math.ceil(quietMs / 1000)} s.`);
    }
    if (quietMs > 0) await sleep(quietMs, options);
    return await work();
  }

  /** Notes that a host answered 429 or 503; `retryAfter` is its header. */
  quiet(host: string, retryAfter: string | null): void {
    const seconds = Number(retryAfter ?? Number.NaN);
    const until = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(retryAfter ?? '') - Date.now();
    const pause = Math.min(Number.isFinite(until) ? Math.max(0, until) : 2000, LONGEST_PAUSE);
    this.#quietUntil.set(host, Math.max(this.#quietUntil.get(host) ?? 0, this.#now() + pause));
  }
}
