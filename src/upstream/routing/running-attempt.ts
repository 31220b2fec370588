import type { AttemptFailure } from './attempt-failure.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { Route } from './routes.ts';

/** One attempt at one route, under the limiter and the circuit breaker. Report one outcome. */
export interface RouteAttempt {
  readonly route: Route;
  /** Whether another route could be asked at once: then this one need not be waited for as long. */
  readonly hasAlternative: boolean;
  succeeded(): void;
  /** `delivered`: something reached the client before the failure, so that the route is avoided for now. */
  failed(failure: AttemptFailure, details: { delivered: boolean }): void;
}

export type AttemptOutcome = 'ok' | AttemptFailure;

export interface RunningAttemptOptions {
  route: Route;
  hasAlternative: boolean;
  limiter: RateLimiter;
  /** Of the limiter; it is freed at the end. */
  slot: Disposable;
  breaker: CircuitBreaker;
  /** Unix milliseconds. */
  startedAt: number;
  onOutcome(outcome: AttemptOutcome, details: { delivered: boolean }): void;
}

/** An attempt under way and what came of it. */
export class RunningAttempt implements RouteAttempt {
  readonly route: Route;
  readonly hasAlternative: boolean;
  readonly startedAt: number;
  readonly #options: RunningAttemptOptions;
  #outcome: AttemptOutcome | undefined;
  #isSlow = false;

  constructor(options: RunningAttemptOptions) {
    this.route = options.route;
    this.hasAlternative = options.hasAlternative;
    this.startedAt = options.startedAt;
    this.#options = options;
    options.breaker.begin();
  }

  /** Undefined while there is none, and where the client left first. */
  get outcome(): AttemptOutcome | undefined {
    return this.#outcome;
  }

  succeeded(): void {
    this.#settle('ok', { delivered: true });
  }

  failed(failure: AttemptFailure, details: { delivered: boolean }): void {
    this.#settle(failure, details);
  }

  /** Another route answered sooner, although it was asked later. A route to which that always happens is left out. */
  overtaken(): void {
    this.#isSlow = this.#outcome === undefined;
  }

  /** Tells limiter and breaker how it went, and frees the slot. To be called once. */
  end(): void {
    const { limiter, slot, breaker } = this.#options;
    const outcome = this.#outcome;
    if (outcome === 'ok') limiter.succeeded();
    else if (outcome?.kind === 'rate_limit') limiter.limited(outcome.retryAfterMs);
    breaker.end(outcome === 'ok' ? 'healthy' : outcome?.unhealthy || this.#isSlow ? 'unhealthy' : 'unknown');
    slot[Symbol.dispose]();
  }

  #settle(outcome: AttemptOutcome, details: { delivered: boolean }): void {
    this.#outcome = outcome;
    this.#options.onOutcome(outcome, details);
  }
}
