import { sleep } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { RouteName } from '../turn.ts';
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
  /** See `AttemptsQuery`. */
  attended?: boolean;
  /** The route that is asked first among those that are well. */
  warm?: RouteName | undefined;
}

/** One attempt at one route, under the limiter and the circuit breaker. Report one outcome. */
export interface RouteAttempt {
  readonly route: Route;
  /** Whether another route could be asked at once: then this one need not be waited for as long. */
  readonly hasAlternative: boolean;
  succeeded(): void;
  /** `delivered`: something reached the client before the failure, so that the route is avoided for now. */
  failed(failure: AttemptFailure, details: { delivered: boolean }): void;
}

export interface FailedRoute {
  route: Route;
  failure: AttemptFailure;
}

/** A wait that a provider asks for up to this is worth it before another one is asked, in milliseconds. */
const SHORT_WAIT_MS = 3000;
/** The pause before a route is asked again at once, in milliseconds. */
const QUICK_MS = 150;
/** Faults that are often gone with the next request. */
const TRANSIENT = new Set([500, 502, 503]);

/**
 * The attempts of one request over its routes, in rounds: each usable route once in order, then a pause, then again,
 * as often as the providers' `max_retries` allow. So another provider is asked before the same one is asked again, but
 * for one quick repetition after a fault that passes (500, 502, 503) or a short `Retry-After`.
 *
 * Several iterations may run beside each other: what one of them is asking the others leave alone.
 */
export class RouteTries {
  readonly #options: RouteTriesOptions;
  /** Routes that will not be asked again. */
  readonly #given = new Set<string>();
  readonly #failures = new Map<string, FailedRoute>();
  /** Attempts so far, by route. */
  readonly #tries = new Map<string, number>();
  readonly #repeated = new Set<string>();
  readonly #asking = new Set<string>();
  #over = false;

  constructor(options: RouteTriesOptions) {
    this.#options = options;
  }

