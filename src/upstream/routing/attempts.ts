import { sleep } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { isOvertaken } from '../../base/hedge.ts';
import type { Logger } from '../../base/logger.ts';
import type { OpenSpan } from '../../base/telemetry/spans.ts';
import type { RouteName } from '../turn.ts';
import { AttemptFailure } from './attempt-failure.ts';
import { attemptSpan, endSpan } from './attempt-span.ts';
import { type BackoffPolicy, backoffMs } from './backoff.ts';
import type { SlotPatience } from './rate-limiter.ts';
import type { Route } from './routes.ts';

/** One attempt at one route, under its limiter and circuit breaker. The caller reports one outcome, which steers the walk. */
export interface Attempt {
  readonly route: Route;
  /** Whether another route could be tried at once: then a silent one is abandoned sooner. */
  readonly hasAlternative: boolean;
  /** Its span; requests sent inside it carry its trace. */
  readonly span: OpenSpan;
  /** The provider is asked: until then, the attempt waits for one of our own connections. */
  asked(): void;
  /** The route is healthy, and the walk is over. */
  succeeded(): void;
  /** The walk goes on if it can. `delivered`: output had reached the client, so it is over, and later turns avoid the route. */
  failed(failure: AttemptFailure, details: { delivered: boolean }): void;
}

export interface AttemptReport {
  provider: string;
  /** The model's name at the gateway. */
  model: string;
  /** `left`: the client disconnected first. */
  outcome: 'ok' | 'left' | AttemptFailure['kind'];
  status: number | undefined;
  durationMs: number;
  /** The attempt opened its route's circuit, which keeps requests away for a while. */
  opened: boolean;
}

export interface AttemptsOptions {
  modelName: string;
  /** The routes in order of preference, read anew in each round: a reload may change them. */
  routes: () => Route[];
  log: Logger;
  clock: Clock;
  random: () => number;
  backoff: BackoffPolicy;
  /** Broken streams by route, shared by the turns of a run: later turns try those routes last. Absent: not remembered. */
  penalties?: Map<string, number>;
  observe: (report: AttemptReport) => void;
  /** See `AttemptsQuery`. */
  clientCanRetry?: boolean;
  /** The route that is tried first among those with equal penalties. */
  warmRoute?: RouteName | undefined;
}

export interface FailedRoute {
  route: Route;
  failure: AttemptFailure;
}

/** Up to this `Retry-After`, waiting is better than trying another provider, in milliseconds. */
const SHORT_WAIT_MS = 3000;
/** The pause before the quick repetition of an attempt, in milliseconds. */
const QUICK_RETRY_MS = 150;
/** Statuses of faults that are often over by the next request. */
const TRANSIENT = new Set([500, 502, 503]);

type Outcome = 'ok' | AttemptFailure;

interface OpenAttempt extends Attempt {
  startedAt: number;
  /** When the provider was asked; infinite before that. */
  askedAt: number;
  /** Undefined until one is reported, and where the client disconnected first. */
  outcome: Outcome | undefined;
}

/** The attempts that a request made at one of its routes. */
interface RouteRecord {
  tries: number;
  /** This request does not try the route again. */
  isGivenUp: boolean;
  wasRepeated: boolean;
  inFlight: boolean;
  /** When its `Retry-After` is over, in Unix milliseconds; 0 if it named none. */
  notBefore: number;
}

/**
 * The attempts of one request over its routes, in rounds: each usable route once in order, then a pause, then again,
 * as often as the providers' `max_retries` allow. So another provider is tried before the same one again, except for one
 * quick repetition after a transient fault (500, 502, 503) or a short `Retry-After`.
 *
 * Several walks may run at once: a route that one of them is trying is skipped by the others.
 */
export class Attempts {
  readonly #options: AttemptsOptions;
  readonly #records = new Map<string, RouteRecord>();
  readonly #failures = new Map<string, FailedRoute>();
  #isOver = false;
  /** Those of the current round. */
  #routes: Route[];
  /** The attempt that began last. */
  #latest: OpenAttempt | undefined;

  constructor(options: AttemptsOptions) {
    this.#options = options;
    this.#routes = options.routes();
  }

