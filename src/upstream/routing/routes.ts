import { hash } from 'node:crypto';
import type { KeyConfig, ModelConfig, RouteConfig } from '../../config/schema.ts';
import { lacksSecret } from '../credentials/refreshed-secrets.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { type FailoverRules, rulesOf } from './failover-rules.ts';
import type { Provider } from './provider.ts';
import type { RateLimiter } from './rate-limiter.ts';

/** One (provider, upstream model) pair with the credential that this caller uses there. */
export interface Route {
  /** Stays the same over a reload. */
  id: string;
  provider: Provider;
  /** The provider's name of the model. */
  model: string;
  credential: string | undefined;
  /** Shared by all calls to the model there, as `limiter` is under one credential. */
  breaker: CircuitBreaker;
  limiter: RateLimiter;
  /** The size of the model's context in tokens, where the configuration gives it. */
  contextLength?: number | undefined;
  price?: RouteConfig['price'];
  /** The failover rules of the requested model. */
  rules?: FailoverRules | undefined;
}

type Providers = ReadonlyMap<string, Provider>;

export interface RouteQuery {
  modelName: string;
  model: ModelConfig;
  /** The caller's key, whose own routes and credentials win. */
  key?: KeyConfig | undefined;
  /** Replaces the model's routes (for the reader of huge pages). */
  routes?: readonly RouteConfig[] | undefined;
}

/**
 * The routes of a caller in order of preference, without providers that a reload removed or that still wait for their
 * first secret. `draw`, in [0, 1), decides which of several load-balanced routes comes first.
 */
export function routesOf(query: RouteQuery, { providers, draw }: { providers: Providers; draw: number }): Route[] {
  const { key } = query;
  const configured = query.routes ?? ownValue(key?.routes, query.modelName) ?? query.model.routes;
  return usableRoutes(inOrder(configured, draw), { key, providers, rules: rulesOf(query.model) });
}

/** Who makes the request, so that a user, conversation or run sticks to one of several routes. */
export interface DrawQuery extends Pick<RouteQuery, 'key' | 'model'> {
  /** The run that makes the request, also for log lines. */
  runId?: string | undefined;
  /** The conversation that the request belongs to, if any. Called only where the model is sticky by conversation. */
  conversation?: (() => string | undefined) | undefined;
}

/**
 * The draw that decides among load-balanced routes: constant for a user or a conversation where the model is sticky, and
 * for a run, whose provider caches its prompts; random otherwise.
 */
export function drawFor(query: DrawQuery, random: () => number): number {
  const name = stickyName(query) ?? query.runId;
  return name === undefined ? random() : hash('sha256', name, 'buffer').readUInt32BE() / 2 ** 32;
}

function stickyName({ key, model: { sticky }, conversation }: DrawQuery): string | undefined {
  if (sticky === undefined || !key) return undefined;
  const user = `user ${key.user ?? key.id}`;
  if (sticky === 'user') return user;
  const name = conversation?.();
  return name === undefined ? undefined : `${user} ${name}`;
}

/** Sorts routes by priority. Where the best ones have weights, those come first, in an order drawn by weight. */
export function inOrder(configured: readonly RouteConfig[], draw: number): readonly RouteConfig[] {
  if (configured.every(({ priority, weight }) => priority === undefined && weight === undefined)) return configured;
  const sorted = configured.toSorted((a, b) => (a.priority ?? 1) - (b.priority ?? 1));
  const best = sorted.filter(({ priority = 1 }) => priority === (sorted[0]?.priority ?? 1));
  if (best.every(({ weight }) => weight === undefined)) return sorted;
  const shuffled = shuffleByWeight(best, draw);
  return [...shuffled, ...sorted.filter((route) => !shuffled.includes(route))];
}

/** Draws each place among the routes that are left, so that the load of a failed one spreads by weight too. */
function shuffleByWeight(routes: readonly RouteConfig[], draw: number): RouteConfig[] {
  const remaining = routes.filter(({ weight = 1 }) => weight > 0);
  const shuffled: RouteConfig[] = [];
  let fraction = draw;
  while (remaining.length > 0) {
    let point = fraction * remaining.reduce((sum, { weight = 1 }) => sum + weight, 0);
    const index = remaining.findIndex(({ weight = 1 }) => {
      point -= weight;
      return point < 0;
    });
    const [route] = remaining.splice(index, 1);
    if (!route) break;
    shuffled.push(route);
    // Where in this route's share the draw fell decides among the others.
    fraction = 1 + point / (route.weight ?? 1);
  }
  return shuffled;
}

/** Configured routes whose provider exists and has its credential: the key's own, else the configured one. */
export function usableRoutes(
  configured: readonly RouteConfig[],
  { key, providers, rules }: Pick<RouteQuery, 'key'> & Pick<Route, 'rules'> & { providers: Providers },
): Route[] {
  const routes: Route[] = [];
  for (const { provider: name, model, context_length: contextLength, price } of configured) {
    const provider = providers.get(name);
    if (!provider) continue;
    const credential = ownValue(key?.provider_keys, name) ?? provider.config.api_key;
    if (credential === undefined && lacksSecret(provider.config)) continue;
    routes.push({ ...routeTo(provider, { model, credential }), contextLength, price, rules });
  }
  return routes;
}

/** The route to a model of a provider under a credential. */
export function routeTo(provider: Provider, { model, credential }: Pick<Route, 'model' | 'credential'>): Route {
  const [breaker, limiter] = [provider.breaker(model), provider.limiter(model, credential)];
  return { id: `${provider.name}\n${model}`, provider, model, credential, breaker, limiter };
}

function ownValue<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record && Object.hasOwn(record, key) ? record[key] : undefined;
}
