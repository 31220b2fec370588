import type { Clock } from '../../base/clock.ts';
import type { RemoteProviderConfig } from '../../config/schema.ts';
import { startingTraits } from '../dialects/dialects.ts';
import type { RequestTraits } from '../dialects/requests/traits.ts';
import { ProviderTarget, WHOLE } from '../provider-target.ts';
import { ConnectionPool } from '../transport/connection-pool.ts';
import { BackgroundProbe } from './background-probe.ts';
import { type BreakerPolicy, CircuitBreaker } from './circuit-breaker.ts';
import type { FailoverRules } from './failover-rules.ts';
import { FirstTokenTimes } from './first-token-times.ts';
import { type LimiterPolicy, RateLimiter } from './rate-limiter.ts';

/** Models and credentials of one provider that are remembered at most; the oldest is forgotten first. */
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
  /** Exchanges under way. */
  running: number;
  /** Milliseconds that the provider asked to wait, of the credential that waits longest. */
  pausedMs: number;
  models: { model: string; circuit: CircuitBreaker['state']; retryInMs: number }[];
}

/**
 * A configured provider while it is in use: its connection pool, its health, and what was learned about it. A provider
 * whose configuration changed is retired: what runs on it goes on, and the last one out closes the pool.
 */
export class Provider implements AsyncDisposable {
  readonly name: string;
  /** As configured, with the secrets of now in their places. */
  config: RemoteProviderConfig;
  readonly pool: ConnectionPool;
  readonly #options: ProviderOptions;
  readonly #breakers = new Map<string, CircuitBreaker>();
  readonly #probes = new Map<string, BackgroundProbe>();
  /** By the rules that a model has, else by the provider itself, and then by credential. */
  #targets = new WeakMap<object, Map<string | undefined, ProviderTarget>>();
  readonly #limiters = new Map<string | undefined, RateLimiter>();
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

  /** The health of one of the provider's models. */
  breaker(model: string): CircuitBreaker {
    return remembered(this.#breakers, model, () => new CircuitBreaker(this.#options.clock, this.#options.breaker));
  }

  /** A request for a model went elsewhere because the model is left out: it is looked whether the provider is back. */
  wanted(model: string, credential: string | undefined): void {
    remembered(this.#probes, model, () => new BackgroundProbe(this.breaker(model))).wanted(this.target(credential));
  }

  /** How it stands with the provider and its models that were used, for operators. */
  get state(): ProviderState {
    const limiters = [...this.#limiters.values()];
    const breakers = [...this.#breakers.values()];
    return {
      name: this.name,
      usable: breakers.length === 0 || breakers.some((breaker) => breaker.allows),
      running: limiters.reduce((sum, { running }) => sum + running, 0),
      pausedMs: Math.max(0, ...limiters.map(({ pauseMs }) => pauseMs)),
      models: [...this.#breakers].map(([model, { state, retryInMs }]) => ({ model, circuit: state, retryInMs })),
    };
  }

  /** The provider under this credential. `rules`: of the model that is asked for, the same object each time. */
  target(credential: string | undefined, rules?: FailoverRules): ProviderTarget {
    const targets = this.#targets.getOrInsertComputed(rules ?? this, () => new Map());
    return remembered(targets, credential, () => new ProviderTarget(this, credential, rules));
  }

  /** The limiter shared by everybody who uses this credential. */
  limiter(credential: string | undefined): RateLimiter {
    return remembered(this.#limiters, credential, () => new RateLimiter(this.#options.clock, this.#options.limiter));
  }

  /** How long one of the provider's models takes to its first token; of answers that come whole, to all of it. */
  firstTokens(model: string, { streamed }: { streamed: boolean }): FirstTokenTimes {
    const make = () => new FirstTokenTimes(streamed ? this.#options.onFirstToken : undefined);
    return remembered(this.#firstTokens, `${streamed ? 'streamed' : 'whole'} ${model}`, make);
  }

  /** How long the first token of a model is waited for while another route could be asked, in milliseconds. */
  patience(model: string, { streamed, bytes }: { streamed: boolean; bytes: number }): number {
    const { first_byte, first_token = first_byte, patience } = this.config.timeouts;
    const longer = streamed ? 1 : WHOLE;
    const limits = { base: patience * longer, most: Math.max(first_byte * longer, first_token), bytes };
    return this.firstTokens(model, { streamed }).patience(limits);
  }

  /** What one of the provider's models is known to want its requests to look like. */
  traits(model: string): RequestTraits {
    return remembered(this.#traits, model, () => startingTraits(this.config, model));
  }

  /** Takes new secrets. Calls under way end on the old ones; what is known of the provider and its limits stays. */
  renew(config: RemoteProviderConfig): void {
    const { api_key: before } = this.config;
    this.config = config;
    this.#targets = new WeakMap();
    const limiter = this.#limiters.get(before);
    if (limiter === undefined || before === config.api_key) return;
    this.#limiters.delete(before);
    this.#limiters.set(config.api_key, limiter);
  }

  /** Keeps the pool open until `leave`, also if the provider is retired meanwhile. */
  enter(): void {
    this.#users += 1;
  }

  /** Once for each `enter`. */
  leave(): void {
    this.#users -= 1;
    this.#closeIfUnused();
  }

  /** Closes the pool once nobody uses it, and tells. */
  retire(onClosed: () => void): void {
    this.#onUnused = onClosed;
    this.#endProbes();
    this.#closeIfUnused();
  }

  /** Closes every connection at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#endProbes();
    await this.pool[Symbol.asyncDispose]();
  }

  #endProbes(): void {
    for (const probe of this.#probes.values()) probe[Symbol.dispose]();
  }

  #closeIfUnused(): void {
    const onUnused = this.#onUnused;
    if (!onUnused || this.#users > 0) return;
    this.#onUnused = undefined;
    void this.pool.close().then(onUnused, onUnused);
  }
}

function remembered<K, T>(map: Map<K, T>, key: K, make: () => T): T {
  const known = map.get(key);
  if (known) return known;
  const oldest = map.keys().next();
  if (map.size >= MAX_REMEMBERED && !oldest.done) map.delete(oldest.value);
  const made = make();
  map.set(key, made);
  return made;
}
