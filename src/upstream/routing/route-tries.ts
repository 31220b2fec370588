import { sleep } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { isOvertaken } from '../../base/hedge.ts';
import type { Logger } from '../../base/logger.ts';
import type { RouteName } from '../turn.ts';
import { AttemptFailure } from './attempt-failure.ts';
import { type BackoffPolicy, backoffMs } from './backoff.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { Route } from './routes.ts';
import { type RouteAttempt, RunningAttempt } from './running-attempt.ts';

export type { RouteAttempt } from './running-attempt.ts';

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
  /** Streams broken so far, by route; shared by the turns of a run. Absent: what breaks a stream is the last attempt. */
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

/** What a request knows of one of its routes. */
interface RouteRecord {
  /** Attempts so far. */
  tries: number;
  /** It will not be asked again. */
  given: boolean;
  repeated: boolean;
  asking: boolean;
}

/** What a walk does with the tries that it belongs to. */
interface Steps {
  next(walk: RouteWalk): RunningAttempt | undefined | Promise<RunningAttempt | undefined>;
  end(walk: RouteWalk): void;
}

/** Attempts one after the other. Each is over when the next is asked for or the walk is disposed. */
export class RouteWalk implements Disposable {
  readonly signal: AbortSignal;
  readonly #steps: Steps;
  round = 0;
  /** The routes of the round that were not asked yet. */
  candidates: Iterator<Route>;
  current: RunningAttempt | undefined;

  constructor(signal: AbortSignal, candidates: Iterator<Route>, steps: Steps) {
    this.signal = signal;
    this.candidates = candidates;
    this.#steps = steps;
  }

  /**
   * The next attempt, without a wait where nothing has to be waited for; undefined where none is left. @throws the
   * signal's reason after an abort, also during a pause.
   */
  next(): RouteAttempt | undefined | Promise<RouteAttempt | undefined> {
    return this.#steps.next(this);
  }

  [Symbol.dispose](): void {
    this.#steps.end(this);
  }
}

/**
 * The attempts of one request over its routes, in rounds: each usable route once in order, then a pause, then again,
 * as often as the providers' `max_retries` allow. So another provider is asked before the same one is asked again, but
 * for one quick repetition after a fault that passes (500, 502, 503) or a short `Retry-After`.
 *
 * Several walks may go on beside each other: what one of them is asking the others leave alone.
 */
export class RouteTries {
  readonly #options: RouteTriesOptions;
  readonly #records = new Map<string, RouteRecord>();
  /** In the order of the attempts. */
  readonly #failures = new Map<string, FailedRoute>();
  readonly #steps: Steps = { next: (walk) => this.#next(walk), end: (walk) => this.#end(walk) };
  #over = false;
  /** The attempt that began last. */
  #latest: RunningAttempt | undefined;

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

  /** Gives attempts until one succeeds, delivers something, or none is left. @throws as `RouteWalk.next`. */
  async *attempts(options: { signal: AbortSignal }): AsyncGenerator<RouteAttempt, void, undefined> {
    using walk = this.walk(options);
    for (let attempt = await walk.next(); attempt; attempt = await walk.next()) yield attempt;
  }

  /** The same without a generator: where most first attempts succeed, it is most of what they cost. */
  walk({ signal }: { signal: AbortSignal }): RouteWalk {
    return new RouteWalk(signal, this.#candidates(), this.#steps);
  }

  #next(walk: RouteWalk): RunningAttempt | undefined | Promise<RunningAttempt | undefined> {
    const last = walk.current;
    if (!last) return this.#nextOfRound(walk);
    this.#end(walk);
    if (this.#over) return undefined;
    return this.#repeats(last) ? this.#again(walk, last.route) : this.#nextOfRound(walk);
  }

  #nextOfRound(walk: RouteWalk): RunningAttempt | Promise<RunningAttempt | undefined> {
    walk.signal.throwIfAborted();
    const candidate = walk.candidates.next();
    return candidate.done ? this.#nextRound(walk) : this.#begin(walk, candidate.value);
  }