  /** The last failure of each route, in the order of the attempts. */
  get failures(): FailedRoute[] {
    return [...this.#failures.values()];
  }

  /** Whether there is a route that no walk is trying and that could be tried at once. */
  get hasAnother(): boolean {
    return !this.#isOver && this.#routes.length > 1 && this.#remaining().some(isReady);
  }

  /**
   * Yields attempts until one succeeds, one delivers output, or no route is left. The caller reports the outcome of each
   * before it takes the next.
   * @throws the signal's reason, also during a pause.
   */
  async *walk({ signal }: { signal: AbortSignal }): AsyncGenerator<Attempt, void, undefined> {
    const { backoff, random } = this.#options;
    for (let round = 0; ; round += 1) {
      for (const route of this.#candidates()) {
        for (let again = true; again; ) {
          const place = await this.#enter(route, signal);
          if (!place) break;
          try {
            const attempt = this.#begin(route, round);
            try {
              yield attempt;
            } finally {
              this.#end(attempt, signal);
            }
            again = this.#shouldRepeat(route, attempt.outcome);
          } finally {
            place[Symbol.dispose]();
            this.#leave(route);
          }
          if (again) await sleep(QUICK_RETRY_MS * (0.5 + random()), { signal });
        }
        if (this.#isOver) return;
      }
      const pause = this.#pauseBefore(backoffMs(backoff, round + 1, random));
      if (pause === undefined) return;
      await sleep(pause, { signal });
      this.#routes = this.#options.routes();
    }
  }

  /** Waits for a place at the route; undefined if its provider asks for a longer wait than is worth it. */
  async #enter(route: Route, signal: AbortSignal): Promise<Disposable | undefined> {
    signal.throwIfAborted();
    const record = this.#record(route);
    record.inFlight = true;
    route.provider.acquire();
    let place: Disposable | undefined;
    try {
      place = await route.limiter.acquire(signal, () => this.#patience());
    } finally {
      if (!place) this.#leave(route);
    }
    if (place) record.tries += 1;
    else this.#failures.getOrInsertComputed(route.id, () => ({ route, failure: rateLimited(route) }));
    return place;
  }

  #leave(route: Route): void {
    this.#record(route).inFlight = false;
    route.provider.release();
  }

  /** Another route is better than a long wait, also one that pauses less. Without one, research waits; a client gets the answer. */
  #patience(): SlotPatience {
    if (this.hasAnother) return { pauseMs: SHORT_WAIT_MS, slotMs: 0, insists: false };
    const { patienceMs } = this.#options.backoff;
    const insists = this.#options.clientCanRetry === true;
    const pauses = this.#remaining().map((route) => route.limiter.pauseMs);
    const longest = Math.min(patienceMs, ...pauses.filter((ms) => ms > 0));
    return { pauseMs: Math.max(SHORT_WAIT_MS, longest), slotMs: longest, insists };
  }

  #begin(route: Route, round: number): OpenAttempt {
    route.breaker.begin();
    const attempt: OpenAttempt = {
      route,
      span: attemptSpan(route),
      hasAlternative: this.hasAnother,
      startedAt: this.#options.clock.now(),
      askedAt: Number.POSITIVE_INFINITY,
      outcome: undefined,
      asked: () => {
        attempt.askedAt = Math.min(attempt.askedAt, this.#options.clock.now());
      },
      succeeded: () => {
        attempt.outcome = 'ok';
        this.#isOver = true;
      },
      failed: (failure, { delivered }) => {
        attempt.outcome = failure;
        this.#recordFailure(route, failure, { delivered, round });
      },
    };
    this.#latest = attempt;
    return attempt;
  }

