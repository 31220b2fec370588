import { withoutQuery } from '../base/text.ts';
import type { GatewayConfig, KeyConfig, ModelConfig, RouteConfig } from '../config/schema.ts';
import type { Explanation } from '../protocol/operating/explanation.ts';
import { inOrder } from '../upstream/routing/routes.ts';

/** What a key gets when it requests a model: routes, credentials, limits, tools. Contains no secrets. */
export function explainKeyModel(
  config: GatewayConfig,
  { key, name, model }: { key: KeyConfig; name: string; model: ModelConfig },
): Explanation {
  const keyRoutes = Object.hasOwn(key.routes, name) ? key.routes[name] : undefined;
  return {
    object: 'explanation',
    key: key.id,
    user: key.user ?? key.id,
    team: key.team ?? null,
    model: name,
    kind: model.kind,
    allowed: key.models === undefined || key.models.includes(name),
    models: key.models ?? null,
    apis: [...model.apis],
    routes_of: keyRoutes ? 'key' : 'model',
    routes: inOrder(keyRoutes ?? model.routes, 0).map((route) => routeOf(config, { key, route })),
    tools: model.kind === 'research' ? toolsOf(config, model) : null,
    limits: [...limitsOf(key), ...limitsOf(key.team === undefined ? undefined : config.teams[key.team], 'team ')],
    expires_at: key.expires_at ?? null,
    allow_from: key.allow_from ?? null,
    may: [
      ...(key.mcp_servers ? ['bring MCP servers of its own'] : []),
      ...(key.admin ? ['operate the gateway: all of /admin'] : []),
      ...(key.passthrough === 'all' ? ['use every passed-through path'] : key.passthrough.map((path) => `use ${path}`)),
    ],
    webhook: key.webhook ? new URL(key.webhook.url).host : null,
  };
}

function routeOf(config: GatewayConfig, query: { key: KeyConfig; route: RouteConfig }): Explanation['routes'][number] {
  const { provider: name, model, price, weight, priority } = query.route;
  const provider = config.providers[name];
  const isBuiltin = !provider || 'builtin' in provider;
  return {
    provider: name,
    model,
    // The query of a URL may hold a credential.
    url: isBuiltin ? null : withoutQuery(provider.base_url),
    wire: isBuiltin ? null : provider.wire,
    credential: credentialOf(config, query),
    price: price ? { input: price.input, output: price.output } : null,
    weight: weight ?? null,
    priority: priority ?? null,
  };
}

function limitsOf(holder: Pick<KeyConfig, 'limits'> | undefined, prefix = ''): Explanation['limits'] {
  const entries = Object.entries(holder?.limits ?? {});
  return entries.flatMap(([name, value]) => (value === undefined ? [] : [{ name: prefix + name, value }]));
}

function credentialOf(config: GatewayConfig, { key, route }: { key: KeyConfig; route: RouteConfig }): string {
  if (Object.hasOwn(key.provider_keys, route.provider)) return "credential of the key's provider_keys";
  const provider = config.providers[route.provider];
  if (!provider || 'builtin' in provider) return 'no credential';
  if (provider.api_key !== undefined) return "credential of the provider's api_key";
  const [secret] = provider.refreshed ?? [];
  if (secret) return `credential that a ${secret.source.kind} gives, in the provider's ${secret.header ?? 'api_key'}`;
  return Object.keys(provider.headers).length > 0 ? "credential, if any, in the provider's headers" : 'no credential';
}

function toolsOf({ tools }: GatewayConfig, model: Extract<ModelConfig, { kind: 'research' }>): string[] {
  const search = model.research.tools.includes('web_search') ? [`web_search by ${tools.web_search.provider}`] : [];
  const others = model.research.tools.filter((tool) => tool !== 'web_search');
  return [...search, ...others, ...tools.mcp_servers.map(({ name }) => `MCP server ${name}`)];
}
