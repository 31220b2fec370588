import type { Logger } from '../base/logger.ts';
import type { AskOptions } from './ask-route.ts';
import { AttemptFailure } from './attempt-failure.ts';
import type { BackoffPolicy } from './backoff.ts';
import type { Route } from './routes.ts';
import { noUsage, TurnError, type TurnFailureKind, type TurnUsage } from './turn.ts';
import { addUsage } from './usage.ts';

export interface TurnTriesOptions {
  modelName: string;
  routes: () => Route[];
  log: Logger;
  backoff: BackoffPolicy;
  penalties: Map<string, number>;
}

/** The attempts of one turn: which routes are left, what was spent, and how it failed in the end. */
export class TurnTries {
  readonly #options: TurnTriesOptions;
  /** Routes that will not be asked again in this turn. */
  readonly #given = new Set<string>();
  /** The last failure of each route, in the order of the attempts. */
  readonly #failures = new Map<string, { route: Route; failure: AttemptFailure }>();
  #spent: TurnUsage = noUsage();

  constructor(options: TurnTriesOptions) {
    this.#options = options;
  }

  /** Tokens spent on attempts that failed. */
  get spent(): TurnUsage {
    return this.#spent;
  }

  /**
   * The routes to ask in a round, best first: routes that broke a stream in this run come after those that did not;
   * routes that are broken or told us to wait are left out where another one is left.
   */
  *candidates(round: number): Generator<Route> {
    const routes = this.#left(round);
    const ready = routes.filter(isReady);
    for (const route of ready.length > 0 ? ready : routes) {
      const pause = route.provider.limiter(route.credential).pauseMs;
      if (pause <= this.#options.backoff.patienceMs) yield route;
      else if (!this.#failures.has(routeId(route)))
        this.#failures.set(routeId(route), { route, failure: stillLimited(pause) });
    }
  }

  /** What an attempt needs to know of the turn. */
  ask(route: Route, signal: AbortSignal): AskOptions {
    return {
      spent: this.#spent,
      signal,
      onLesson: (failure) => this.#log(route, failure, 'asking in another way after'),
    };
  }

  failed(route: Route, failure: AttemptFailure, details: { round: number; started: boolean }): void {
    const id = routeId(route);
    this.#failures.delete(id);
    this.#failures.set(id, { route, failure });
    if (failure.advice === 'elsewhere') this.#given.add(id);
    if (failure.usage && !details.started) this.#spent = addUsage(this.#spent, failure.usage);
    if (details.started) this.#options.penalties.set(id, (this.#options.penalties.get(id) ?? 0) + 1);
    this.#log(route, failure, `attempt ${details.round + 1} failed${details.started ? ' after it began' : ''}:`);
  }

  /** Milliseconds to wait before a further round, or undefined where none is left or the wait would be too long. */
  pauseBefore(round: number, backoff: (round: number) => number): number | undefined {
    const left = this.#left(round);
    if (left.length === 0) return undefined;
    const asked = left.map((route) => this.#failures.get(routeId(route))?.failure.retryAfterMs ?? 0);
    const pause = Math.max(Math.min(...asked), backoff(round));
    return Math.min(...asked) > this.#options.backoff.patienceMs ? undefined : pause;
  }

  /** The turn failed before anything was delivered: what its routes said, together. */
  error(): TurnError {
    const failures = [...this.#failures.values()];
    const last = failures.at(-1);
    if (!last) {
      return new TurnError('failed', `The model ${this.#options.modelName} has no usable route.`, { started: false });
    }
    const waits = failures.map(({ failure }) => failure.retryAfterMs).filter((wait) => wait !== undefined);
    return new TurnError(jointKind(failures.map(({ failure }) => failure.kind)), describe(last.route, last.failure), {
      started: false,
      usage: this.#spent,
      retryAfterMs: waits.length > 0 ? Math.min(...waits) : undefined,
    });
  }

  /** The turn failed after parts were delivered. */
  brokenTurn(route: Route, failure: AttemptFailure): TurnError {
    const usage = failure.usage ? addUsage(this.#spent, failure.usage) : this.#spent;
    const { kind, retryAfterMs } = failure;
    return new TurnError(kind, describe(route, failure), { started: true, usage, retryAfterMs });
  }

  #log(route: Route, failure: AttemptFailure, what: string): void {
    const { kind, status } = failure;
    const where = { model: this.#options.modelName, provider: route.provider.name, upstream_model: route.model };
    this.#options.log.warn({ ...where, kind, status }, `provider ${route.provider.name}: ${what} ${failure.message}`);
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

function describe(route: Route, failure: AttemptFailure): string {
  return `Provider ${route.provider.name} failed: ${failure.message}`;
}

/** What several routes' failures are together: of one kind where all agree, a misfit request where any said so. */
function jointKind(kinds: readonly TurnFailureKind[]): TurnFailureKind {
  if (kinds.includes('context_length')) return 'context_length';
  const [first] = kinds;
  return first !== undefined && kinds.every((kind) => kind === first) ? first : 'failed';
}
