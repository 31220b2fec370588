import type { Clock } from '../../base/clock.ts';
import type { RemoteProviderConfig } from '../../config/schema.ts';
import { startingTraits } from '../dialects/dialects.ts';
import type { RequestTraits } from '../dialects/requests/traits.ts';
import { ProviderTarget, WHOLE_ANSWER_FACTOR } from '../provider-target.ts';
import { ConnectionPool } from '../transport/connection-pool.ts';
import { BackgroundProbe } from './background-probe.ts';
import { type BreakerPolicy, CircuitBreaker } from './circuit-breaker.ts';
import type { FailoverRules } from './failover-rules.ts';
import { FirstTokenTimes } from './first-token-times.ts';
import { type LimiterPolicy, RateLimiter } from './rate-limiter.ts';

/** How many models and credentials of one provider are remembered; the oldest is forgotten first. */
const MAX_REMEMBERED = 512;

export interface ProviderOptions {
  clock: Clock;
  breaker?: BreakerPolicy | undefined;
  limiter?: LimiterPolicy | undefined;
  /** Called with how long each stream took to its first token, in milliseconds. */
  onFirstToken?: ((ms: number) => void) | undefined;
}

/** A provider's state as operators see it. */
export interface ProviderState {
  name: string;
  /** False while the circuits of all its models that were used are open. */
  usable: boolean;
  /** Calls in progress. */
  running: number;
  /** The longest time that a call still has to wait after a rate limit, in milliseconds. */
  pausedMs: number;
  /** `circuit`: `probing`, too, from when the next request may try the route. `skipped`: no request may. */
  models: { model: string; circuit: CircuitBreaker['state']; skipped: boolean; retryInMs: number }[];
}

/**
 * A configured provider while it is in use: its connection pool, its health, and what was learned about it. A provider
 * whose configuration changed is retired: its running calls continue, and the last one closes the pool.
 */
export class Provider implements AsyncDisposable {
  readonly name: string;
  /** As configured, with the current secrets filled in. */
  config: RemoteProviderConfig;
  readonly pool: ConnectionPool;
  readonly #options: ProviderOptions;
  readonly #breakers = new Map<string, CircuitBreaker>();
  readonly #probes = new Map<string, BackgroundProbe>();
  /** By the failover rules of a model (by this provider where it has none), then by credential. */
  #targets = new WeakMap<object, Map<string | undefined, ProviderTarget>>();
  /** By model and credential. */
  readonly #limiters = new Map<string, RateLimiter>();
  readonly #traits = new Map<string, RequestTraits>();
  readonly #firstTokens = new Map<string, FirstTokenTimes>();
  #users = 0;
  #onUnused: (() => void) | undefined;

  constructor(name: string, config: RemoteProviderConfig, options: ProviderOptions) {
    this.name = name;
    this.config = config;
    this.#options = options;
    this.pool = new ConnectionPool({ connections: config.max_connections, connectMs: config.timeouts.connect });
  }

  breaker(model: string): CircuitBreaker {
    return getOrCreate(this.#breakers, model, () => new CircuitBreaker(this.#options.clock, this.#options.breaker));
  }

  /** Checks in the background whether the provider is back, after a request avoided one of its models. */
  scheduleProbe(model: string, credential: string | undefined): void {
    getOrCreate(this.#probes, model, () => new BackgroundProbe(this.breaker(model))).schedule(this.target(credential));
  }

  /** The health of the provider and of the models that were used, for operators. */
  get state(): ProviderState {
    const limiters = [...this.#limiters.values()];
    const breakers = [...this.#breakers.values()];
    return {
      name: this.name,
      usable: breakers.length === 0 || breakers.some((breaker) => breaker.allows),
      running: limiters.reduce((sum, { running }) => sum + running, 0),
      pausedMs: Math.max(0, ...limiters.map(({ pauseMs }) => pauseMs)),
      models: [...this.#breakers].map(([model, { state, allows, retryInMs }]) => ({
        model,
        circuit: state === 'open' && allows ? 'probing' : state,
        skipped: !allows,
        retryInMs,
      })),
    };
  }

  /** The provider under this credential. `rules`: those of the requested model, the same object each time. */
  target(credential: string | undefined, rules?: FailoverRules): ProviderTarget {
    const targets = this.#targets.getOrInsertComputed(rules ?? this, () => new Map());
    return getOrCreate(targets, credential, () => new ProviderTarget(this, credential, rules));
  }

  /** The limiter shared by everybody who uses this model under this credential: most providers limit each model by itself. */
  limiter(model: string, credential: string | undefined): RateLimiter {
    const key = `${credential === this.config.api_key ? '' : credential}\n${model}`;
    return getOrCreate(this.#limiters, key, () => new RateLimiter(this.#options.clock, this.#options.limiter));
  }

  /** How long one of the provider's models takes to its first token, or to the whole answer where it does not stream. */
  firstTokens(model: string, { streamed }: { streamed: boolean }): FirstTokenTimes {
    const make = () => new FirstTokenTimes(streamed ? this.#options.onFirstToken : undefined);
    return getOrCreate(this.#firstTokens, `${streamed ? 'streamed' : 'whole'} ${model}`, make);
  }

  /** How long to wait for a model's first token while another route could be tried, in milliseconds. */
  patience(model: string, { streamed, bytes }: { streamed: boolean; bytes: number }): number {
    const { first_byte, first_token = first_byte, patience } = this.config.timeouts;
    const factor = streamed ? 1 : WHOLE_ANSWER_FACTOR;
    const limits = { base: patience * factor, max: Math.max(first_byte * factor, first_token), bytes };
    return this.firstTokens(model, { streamed }).patience(limits);
  }

  /** What is known of how one of the provider's models wants its requests. */
  traits(model: string): RequestTraits {
    return getOrCreate(this.#traits, model, () => startingTraits(this.config, model));
  }

  /** Takes new secrets. Running calls end with the old ones; health, traits and rate limits are carried over. */
  updateSecrets(config: RemoteProviderConfig): void {
    this.config = config;
    this.#targets = new WeakMap();
  }

  /** Keeps the pool open until `release`, even if the provider is retired meanwhile. */
  acquire(): void {
    this.#users += 1;
  }

  /** Once for each `acquire`. */
  release(): void {
    this.#users -= 1;
    this.#closeIfUnused();
  }

  /** Closes the pool once nobody uses it, then calls `onClosed`. */
  retire(onClosed: () => void): void {
    this.#onUnused = onClosed;
    this.#stopProbes();
    this.#closeIfUnused();
  }

  /** Closes every connection at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopProbes();
    await this.pool[Symbol.asyncDispose]();
  }

  #stopProbes(): void {
    for (const probe of this.#probes.values()) probe[Symbol.dispose]();
  }

  #closeIfUnused(): void {
    const onUnused = this.#onUnused;
    if (!onUnused || this.#users > 0) return;
    this.#onUnused = undefined;
    void this.pool.close().then(onUnused, onUnused);
  }
}

function getOrCreate<K, T>(map: Map<K, T>, key: K, make: () => T): T {
  const existing = map.get(key);
  if (existing) return existing;
  const oldest = map.keys().next();
  if (map.size >= MAX_REMEMBERED && !oldest.done) map.delete(oldest.value);
  const created = make();
  map.set(key, created);
  return created;
}