  async #nextRound(walk: RouteWalk): Promise<RunningAttempt | undefined> {
    const { backoff, random } = this.#options;
    const pause = this.#pauseBefore(backoffMs(backoff, walk.round + 1, random));
    if (pause === undefined) return undefined;
    await sleep(pause, walk);
    walk.round += 1;
    walk.candidates = this.#candidates();
    return await this.#nextOfRound(walk);
  }

  async #again(walk: RouteWalk, route: Route): Promise<RunningAttempt> {
    await sleep(QUICK_MS * (0.5 + this.#options.random()), walk);
    return await this.#begin(walk, route);
  }

  #begin(walk: RouteWalk, route: Route): RunningAttempt | Promise<RunningAttempt> {
    const limiter = route.provider.limiter(route.credential);
    this.#record(route).asking = true;
    route.provider.enter();
    const slot = limiter.tryEnter();
    return slot ? this.#started(walk, route, { limiter, slot }) : this.#whenFree(walk, route, limiter);
  }

  async #whenFree(walk: RouteWalk, route: Route, limiter: RateLimiter): Promise<RunningAttempt> {
    try {
      return this.#started(walk, route, { limiter, slot: await limiter.enter(walk) });
    } catch (error) {
      this.#record(route).asking = false;
      route.provider.leave();
      throw error;
    }
  }

  #started(walk: RouteWalk, route: Route, limited: { limiter: RateLimiter; slot: Disposable }): RunningAttempt {
    const { round } = walk;
    this.#record(route).tries += 1;
    const attempt = new RunningAttempt({
      route,
      hasAlternative: this.hasAnother,
      ...limited,
      breaker: route.provider.breaker(route.model),
      startedAt: this.#options.clock.now(),
      onOutcome: (outcome, { delivered }) => {
        if (outcome === 'ok') this.#over = true;
        else this.#failed(route, outcome, { delivered, round });
      },
    });
    walk.current = attempt;
    this.#latest = attempt;
    return attempt;
  }

  #end(walk: RouteWalk): void {
    const attempt = walk.current;
    if (!attempt) return;
    walk.current = undefined;
    this.#record(attempt.route).asking = false;
    // One that began later was faster: nobody waited for the end of this one, but it was too slow.
    if (isOvertaken(walk.signal) && attempt !== this.#latest) attempt.overtaken();
    this.#report(attempt);
    attempt.end();
    attempt.route.provider.leave();
  }

  #failed(route: Route, failure: AttemptFailure, details: { delivered: boolean; round: number }): void {
    const { modelName, penalties, log } = this.#options;
    const id = routeId(route);
    this.#failures.delete(id);
    this.#failures.set(id, { route, failure });
    if (this.#isGivenUp(route, failure)) this.#record(route).given = true;
    if (failure.kind === 'context_length') this.#giveUpSmaller(route);
    if (details.delivered) penalties?.set(id, (penalties.get(id) ?? 0) + 1);
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
      if (route.contextLength !== undefined && route.contextLength <= contextLength) this.#record(route).given = true;
    }
  }

  /** Whether a route is asked once more before the next one. */
  #repeats({ route, outcome }: RunningAttempt): boolean {
    if (!outcome || outcome === 'ok' || !this.#mayRepeat(route, outcome)) return false;
    this.#record(route).repeated = true;
    return true;
  }

  #mayRepeat(route: Route, { advice, kind, status, retryAfterMs }: AttemptFailure): boolean {
    if (advice !== 'again' || this.#record(route).repeated || !this.#hasTries(route)) return false;
    if (kind === 'rate_limit') return retryAfterMs !== undefined && retryAfterMs <= SHORT_WAIT_MS;
    return kind === 'failed' && TRANSIENT.has(status ?? 0) && (retryAfterMs ?? 0) <= SHORT_WAIT_MS;
  }

  #report({ route, outcome, startedAt }: RunningAttempt): void {
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
    const left = this.#options.routes().filter((route) => this.#mayAsk(route));
    if (left.length < 2) return left;
    const penalty = (route: Route) => penalties?.get(routeId(route)) ?? 0;
    const isWarm = (route: Route) => Number(route.provider.name === warm?.provider && route.model === warm.model);
    return left.sort((a, b) => penalty(a) - penalty(b) || isWarm(b) - isWarm(a));
  }

  #mayAsk(route: Route): boolean {
    const record = this.#records.get(routeId(route));
    return !record || (!record.given && !record.asking && this.#hasTries(route));
  }

  #hasTries(route: Route): boolean {
    return this.#record(route).tries <= route.provider.config.max_retries;
  }

  #record(route: Route): RouteRecord {
    const id = routeId(route);
    let record = this.#records.get(id);
    if (!record) {
      record = { tries: 0, given: false, repeated: false, asking: false };
      this.#records.set(id, record);
    }
    return record;
  }
}

function routeId(route: Route): string {
  return route.provider.routeId(route.model);
}

/** The failure of a route that was not even asked, because its provider told us to wait for long. */
function stillLimited(pauseMs: number): AttemptFailure {
  return new AttemptFailure('it limits our rate', { kind: 'rate_limit', advice: 'again', retryAfterMs: pauseMs });
}

function isReady({ provider, model, credential }: Route): boolean {
  return provider.breaker(model).allows && provider.limiter(credential).pauseMs === 0;
}
