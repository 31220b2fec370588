import type { KeyConfig, ModelConfig, RouteConfig } from '../../config/schema.ts';
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
}

export interface RouteQuery {
  /** The model's name at the gateway. */
  modelName: string;
  model: ModelConfig;
  /** The caller's key: its own routing and credentials win. */
  key?: KeyConfig | undefined;
  /** Other routes than the model's (the reader of huge pages). */
  routes?: readonly RouteConfig[] | undefined;
}

/** The routes of a caller in order of preference. Providers that a reload removed are left out. */
export function routesOf(query: RouteQuery, providers: ReadonlyMap<string, Provider>): Route[] {
  const { key } = query;
  return usableRoutes(query.routes ?? own(key?.routes, query.modelName) ?? query.model.routes, { key, providers });
}

/** Configured routes to providers that are there, with the credentials of a key or of the configuration. */
export function usableRoutes(
  configured: readonly RouteConfig[],
  { key, providers }: { key?: KeyConfig | undefined; providers: ReadonlyMap<string, Provider> },
): Route[] {
  const routes: Route[] = [];
  for (const { provider: name, model, context_length: contextLength, price } of configured) {
    const provider = providers.get(name);
    if (!provider) continue;
    const credential = own(key?.provider_keys, name) ?? provider.config.api_key;
    routes.push({ provider, model, credential, contextLength, price });
  }
  return routes;
}

function own<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return record && Object.hasOwn(record, key) ? record[key] : undefined;
}
