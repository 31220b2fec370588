import type { ProviderTarget } from '../provider-target.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';

/** How long before the circuit would let a request through the probe starts, in milliseconds: no request has to probe. */
const AHEAD_MS = 250;
/** A provider that takes longer to answer counts as away, in milliseconds. */
const TIMEOUT_MS = 2000;

/**
 * Checks whether a provider with an open circuit is back, with a cheap `GET /models`, so that no request has to find out.
 * After any answer that is no fault of the provider's own, the next request tries the route; otherwise the circuit opens
 * again. One probe runs at a time, and only after a request avoided the route.
 */
export class BackgroundProbe implements Disposable {
  readonly #breaker: CircuitBreaker;
  readonly #ended = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(breaker: CircuitBreaker) {
    this.#breaker = breaker;
  }

  /** Plans a probe, after a request avoided the route. */
  schedule(target: ProviderTarget): void {
    if (this.#timer !== undefined || this.#isRunning || !this.#is('open') || this.#ended.signal.aborted) return;
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
    this.#isRunning = true;
    this.#breaker.begin();
    const isBack = await answers(target, this.#ended.signal).catch(() => false);
    this.#isRunning = false;
    // A request may have settled the state meanwhile.
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
      patience: TIMEOUT_MS,
      signal,
    },
  );
}
