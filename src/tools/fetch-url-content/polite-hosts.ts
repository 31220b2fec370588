import { sleep } from '../../base/abort.ts';
import { boundedCache } from '../../base/bounded-cache.ts';
import { FairSemaphore } from '../../base/fair-semaphore.ts';
import { waitOfHeader } from '../../base/retry-after.ts';
import { ToolError } from '../tool.ts';

/** How many requests may run at one host at a time, and how many may wait over all hosts. */
const MAX_PER_HOST = 2;
const MAX_WAITING = 4096;
/** The longest pause that a request waits for, and the longest that a host is granted. */
const MAX_WAIT_MS = 3000;
const MAX_PAUSE_MS = 5 * 60_000;
/** Hosts whose pauses are remembered. */
const MAX_PAUSED = 2000;

/** Keeps the gateway from flooding a site: a few requests at a time, and none while the site asks for a pause. */
export class PoliteHosts {
  readonly #visits = new FairSemaphore({
    name: 'page_hosts',
    perOwner: MAX_PER_HOST,
    maxWaiting: MAX_WAITING,
    fullError: () => new ToolError('rate_limited', 'Too many pages of this site are waited for.'),
  });
  /** When the pauses of hosts end, by `#now`. */
  readonly #pausedUntil = boundedCache<number>(MAX_PAUSED);
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Runs `work` once the host has room for another request.
   * @throws ToolError `rate_limited` if the host asked for a longer pause than a call waits for, or too many wait.
   */
  async visit<T>(host: string, work: () => Promise<T>, options: { signal: AbortSignal }): Promise<T> {
    using _ = await this.#visits.acquire(host, options.signal);
    const pauseMs = (this.#pausedUntil.get(host) ?? 0) - this.#now();
    if (pauseMs > MAX_WAIT_MS) {
      throw new ToolError('rate_limited', `${host} asked not to be visited for ${Math.ceil(pauseMs / 1000)} s.`);
    }
    if (pauseMs > 0) await sleep(pauseMs, options);
    return await work();
  }

  /** Pauses a host that answered 429 or 503 with these headers. */
  pause(host: string, headers: Headers): void {
    const pause = Math.min(waitOfHeader(headers.get('retry-after'), headers.get('date')) ?? 2000, MAX_PAUSE_MS);
    this.#pausedUntil.set(host, Math.max(this.#pausedUntil.get(host) ?? 0, this.#now() + pause));
  }
}
