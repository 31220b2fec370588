import { sleep } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { isOvertaken } from '../../base/hedge.ts';
import type { Logger } from '../../base/logger.ts';
import { type OpenSpan, startSpan } from '../../base/telemetry/spans.ts';
import type { RouteName } from '../turn.ts';
import { AttemptFailure } from './attempt-failure.ts';
import { type BackoffPolicy, backoffMs } from './backoff.ts';
import type { Route } from './routes.ts';

/** One route asked once, under its limiter and circuit breaker. Report one outcome. */
export interface Attempt {
  readonly route: Route;
  /** Whether another route could be asked at once: then this one need not be waited for as long. */
  readonly hasAlternative: boolean;
  /** Its span: requests that are sent in it carry its trace. */
  readonly span: OpenSpan;
  succeeded(): void;
  /** `delivered`: something reached the client before the failure, so that the route is avoided for now. */
  failed(failure: AttemptFailure, details: { delivered: boolean }): void;
}

export interface AttemptReport {
  provider: string;
  upstreamModel: string;
  /** The model's name at the gateway. */
  model: string;
  /** `left`: the client was gone first. Otherwise the kind of the failure. */
  outcome: 'ok' | 'left' | AttemptFailure['kind'];
  status: number | undefined;
  durationMs: number;
  /** It opened the circuit of its route: requests are kept away from there for a while. */
  opened: boolean;
}

export interface AttemptsOptions {
  modelName: string;
  /** The routes in order of preference, asked for at each round: a reload may change them. */
  routes: () => Route[];
  log: Logger;
  clock: Clock;
  random: () => number;
  backoff: BackoffPolicy;
  /** Streams broken so far, by route; shared by the turns of a run. Later turns ask those last. Absent: nobody remembers. */
  penalties?: Map<string, number>;
  observe: (report: AttemptReport) => void;
  /** See `AttemptsQuery`. */
  attended?: boolean;
  /** The route that is asked first among those that are well. */
  warm?: RouteName | undefined;
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

type Outcome = 'ok' | AttemptFailure;

/** An attempt under way. */
interface OpenAttempt extends Attempt {
  startedAt: number;
  /** Undefined while there is none, and where the client left first. */
  outcome: Outcome | undefined;
}

/** What a request knows of one of its routes. */
interface RouteRecord {
  tries: number;
  /** It will not be asked again. */
  givenUp: boolean;
  repeated: boolean;
  asking: boolean;
}

/**
 * The attempts of one request over its routes, in rounds: each usable route once in order, then a pause, then again,
 * as often as the providers' `max_retries` allow. So another provider is asked before the same one is asked again, but
 * for one quick repetition after a fault that passes (500, 502, 503) or a short `Retry-After`.
 *
 * Several walks may go on beside each other: what one of them is asking the others leave alone.
 */
export class Attempts {
  readonly #options: AttemptsOptions;
  readonly #records = new Map<string, RouteRecord>();
  readonly #failures = new Map<string, FailedRoute>();
  #isOver = false;
  /** The attempt that began last. */
  #latest: OpenAttempt | undefined;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** The last failure of each route, in the order of the attempts. */
  get failures(): FailedRoute[] {
    return [...this.#failures.values()];
  }

  /** Whether there is a route that nobody asks now and that could be asked at once. */
  get hasAnother(): boolean {
    return !this.#isOver && this.#options.routes().length > 1 && this.#left().some(isReady);
  }

  /**
   * Gives attempts until one succeeds, delivers something, or none is left. The caller reports on one before it asks for the next.
   * @throws the signal's reason, also during a pause.
   */
  async *walk({ signal }: { signal: AbortSignal }): AsyncGenerator<Attempt, void, undefined> {
    const { backoff, random } = this.#options;
    for (let round = 0; ; round += 1) {
      for (const route of this.#candidates()) {
        let outcome = yield* this.#ask(route, { round, signal });
        while (this.#repeats(route, outcome)) {
          await sleep(QUICK_MS * (0.5 + random()), { signal });
          outcome = yield* this.#ask(route, { round, signal });
        }
        if (this.#isOver) return;
      }
      const pause = this.#pauseBefore(backoffMs(backoff, round + 1, random));
      if (pause === undefined) return;
      await sleep(pause, { signal });
    }
  }

  async *#ask(
    route: Route,
    { round, signal }: { round: number; signal: AbortSignal },
  ): AsyncGenerator<Attempt, Outcome | undefined, undefined> {
    signal.throwIfAborted();
    const { provider, credential } = route;
    const limiter = provider.limiter(credential);
    const record = this.#record(route);
    record.asking = true;
    provider.enter();
    try {
      using _place = await limiter.enter({ signal });
      record.tries += 1;
      const attempt = this.#begin(route, round);
      try {
        yield attempt;
        return attempt.outcome;
      } finally {
        this.#end(attempt, signal);
      }
    } finally {
      record.asking = false;
      provider.leave();
    }
  }

  #begin(route: Route, round: number): OpenAttempt {
    route.provider.breaker(route.model).begin();
    const attempt: OpenAttempt = {
      route,
      span: attemptSpan(route),
      hasAlternative: this.hasAnother,
      startedAt: this.#options.clock.now(),
      outcome: undefined,
      succeeded: () => {
        attempt.outcome = 'ok';
        this.#isOver = true;
      },
      failed: (failure, { delivered }) => {
        attempt.outcome = failure;
        this.#failed(route, failure, { delivered, round });
      },
    };
    this.#latest = attempt;
    return attempt;
  }

