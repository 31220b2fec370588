import { isDeepStrictEqual } from 'node:util';
import { type Clock, monotonicClock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { KeyConfig, ProviderConfig, RemoteProviderConfig, RouteConfig } from '../config/schema.ts';
import type { Warning } from '../protocol/warnings.ts';
import { type ChatModelOptions, createChatModel } from './chat-model.ts';
import { lacksSecret, type RefreshedSecrets } from './credentials/refreshed-secrets.ts';
import { askForEmbeddings, type EmbeddingsRequest } from './embeddings.ts';
import type { ProviderTarget } from './provider-target.ts';
import { type AttemptReport, Attempts } from './routing/attempts.ts';
import { type BackoffPolicy, DEFAULT_BACKOFF } from './routing/backoff.ts';
import type { BreakerPolicy } from './routing/circuit-breaker.ts';
import { Provider, type ProviderState } from './routing/provider.ts';
import type { LimiterPolicy } from './routing/rate-limiter.ts';
import { type DrawQuery, drawFor, type Route, type RouteQuery, routesOf, usableRoutes } from './routing/routes.ts';
import type { ChatModel } from './turn.ts';

export type { Attempt, AttemptReport, Attempts } from './routing/attempts.ts';
export type { BackoffPolicy } from './routing/backoff.ts';
export type { Route } from './routing/routes.ts';

export interface UpstreamOptions {
  log: Logger;
  /** Base URLs (with `/v1`) of the builtin providers by name; the composition root starts them. */
  builtins?: Readonly<Record<string, string>>;
  clock?: Clock;
  random?: () => number;
  backoff?: BackoffPolicy;
  breaker?: BreakerPolicy;
  limiter?: LimiterPolicy;
  /** The secrets that come from commands and files; needed where a provider has such. */
  secrets?: RefreshedSecrets;
  /** Called after every attempt at a provider, for metrics. */
  observe?: (report: AttemptReport) => void;
  /** Called with the time that a provider's stream took to its first token, in milliseconds. */
  observeFirstToken?: (provider: string, ms: number) => void;
}

export interface ChatModelQuery extends RouteQuery, DrawQuery {
  /** Called with each warning for the client of the run; a warning may come again with every turn. */
  onWarning?: ((warning: Warning) => void) | undefined;
  onUsage?: ChatModelOptions['onUsage'];
}

export interface AttemptsQuery extends ChatModelQuery {
  /** The pauses between rounds; those of research where absent. */
  backoff?: BackoffPolicy | undefined;
  /** The client is connected and can retry by itself, so long waits and timeouts are left to it. */
  clientCanRetry?: boolean;
}

/** Everything that talks to LLM providers. */
export interface Upstream extends AsyncDisposable {
  /** The model of one run, with the key's own routing and credentials. */
  chatModel(query: ChatModelQuery): ChatModel;
  /** The attempts of one request on a proxy model, over the same routes, limits and health as research uses. */
  attempts(query: AttemptsQuery): Attempts;
  /** The vectors of texts, under the operator's own credentials. @throws as `askForEmbeddings`. */
  embed(
    request: EmbeddingsRequest & { routes: readonly RouteConfig[] },
    options: { signal: AbortSignal },
  ): Promise<Float32Array[]>;
  /**
   * A provider under the credential that a key uses there; undefined where the provider is not configured.
   * @throws GatewayError `upstream_error` while the provider waits for its first credential.
   */
  target(provider: string, key: KeyConfig): ProviderTarget | undefined;
  states(): ProviderState[];
  /** Takes a new configuration; running turns end with the old one. @throws Error if it is unusable. */
  update(providers: Readonly<Record<string, ProviderConfig>>): void;
}

export function createUpstream(configs: Readonly<Record<string, ProviderConfig>>, options: UpstreamOptions): Upstream {
  const { log, clock = monotonicClock, random = Math.random, backoff = DEFAULT_BACKOFF } = options;
  const common = { log, clock, random, backoff, observe: options.observe ?? (() => {}) };
  const providers = new Map<string, Provider>();
  /** Providers that a reload replaced, until their running calls end. */
  const retired = new Set<Provider>();

  function update(next: Readonly<Record<string, ProviderConfig>>): void {
    const wanted = new Map(Object.entries(next).map(([name, config]) => [name, remoteConfig(name, config, options)]));
    const created = new Map<string, Provider>();
    for (const [name, config] of wanted) {
      if (isDeepStrictEqual(providers.get(name)?.config, config)) continue;
      const { breaker, limiter } = options;
      const onFirstToken = (ms: number) => options.observeFirstToken?.(name, ms);
      created.set(name, new Provider(name, config, { clock, onFirstToken, breaker, limiter }));
    }
    for (const [name, provider] of providers) {
      if (wanted.has(name) && !created.has(name)) continue;
      providers.delete(name);
      retired.add(provider);
      provider.retire(() => retired.delete(provider));
    }
    for (const [name, provider] of created) providers.set(name, provider);
  }

  function routesFor(query: ChatModelQuery): () => Route[] {
    const draw = drawFor(query, random);
    return () => routesOf(query, { providers, draw });
  }

  function modelOptions(query: ChatModelQuery): ChatModelOptions {
    return {
      modelName: query.modelName,
      routes: routesFor(query),
      ...common,
      log: query.runId === undefined ? log : log.child({ run: query.runId }),
      onWarning: query.onWarning,
      onUsage: query.onUsage,
      hedgeMs: query.model.hedge_after,
    };
  }

  update(configs);
  options.secrets?.onChange(() => {
    for (const provider of providers.values())
      provider.updateSecrets(options.secrets?.applied(provider.config) ?? provider.config);
  });
  return {
    update,
    chatModel: (query) => createChatModel(modelOptions(query)),
    attempts(query) {
      const { modelName, clientCanRetry = false } = query;
      const routes = routesFor(query);
      return new Attempts({ ...common, modelName, routes, backoff: query.backoff ?? backoff, clientCanRetry });
    },
    embed({ routes, ...request }, { signal }) {
      const attempts = new Attempts({
        modelName: 'embeddings',
        routes: () => usableRoutes(routes, { providers }),
        ...common,
      });
      return askForEmbeddings(request, { attempts, signal });
    },
    states: () => [...providers.values()].map(({ state }) => state),
    target(name, key) {
      const ownKey = Object.hasOwn(key.provider_keys, name) ? key.provider_keys[name] : undefined;
      const provider = providers.get(name);
      if (!provider) return undefined;
      const credential = ownKey ?? provider.config.api_key;
      if (credential !== undefined || !lacksSecret(provider.config)) return provider.target(credential);
      throw new GatewayError('upstream_error', `The provider ${name} waits for its credential.`, {
        retryAfterMs: 5000,
      });
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...providers.values(), ...retired].map((provider) => provider[Symbol.asyncDispose]()));
      providers.clear();
    },
  };
}

/** A route's provider under the credential that this caller uses there. */
export function targetOf({ provider, credential, rules }: Route): ProviderTarget {
  return provider.target(credential, rules);
}

/** A builtin provider becomes one like any other, at an address that only the composition root knows. */
function remoteConfig(name: string, config: ProviderConfig, options: UpstreamOptions): RemoteProviderConfig {
  if (!('builtin' in config)) return options.secrets?.applied(config) ?? config;
  const url = options.builtins?.[config.builtin];
  if (url === undefined) throw new Error(`providers.${name}: the builtin provider ${config.builtin} is not running`);
  return {
    base_url: url,
    wire: 'chat',
    headers: {},
    timeouts: { connect: 5000, first_byte: 120_000, idle: 60_000, patience: 30_000 },
    max_retries: 2,
    max_connections: 4096,
  };
}