  /** Reports the outcome to limiter, breaker, span and metrics. */
  #end(attempt: OpenAttempt, signal: AbortSignal): void {
    const { route, outcome, startedAt, askedAt } = attempt;
    const { breaker, limiter, provider } = route;
    const failure = outcome === 'ok' ? undefined : outcome;
    // A route that is overtaken each time by one that was tried after its provider was asked counts as unhealthy.
    const wasAskedFirst = this.#latest !== undefined && attempt !== this.#latest && askedAt <= this.#latest.startedAt;
    const isTooSlow = outcome === undefined && isOvertaken(signal) && wasAskedFirst;
    endSpan(attempt.span, outcome);
    const wasOpen = breaker.state === 'open';
    breaker.end(outcome === 'ok' ? 'healthy' : failure?.unhealthy || isTooSlow ? 'unhealthy' : 'unknown');
    this.#options.observe({
      provider: provider.name,
      model: this.#options.modelName,
      outcome: outcome === 'ok' ? 'ok' : (failure?.kind ?? 'left'),
      status: failure?.status,
      durationMs: this.#options.clock.now() - startedAt,
      opened: !wasOpen && breaker.retryInMs > 0,
    });
    if (outcome === 'ok') limiter.succeeded();
    else if (failure?.kind === 'rate_limit' && failure.advice !== 'never')
      limiter.limited(failure.retryAfterMs, startedAt);
  }

  #recordFailure(route: Route, failure: AttemptFailure, details: { delivered: boolean; round: number }): void {
    const { modelName, penalties, log } = this.#options;
    const id = route.id;
    this.#failures.delete(id);
    this.#failures.set(id, { route, failure });
    const record = this.#record(route);
    record.notBefore = this.#options.clock.now() + (failure.retryAfterMs ?? 0);
    if (this.#givesUp(route, failure)) record.isGivenUp = true;
    // A limit per minute says nothing about the contexts of other routes.
    if (failure.kind === 'context_length' && !failure.codes.includes('rate_limit_exceeded')) this.#giveUpSmaller(route);
    if (details.delivered) penalties?.set(id, (penalties.get(id) ?? 0) + 1);
    if (details.delivered || failure.advice === 'never') this.#isOver = true;
    const { kind, status } = failure;
    const where = { model: modelName, provider: route.provider.name, upstream_model: route.model };
    const when = details.delivered ? 'broke off' : `failed in round ${details.round + 1}`;
    log.warn({ ...where, kind, status }, `provider ${route.provider.name} ${when}: ${failure.message}`);
  }

  /** Where only waiting helps, it is left to the client: the official SDKs wait and retry by themselves. */
  #givesUp(route: Route, failure: AttemptFailure): boolean {
    if (failure.advice === 'elsewhere') return true;
    const needsWait = failure.kind === 'rate_limit' || failure.kind === 'timeout';
    return this.#options.clientCanRetry === true && needsWait && !this.#mayRepeat(route, failure);
  }

  /** A request too long for one route is too long for those with the same or a smaller context. */
  #giveUpSmaller({ contextLength }: Route): void {
    if (contextLength === undefined) return;
    for (const route of this.#routes)
      if ((route.contextLength ?? Number.POSITIVE_INFINITY) <= contextLength) this.#record(route).isGivenUp = true;
  }

  /** Whether the route is tried once more before the next one. */
  #shouldRepeat(route: Route, outcome: Outcome | undefined): boolean {
    if (this.#isOver || !outcome || outcome === 'ok' || !this.#mayRepeat(route, outcome)) return false;
    this.#record(route).wasRepeated = true;
    return true;
  }

  #mayRepeat(route: Route, { advice, kind, status, retryAfterMs }: AttemptFailure): boolean {
    if (advice !== 'again' || this.#record(route).wasRepeated || !this.#hasTries(route)) return false;
    if (kind === 'rate_limit') return retryAfterMs !== undefined && retryAfterMs <= SHORT_WAIT_MS;
    return kind === 'failed' && TRANSIENT.has(status ?? 0) && (retryAfterMs ?? 0) <= SHORT_WAIT_MS;
  }

  /** The routes of a round, best first. Routes with an open circuit or a pause are tried only when no other is left. */
  *#candidates(): Generator<Route> {
    const routes = this.#remaining();
    const ready = routes.filter(isReady);
    for (const { provider, model, credential, breaker } of routes) {
      if (!breaker.allows && ready.length > 0) provider.scheduleProbe(model, credential);
    }
    for (const route of ready) if (this.#mayTry(route)) yield route;
    if (this.#remaining().some(isReady)) return;
    for (const route of routes) if (!ready.includes(route) && this.#mayTry(route)) yield route;
  }

  /** Milliseconds to wait before the next round, or undefined where no route is left or the wait would be too long. */
  #pauseBefore(backoff: number): number | undefined {
    const now = this.#options.clock.now();
    const waitFor = (route: Route) => Math.max(this.#record(route).notBefore - now, route.limiter.pauseMs);
    const wait = Math.min(...this.#remaining().map(waitFor));
    return wait > this.#options.backoff.patienceMs ? undefined : Math.max(wait, backoff);
  }

  /** The routes that may still be tried: those that broke fewer streams first, among equals the warm one. */
  #remaining(): Route[] {
    const { penalties, warmRoute } = this.#options;
    const routes = this.#routes.filter((route) => this.#mayTry(route));
    if (routes.length < 2) return routes;
    const penalty = (route: Route) => penalties?.get(route.id) ?? 0;
    const warmth = ({ provider, model }: Route) =>
      Number(provider.name === warmRoute?.provider && model === warmRoute.model);
    return routes.sort((a, b) => penalty(a) - penalty(b) || warmth(b) - warmth(a));
  }

  #mayTry(route: Route): boolean {
    const record = this.#records.get(route.id);
    return !record || (!record.isGivenUp && !record.inFlight && this.#hasTries(route));
  }

  #hasTries(route: Route): boolean {
    return this.#record(route).tries <= route.provider.config.max_retries;
  }

  #record(route: Route): RouteRecord {
    const fresh = () => ({ tries: 0, isGivenUp: false, wasRepeated: false, inFlight: false, notBefore: 0 });
    return this.#records.getOrInsertComputed(route.id, fresh);
  }
}

/** The failure of a route that is not tried at all, because its provider asked for a long wait. */
function rateLimited(route: Route): AttemptFailure {
  const retryAfterMs = route.limiter.pauseMs;
  return new AttemptFailure('it limits our rate', { kind: 'rate_limit', advice: 'again', retryAfterMs });
}

function isReady(route: Route): boolean {
  return route.breaker.allows && route.limiter.isFree;
}
