import { hash } from 'node:crypto';
import type { KeyConfig, ModelConfig, RouteConfig } from '../../config/schema.ts';
import { lacksSecret } from '../credentials/refreshed-secrets.ts';
import { type FailoverRules, rulesOf } from './failover-rules.ts';
import type { Provider } from './provider.ts';

/** One (provider, upstream model) pair with the credential that this caller uses there. */
export interface Route {
  provider: Provider;
  /** The provider's name of the model. */
  model: string;
  credential: string | undefined;
  /** Tokens that it reads at most, where the configuration says so. */
  contextLength?: number | undefined;
  price?: RouteConfig['price'];
  /** Of the model that is asked for. */
  rules?: FailoverRules | undefined;
}

type Providers = ReadonlyMap<string, Provider>;

export interface RouteQuery {
  modelName: string;
  model: ModelConfig;
  /** The caller's key: its own routing and credentials win. */
  key?: KeyConfig | undefined;
  /** Other routes than the model's (the reader of huge pages). */
  routes?: readonly RouteConfig[] | undefined;
}

/**
 * The routes of a caller in order of preference. Providers that a reload removed are left out, and those that wait for
 * the first secret of their source. `draw`, from 0 up to 1, decides which of several routes that share their load comes
 * first.
 */
export function routesOf(query: RouteQuery, { providers, draw }: { providers: Providers; draw: number }): Route[] {
  const { key } = query;
  const configured = query.routes ?? own(key?.routes, query.modelName) ?? query.model.routes;
  return usableRoutes(inOrder(configured, draw), { key, providers, rules: rulesOf(query.model) });
}

/** Who asks, for those that keep to one of several routes. */
export interface DrawQuery extends Pick<RouteQuery, 'key' | 'model'> {
  /** The run that asks, also for log lines. */
  runId?: string | undefined;
  /** Names the conversation that the request belongs to, if it does. Called only where that is of interest. */
  conversation?: (() => string | undefined) | undefined;
}

/**
 * What decides among routes that share their load: the same for a user or a conversation where the model says so, and for
 * a run, whose provider remembers what it has read; else chance.
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

/** By priority; of the best ones that share their load those with a weight come first, in an order that is drawn by it. */
export function inOrder(configured: readonly RouteConfig[], draw: number): readonly RouteConfig[] {
  if (configured.every(({ priority, weight }) => priority === undefined && weight === undefined)) return configured;
  const sorted = configured.toSorted((a, b) => (a.priority ?? 1) - (b.priority ?? 1));
  const best = sorted.filter(({ priority = 1 }) => priority === (sorted[0]?.priority ?? 1));
  if (best.every(({ weight }) => weight === undefined)) return sorted;
  const drawn = drawnByWeight(best, draw);
  return [...drawn, ...sorted.filter((route) => !drawn.includes(route))];
}

/** What one leaves undone is shared among the others as all of it is: each place is drawn among those that are left. */
function drawnByWeight(routes: readonly RouteConfig[], draw: number): RouteConfig[] {
  const left = routes.filter(({ weight = 1 }) => weight > 0);
  const drawn: RouteConfig[] = [];
  let part = draw;
  while (left.length > 0) {
    let point = part * left.reduce((sum, { weight = 1 }) => sum + weight, 0);
    const found = left.findIndex(({ weight = 1 }) => {
      point -= weight;
      return point < 0;
    });
    const [route] = left.splice(found, 1);
    if (!route) break;
    drawn.push(route);
    // Where in its share the draw fell decides among the others.
    part = 1 + point / (route.weight ?? 1);
  }
  return drawn;
}

/** Configured routes to providers that are there, with the credentials of a key or of the configuration. */
export function usableRoutes(
  configured: readonly RouteConfig[],
  { key, providers, rules }: Pick<RouteQuery, 'key'> & Pick<Route, 'rules'> & { providers: Providers },
): Route[] {
  const routes: Route[] = [];
  for (const { provider: name, model, context_length: contextLength, price } of configured) {
    const provider = providers.get(name);
    if (!provider) continue;
    const credential = own(key?.provider_keys, name) ?? provider.config.api_key;
    if (credential === undefined && lacksSecret(provider.config)) continue;
    routes.push({ provider, model, credential, contextLength, price, rules });
  }
  return routes;
}

function own<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record && Object.hasOwn(record, key) ? record[key] : undefined;
}
