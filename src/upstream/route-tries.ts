import { sleep } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { AttemptFailure } from './attempt-failure.ts';
import { type BackoffPolicy, backoffMs } from './backoff.ts';
import type { Route } from './routes.ts';

/** What is told of every attempt, for metrics. */
export interface AttemptReport {
  provider: string;
  /** The provider's name of the model. */
  upstreamModel: string;
  /** The model's name at the gateway. */
  model: string;
  /** `left`: the client was gone first. Otherwise the kind of the failure. */
  outcome: 'ok' | 'left' | AttemptFailure['kind'];
  status: number | undefined;
  durationMs: number;
}

export interface RouteTriesOptions {
  modelName: string;
  /** The routes in order of preference, asked for at each round: a reload may change them. */
  routes: () => Route[];
  log: Logger;
  clock: Clock;
  random: () => number;
  backoff: BackoffPolicy;
  /** Streams broken so far, by route; shared by the turns of a run. */
  penalties: Map<string, number>;
  observe: (report: AttemptReport) => void;
}

/** One attempt at one route, under the limiter and the circuit breaker. Report one outcome. */
export interface RouteAttempt {
  readonly route: Route;
  succeeded(): void;
  /** `delivered`: something reached the client before the failure, so that the route is avoided for now. */
  failed(failure: AttemptFailure, details: { delivered: boolean }): void;
}

export interface FailedRoute {
  route: Route;
  failure: AttemptFailure;
}

/**
 * The attempts of one request over its routes, in rounds: each usable route once in order, then a pause, then again,
 * as often as the providers' `max_retries` allow. So another provider is asked before the same one is asked again.
 */
export class RouteTries {
  readonly #options: RouteTriesOptions;
  /** Routes that will not be asked again. */
  readonly #given = new Set<string>();
  readonly #failures = new Map<string, FailedRoute>();
  #over = false;

  constructor(options: RouteTriesOptions) {
    this.#options = options;
  }

  /** The last failure of each route, in the order of the attempts. */
  get failures(): FailedRoute[] {
    return [...this.#failures.values()];
  }

  /**
   * Gives attempts until one succeeds, delivers something, or none is left. Each is over when the next is asked for
   * or the iteration ends. @throws the signal's reason after an abort, also during a pause.
   */
  async *attempts(options: { signal: AbortSignal }): AsyncGenerator<RouteAttempt, void, undefined> {
    const { backoff, random } = this.#options;
    for (let round = 0; ; round += 1) {
      options.signal.throwIfAborted();
      for (const route of this.#candidates(round)) {
        const attempt = await this.#begin(route, { ...options, round });
        try {
          yield attempt;
        } finally {
          attempt.end();
        }
        if (this.#over) return;
      }
      const pause = this.#pauseBefore(round + 1, backoffMs(backoff, round + 1, random));
      if (pause === undefined) return;
      await sleep(pause, options);
    }
  }

  async #begin(route: Route, options: { signal: AbortSignal; round: number }): Promise<RouteAttempt & { end(): void }> {
    const { provider, model, credential } = route;
    const limiter = provider.limiter(credential);
    const use = provider.use();
    let slot: Disposable;
    try {
      slot = await limiter.enter(options);
    } catch (error) {
      use[Symbol.dispose]();
      throw error;
    }
    const breaker = provider.breaker(model);
    const startedAt = this.#options.clock.now();
    let outcome: 'ok' | AttemptFailure | undefined;
    breaker.begin();
    return {
      route,
      succeeded: () => {
        outcome = 'ok';
        this.#over = true;
      },
      failed: (failure, { delivered }) => {
        outcome = failure;
        this.#failed(route, failure, { delivered, round: options.round });
      },
      end: () => {
        this.#report(route, outcome, startedAt);
        if (outcome === 'ok') limiter.succeeded();
        else if (outcome?.kind === 'rate_limit') limiter.limited(outcome.retryAfterMs);
        breaker.end(outcome === 'ok' ? 'healthy' : outcome?.unhealthy ? 'unhealthy' : 'unknown');
        slot[Symbol.dispose]();
        use[Symbol.dispose]();
      },
    };
  }

  #failed(route: Route, failure: AttemptFailure, details: { delivered: boolean; round: number }): void {
    const { modelName, penalties, log } = this.#options;
    const id = routeId(route);
    this.#failures.delete(id);
    this.#failures.set(id, { route, failure });
    if (failure.advice === 'elsewhere') this.#given.add(id);
    if (details.delivered) penalties.set(id, (penalties.get(id) ?? 0) + 1);
    if (details.delivered || failure.advice === 'never') this.#over = true;
    const { kind, status } = failure;
    const where = { model: modelName, provider: route.provider.name, upstream_model: route.model };
    const when = details.delivered ? 'broke off' : `failed at attempt ${details.round + 1}`;
    log.warn({ ...where, kind, status }, `provider ${route.provider.name} ${when}: ${failure.message}`);
  }

  #report(route: Route, outcome: 'ok' | AttemptFailure | undefined, startedAt: number): void {
    this.#options.observe({
      provider: route.provider.name,
      upstreamModel: route.model,
      model: this.#options.modelName,
      outcome: outcome === 'ok' ? 'ok' : (outcome?.kind ?? 'left'),
      status: outcome === 'ok' ? undefined : outcome?.status,
      durationMs: this.#options.clock.now() - startedAt,
    });
  }

  /**
   * The routes of a round, best first: those that broke a stream come after those that did not. Those that keep
   * failing or told us to wait are asked only when no other one is left.
   */
  *#candidates(round: number): Generator<Route> {
    const routes = this.#left(round);
    const ready = routes.filter(isReady);
    yield* ready;
    if (this.#left(round + 1).some(isReady)) return;
    for (const route of routes) {
      if (ready.includes(route)) continue;
      const pause = route.provider.limiter(route.credential).pauseMs;
      const id = routeId(route);
      if (pause <= this.#options.backoff.patienceMs) yield route;
      else if (!this.#failures.has(id)) this.#failures.set(id, { route, failure: stillLimited(pause) });
    }
  }

  /** Milliseconds to wait before a further round, or undefined where no route is left or the wait would be too long. */
  #pauseBefore(round: number, backoff: number): number | undefined {
    const left = this.#left(round);
    if (left.length === 0) return undefined;
    const asked = Math.min(...left.map((route) => this.#failures.get(routeId(route))?.failure.retryAfterMs ?? 0));
    return asked > this.#options.backoff.patienceMs ? undefined : Math.max(asked, backoff);
  }

  #left(round: number): Route[] {
    const { penalties } = this.#options;
    return this.#options
      .routes()
      .filter((route) => !this.#given.has(routeId(route)) && round <= route.provider.config.max_retries)
      .sort((a, b) => (penalties.get(routeId(a)) ?? 0) - (penalties.get(routeId(b)) ?? 0));
  }
}

function routeId(route: Route): string {
  return `${route.provider.name}\n${route.model}`;
}

/** The failure of a route that was not even asked, because its provider told us to wait for long. */
function stillLimited(pauseMs: number): AttemptFailure {
  return new AttemptFailure('it limits our rate', { kind: 'rate_limit', advice: 'again', retryAfterMs: pauseMs });
}

function isReady({ provider, model, credential }: Route): boolean {
  return provider.breaker(model).allows && provider.limiter(credential).pauseMs === 0;
}
