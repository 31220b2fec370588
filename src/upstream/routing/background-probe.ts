import type { ProviderTarget } from '../provider-target.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';

/** A probe begins so long before requests would be let through, in milliseconds: they need not be the probe then. */
const AHEAD_MS = 250;
/** What answers later than this is not back, in milliseconds. */
const LIMIT_MS = 2000;

/**
 * Looks beside the traffic whether a provider is back whose route is left out: a cheap `GET /models` where requests
 * were turned away from it, so that none of them has to find out. What answers at all, with whatever but a fault of its
 * own, is tried by the next request; what does not is left out again. One at a time; nothing runs where nobody asks.
 */
export class BackgroundProbe implements Disposable {
  readonly #breaker: CircuitBreaker;
  readonly #ended = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #runs = false;

  constructor(breaker: CircuitBreaker) {
    this.#breaker = breaker;
  }

  /** A request was sent elsewhere because the route is left out. */
  wanted(target: ProviderTarget): void {
    if (this.#timer !== undefined || this.#runs || !this.#is('open') || this.#ended.signal.aborted) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        void this.#probe(target);
      },
      Math.max(0, this.#breaker.retryInMs - AHEAD_MS),
    );
    this.#timer.unref();
  }

  async #probe(target: ProviderTarget): Promise<void> {
    if (!this.#is('open')) return;
    this.#runs = true;
    this.#breaker.begin();
    const isBack = await answers(target, this.#ended.signal).catch(() => false);
    this.#runs = false;
    // A request may have found out meanwhile.
    if (this.#is('probing')) this.#breaker.end(isBack ? 'unknown' : 'unhealthy');
  }

  #is(state: CircuitBreaker['state']): boolean {
    return this.#breaker.state === state;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#ended.abort(new Error('the provider is no longer used'));
  }
}

function answers(target: ProviderTarget, signal: AbortSignal): Promise<boolean> {
  return target.call<boolean>(
    { method: 'GET', path: '/models', api: 'models', headers: { accept: 'application/json' }, body: null },
    {
      receiver: ({ status }, control) => {
        const isBack = status < 500 && status !== 408 && status !== 429;
        control.finish(isBack);
        return { data: () => {}, end: () => isBack, broken: () => isBack };
      },
      unanswered: () => false,
      patience: LIMIT_MS,
      signal,
    },
  );
}