  /** Tells limiter and breaker how it went. */
  #end(attempt: OpenAttempt, signal: AbortSignal): void {
    const { route, outcome, startedAt } = attempt;
    const { provider, model, credential } = route;
    const failure = outcome === 'ok' ? undefined : outcome;
    // A route that is overtaken by one that was asked later, each time, is to be left out.
    const isTooSlow = outcome === undefined && isOvertaken(signal) && attempt !== this.#latest;
    endSpan(attempt.span, outcome);
    const breaker = provider.breaker(model);
    const wasOpen = breaker.state === 'open';
    breaker.end(outcome === 'ok' ? 'healthy' : failure?.unhealthy || isTooSlow ? 'unhealthy' : 'unknown');
    this.#options.observe({
      provider: provider.name,
      upstreamModel: model,
      model: this.#options.modelName,
      outcome: outcome === 'ok' ? 'ok' : (failure?.kind ?? 'left'),
      status: failure?.status,
      durationMs: this.#options.clock.now() - startedAt,
      opened: !wasOpen && breaker.retryInMs > 0,
    });
    const limiter = provider.limiter(credential);
    if (outcome === 'ok') limiter.succeeded();
    else if (failure?.kind === 'rate_limit' && failure.advice !== 'never') limiter.limited(failure.retryAfterMs);
  }

  #failed(route: Route, failure: AttemptFailure, details: { delivered: boolean; round: number }): void {
    const { modelName, penalties, log } = this.#options;
    const id = routeId(route);
    this.#failures.delete(id);
    this.#failures.set(id, { route, failure });
    if (this.#isGivenUp(route, failure)) this.#record(route).givenUp = true;
    if (failure.kind === 'context_length') this.#giveUpSmaller(route);
    if (details.delivered) penalties?.set(id, (penalties.get(id) ?? 0) + 1);
    if (details.delivered || failure.advice === 'never') this.#isOver = true;
    const { kind, status } = failure;
    const where = { model: modelName, provider: route.provider.name, upstream_model: route.model };
    const when = details.delivered ? 'broke off' : `failed in round ${details.round + 1}`;
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
      if (route.contextLength !== undefined && route.contextLength <= contextLength) this.#record(route).givenUp = true;
    }
  }

  /** Whether a route is asked once more before the next one. */
  #repeats(route: Route, outcome: Outcome | undefined): boolean {
    if (this.#isOver || !outcome || outcome === 'ok' || !this.#mayRepeat(route, outcome)) return false;
    this.#record(route).repeated = true;
    return true;
  }

  #mayRepeat(route: Route, { advice, kind, status, retryAfterMs }: AttemptFailure): boolean {
    if (advice !== 'again' || this.#record(route).repeated || !this.#hasTries(route)) return false;
    if (kind === 'rate_limit') return retryAfterMs !== undefined && retryAfterMs <= SHORT_WAIT_MS;
    return kind === 'failed' && TRANSIENT.has(status ?? 0) && (retryAfterMs ?? 0) <= SHORT_WAIT_MS;
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
      else this.#failures.getOrInsertComputed(id, () => ({ route, failure: stillLimited(pause) }));
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
    const left = this.#options.routes().filter((route) => this.#mayAsk(route));
    if (left.length < 2) return left;
    const penalty = (route: Route) => penalties?.get(routeId(route)) ?? 0;
    const isWarm = (route: Route) => Number(route.provider.name === warm?.provider && route.model === warm.model);
    return left.sort((a, b) => penalty(a) - penalty(b) || isWarm(b) - isWarm(a));
  }

  #mayAsk(route: Route): boolean {
    if (this.#records.size === 0) return true;
    const record = this.#records.get(routeId(route));
    return !record || (!record.givenUp && !record.asking && this.#hasTries(route));
  }

  #hasTries(route: Route): boolean {
    return this.#record(route).tries <= route.provider.config.max_retries;
  }

  #record(route: Route): RouteRecord {
    return this.#records.getOrInsertComputed(routeId(route), newRecord);
  }
}

function newRecord(): RouteRecord {
  return { tries: 0, givenUp: false, repeated: false, asking: false };
}

/** The provider is named by the operator, the model by the provider. */
function attemptSpan({ provider, model }: Route): OpenSpan {
  const attributes = { 'gen_ai.provider.name': provider.name, 'gen_ai.request.model': model };
  const span = startSpan({ name: `attempt ${provider.name}`, kind: 'client', attributes });
  if (span.isRecorded) span.set({ 'server.address': new URL(provider.config.base_url).hostname });
  return span;
}

function endSpan(span: OpenSpan, outcome: Outcome | undefined): void {
  if (outcome instanceof AttemptFailure) {
    if (outcome.status !== undefined) span.set({ 'http.response.status_code': outcome.status });
    span.fail(outcome.kind);
  }
  span.set({ 'research_gateway.outcome': outcome === undefined ? 'left' : outcome === 'ok' ? 'ok' : 'failed' });
  span.end();
}

/** The same after a reload. */
function routeId({ provider, model }: Route): string {
  return `${provider.name}\n${model}`;
}

/** The failure of a route that was not even asked, because its provider told us to wait for long. */
function stillLimited(pauseMs: number): AttemptFailure {
  return new AttemptFailure('it limits our rate', { kind: 'rate_limit', advice: 'again', retryAfterMs: pauseMs });
}

function isReady({ provider, model, credential }: Route): boolean {
  return provider.breaker(model).allows && provider.limiter(credential).pauseMs === 0;
}