  /** The last failure of each route, in the order of the attempts. */
  get failures(): FailedRoute[] {
    return [...this.#failures.values()];
  }

  /** Whether there is a route that nobody asks now and that could be asked at once. */
  get hasAnother(): boolean {
    return !this.#over && this.#options.routes().length > 1 && this.#left().some(isReady);
  }

  /**
   * Gives attempts until one succeeds, delivers something, or none is left. Each is over when the next is asked for
   * or the iteration ends. @throws the signal's reason after an abort, also during a pause.
   */
  async *attempts(options: { signal: AbortSignal }): AsyncGenerator<RouteAttempt, void, undefined> {
    const { backoff, random } = this.#options;
    for (let round = 0; ; round += 1) {
      options.signal.throwIfAborted();
      for (const route of this.#candidates()) {
        for (let repeat = true; repeat; ) {
          const attempt = await this.#begin(route, { ...options, round });
          try {
            yield attempt;
          } finally {
            attempt.end();
          }
          if (this.#over) return;
          repeat = this.#repeats(route, attempt.failure);
          if (repeat) await sleep(QUICK_MS * (0.5 + random()), options);
        }
      }
      const pause = this.#pauseBefore(backoffMs(backoff, round + 1, random));
      if (pause === undefined) return;
      await sleep(pause, options);
    }
  }

  async #begin(
    route: Route,
    options: { signal: AbortSignal; round: number },
  ): Promise<RouteAttempt & { failure: AttemptFailure | undefined; end(): void }> {
    const { provider, model, credential } = route;
    const id = routeId(route);
    const limiter = provider.limiter(credential);
    const use = provider.use();
    this.#asking.add(id);
    let slot: Disposable;
    try {
      slot = await limiter.enter(options);
    } catch (error) {
      this.#asking.delete(id);
      use[Symbol.dispose]();
      throw error;
    }
    const breaker = provider.breaker(model);
    const startedAt = this.#options.clock.now();
    let outcome: 'ok' | AttemptFailure | undefined;
    this.#tries.set(id, (this.#tries.get(id) ?? 0) + 1);
    breaker.begin();
    return {
      route,
      hasAlternative: this.hasAnother,
      get failure() {
        return outcome === 'ok' ? undefined : outcome;
      },
      succeeded: () => {
        outcome = 'ok';
        this.#over = true;
      },
      failed: (failure, { delivered }) => {
        outcome = failure;
        this.#failed(route, failure, { delivered, round: options.round });
      },
      end: () => {
        this.#asking.delete(id);
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
    if (this.#isGivenUp(route, failure)) this.#given.add(id);
    if (failure.kind === 'context_length') this.#giveUpSmaller(route);
    if (details.delivered) penalties.set(id, (penalties.get(id) ?? 0) + 1);
    if (details.delivered || failure.advice === 'never') this.#over = true;
    const { kind, status } = failure;
    const where = { model: modelName, provider: route.provider.name, upstream_model: route.model };
    const when = details.delivered ? 'broke off' : `failed at attempt ${details.round + 1}`;
    log.warn({ ...where, kind, status }, `provider ${route.provider.name} ${when}: ${failure.message}`);
  }

  /** A client waits better than we do where waiting is what it takes: the official SDKs do it by themselves. */
  #isGivenUp(route: Route, failure: AttemptFailure): boolean {
    if (failure.advice === 'elsewhere') return true;
    const waits = failure.kind === 'rate_limit' || failure.kind === 'timeout';
    return this.#options.attended === true && waits && !this.#mayRepeat(route, failure);
  }

  /** What does not fit one route does not fit one that reads no more. */
  #giveUpSmaller({ contextLength }: Route): void {
    if (contextLength === undefined) return;
    for (const route of this.#options.routes()) {
      if (route.contextLength !== undefined && route.contextLength <= contextLength) this.#given.add(routeId(route));
    }
  }

  /** Whether a route is asked once more before the next one. */
  #repeats(route: Route, failure: AttemptFailure | undefined): boolean {
    if (!failure || !this.#mayRepeat(route, failure)) return false;
    this.#repeated.add(routeId(route));
    return true;
  }

  #mayRepeat(route: Route, { advice, kind, status, retryAfterMs }: AttemptFailure): boolean {
    const id = routeId(route);
    if (advice !== 'again' || this.#repeated.has(id) || !this.#hasTries(route)) return false;
    if (kind === 'rate_limit') return retryAfterMs !== undefined && retryAfterMs <= SHORT_WAIT_MS;
    return kind === 'failed' && TRANSIENT.has(status ?? 0) && (retryAfterMs ?? 0) <= SHORT_WAIT_MS;
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
  *#candidates(): Generator<Route> {
    const routes = this.#left();
    const ready = routes.filter(isReady);
    for (const { provider, model, credential } of routes) {
      if (!provider.breaker(model).allows && ready.length > 0) provider.wanted(model, credential);
    }
    for (const route of ready) if (this.#mayAsk(route)) yield route;
    if (this.#left().some(isReady)) return;
    for (const route of routes) {
      if (ready.includes(route) || !this.#mayAsk(route)) continue;
      const pause = route.provider.limiter(route.credential).pauseMs;
      const id = routeId(route);
      if (pause <= this.#options.backoff.patienceMs) yield route;
      else if (!this.#failures.has(id)) this.#failures.set(id, { route, failure: stillLimited(pause) });
    }
  }

  /** Milliseconds to wait before a further round, or undefined where no route is left or the wait would be too long. */
  #pauseBefore(backoff: number): number | undefined {
    const left = this.#left();
    if (left.length === 0) return undefined;
    const asked = Math.min(...left.map((route) => this.#failures.get(routeId(route))?.failure.retryAfterMs ?? 0));
    return asked > this.#options.backoff.patienceMs ? undefined : Math.max(asked, backoff);
  }

  #left(): Route[] {
    const { penalties, warm } = this.#options;
    const isWarm = (route: Route) => Number(route.provider.name === warm?.provider && route.model === warm.model);
    return this.#options
      .routes()
      .filter((route) => this.#mayAsk(route))
      .sort((a, b) => (penalties.get(routeId(a)) ?? 0) - (penalties.get(routeId(b)) ?? 0) || isWarm(b) - isWarm(a));
  }

  #mayAsk(route: Route): boolean {
    const id = routeId(route);
    return !this.#given.has(id) && !this.#asking.has(id) && this.#hasTries(route);
  }

  #hasTries(route: Route): boolean {
    return (this.#tries.get(routeId(route)) ?? 0) <= route.provider.config.max_retries;
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
