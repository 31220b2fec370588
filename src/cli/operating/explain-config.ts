import type { Environment } from '../../config/environment.ts';
import type { GatewayConfig, KeyConfig, ModelConfig, RouteConfig } from '../../config/schema.ts';
import { inOrder } from '../../upstream/routing/routes.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { loadOrExplain } from '../serve.ts';
import type { Terminal } from '../terminal.ts';

/** Says what a key gets when it asks for a model: routes, credentials, limits, tools. Nothing of it is secret. */
export async function explainConfig(
  options: { file?: string | undefined; key: string; model: string },
  { environment, terminal }: { environment: Environment; terminal: Terminal },
): Promise<ExitCode> {
  const loaded = await loadOrExplain({ environment, file: options.file }, terminal);
  if (loaded === undefined) return EXIT.usage;
  const { config } = loaded;
  const key = config.keys.find(({ id }) => id === options.key);
  const model = Object.hasOwn(config.models, options.model) ? config.models[options.model] : undefined;
  if (!key)
    return misuse(
      terminal,
      `there is no key ${options.key}`,
      config.keys.map(({ id }) => id),
    );
  if (!model) return misuse(terminal, `there is no model ${options.model}`, Object.keys(config.models));
  const lines = [...linesOfModel(config, { key, model, name: options.model }), ...linesOfKey(key)];
  terminal.out(`${lines.join('\n')}\n`);
  return EXIT.completed;
}

function misuse(terminal: Terminal, what: string, known: readonly string[]): ExitCode {
  const more = known.length > SHOWN ? `, and ${known.length - SHOWN} more` : '';
  terminal.err(`error: ${what}; there are: ${known.slice(0, SHOWN).join(', ')}${more}\n`);
  return EXIT.usage;
}

const SHOWN = 20;

type Asked = { key: KeyConfig; model: ModelConfig; name: string };

function linesOfModel(config: GatewayConfig, { key, model, name }: Asked): string[] {
  const isAllowed = key.models === undefined || key.models.includes(name);
  const own = Object.hasOwn(key.routes, name) ? key.routes[name] : undefined;
  const routes = inOrder(own ?? model.routes, 0).map(
    (route, at) => `  ${at + 1}. ${lineOfRoute(config, { key, route })}`,
  );
  return [
    `model ${name} (${model.kind}), as the key ${key.id} sees it:`,
    isAllowed ? 'may be used' : `may NOT be used: models of the key names ${key.models?.join(', ') || 'none'}`,
    `answers: ${model.apis.join(', ')}`,
    `routes, in the order in which they are asked (${own ? 'of the key' : 'of the model'}):`,
    ...routes,
    ...(model.kind === 'research' ? [`tools: ${toolsOf(config, model).join(', ') || 'none'}`] : []),
  ];
}

function lineOfRoute(config: GatewayConfig, { key, route }: { key: KeyConfig; route: RouteConfig }): string {
  const provider = config.providers[route.provider];
  const where = !provider || 'builtin' in provider ? 'built in' : `${provider.base_url}, wire ${provider.wire}`;
  const share = route.weight === undefined ? '' : `, weight ${route.weight}`;
  const rank = route.priority === undefined ? '' : `, priority ${route.priority}`;
  const price = route.price ? `${route.price.input} in, ${route.price.output} out a million tokens` : 'without a price';
  return `${route.provider}: ${route.model} (${where}; ${credentialOf(config, { key, route })}; ${price}${rank}${share})`;
}

function credentialOf(config: GatewayConfig, { key, route }: { key: KeyConfig; route: RouteConfig }): string {
  if (Object.hasOwn(key.provider_keys, route.provider)) return "credential of the key's provider_keys";
  const provider = config.providers[route.provider];
  if (!provider || 'builtin' in provider) return 'no credential';
  if (provider.api_key !== undefined) return "credential of the provider's api_key";
  const [given] = provider.refreshed ?? [];
  if (given) return `credential that a ${given.source.kind} gives, in the provider's ${given.header ?? 'api_key'}`;
  return Object.keys(provider.headers).length > 0 ? "credential, if any, in the provider's headers" : 'no credential';
}

function toolsOf({ tools }: GatewayConfig, model: Extract<ModelConfig, { kind: 'research' }>): string[] {
  const search = model.research.tools.includes('web_search') ? [`web_search by ${tools.web_search.provider}`] : [];
  const others = model.research.tools.filter((tool) => tool !== 'web_search');
  return [...search, ...others, ...tools.mcp_servers.map(({ name }) => `MCP server ${name}`)];
}

function linesOfKey(key: KeyConfig): string[] {
  const limits = Object.entries(key.limits).map(([name, value]) => `${name} ${value}`);
  const may = [
    ...(key.mcp_servers ? ['bring MCP servers of its own'] : []),
    ...(key.admin ? ["read the operator's overview"] : []),
    ...(key.passthrough === 'all' ? ['use every passed-through path'] : key.passthrough.map((path) => `use ${path}`)),
  ];
  return [
    `limits of the key: ${limits.join(', ') || 'none'}`,
    `runs belong to the user ${key.user ?? key.id}`,
    `it may also: ${may.join(', ') || 'nothing'}`,
    ...(key.webhook ? [`the end of its background work is told to ${new URL(key.webhook.url).host}`] : []),
  ];
}
