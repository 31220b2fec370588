import { abortable, sleep } from '../../base/abort.ts';
import { ToolError } from '../tool.ts';

/** Requests under way at one host. */
const MAX_PER_HOST = 2;
/** A host that asked for a pause of at most this long is waited for; in milliseconds. */
const LONGEST_WAIT = 3000;
const LONGEST_PAUSE = 5 * 60_000;
const MAX_HOSTS = 2000;

interface Host {
  running: number;
  waiting: (() => void)[];
  quietUntil: number;
}

/** Keeps the gateway from storming a site: a few requests at a time, and none while it asked for quiet. */
export class PoliteHosts {
  readonly #hosts = new Map<string, Host>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Runs `work` when the host has a place for it.
   * @throws ToolError `rate_limited` if the host wants to be left alone for longer than a call can wait.
   */
  async visit<T>(host: string, work: () => Promise<T>, options: { signal: AbortSignal }): Promise<T> {
    const entry = this.#entry(host);
    await this.#enter(entry, options.signal);
    try {
      const quietMs = entry.quietUntil - this.#now();
      if (quietMs > LONGEST_WAIT) {
        throw new ToolError('rate_limited', `${host} asked not to be visited for ${Math.ceil(quietMs / 1000)} s.`);
      }
      if (quietMs > 0) await sleep(quietMs, options);
      return await work();
    } finally {
      const next = entry.waiting.shift();
      if (next) next();
      else entry.running -= 1;
    }
  }

  /** Notes that a host answered 429 or 503; `retryAfter` is its header. */
  quiet(host: string, retryAfter: string | null): void {
    const seconds = Number(retryAfter ?? Number.NaN);
    const until = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(retryAfter ?? '') - Date.now();
    const pause = Number.isFinite(until) ? Math.max(0, until) : 2000;
    const entry = this.#entry(host);
    entry.quietUntil = Math.max(entry.quietUntil, this.#now() + Math.min(pause, LONGEST_PAUSE));
  }

  #entry(host: string): Host {
    const known = this.#hosts.get(host);
    if (known) return known;
    if (this.#hosts.size >= MAX_HOSTS) {
      const now = this.#now();
      for (const [name, { running, quietUntil }] of this.#hosts) {
        if (running === 0 && quietUntil < now) this.#hosts.delete(name);
      }
    }
    const entry: Host = { running: 0, waiting: [], quietUntil: 0 };
    this.#hosts.set(host, entry);
    return entry;
  }

  async #enter(entry: Host, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (entry.running < MAX_PER_HOST) {
      entry.running += 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    entry.waiting.push(resolve);
    try {
      await abortable(promise, signal);
    } catch (error) {
      const place = entry.waiting.indexOf(resolve);
      if (place >= 0) entry.waiting.splice(place, 1);
      else {
        // The place was handed over in the same moment.
        const next = entry.waiting.shift();
        if (next) next();
        else entry.running -= 1;
      }
      throw error;
    }
  }
}
