import { createHash } from 'node:crypto';
import { didYouMean } from '../base/nearest.ts';
import type { ConfigProblem } from './config-error.ts';
import { hasCredentialInQuery, unreplacedHeaders } from './credential-places.ts';
import type { GatewayConfig } from './schema.ts';
import { SEARCH_PROVIDERS, type SearchOption } from './search-providers.ts';
import { DEFAULT_SECRET, secretHash } from './secrets.ts';

/** A problem before its position in the file is known. */
export interface CrossCheckProblem extends Pick<ConfigProblem, 'message'> {
  path: PropertyKey[];
}

/** The sections that were valid by themselves; a missing one leaves out the rules that need it. */
export type Sections = { [Section in keyof GatewayConfig]?: GatewayConfig[Section] | undefined };

const BUILTIN_TOOLS = ['web_search', 'fetch_url_content', 'execute_python'];

/** The rules that tie sections together. */
export function crossCheck(sections: Sections): CrossCheckProblem[] {
  return [
    ...checkModels(sections),
    ...checkKeys(sections),
    ...checkOwnCredentials(sections),
    ...checkPassthrough(sections),
    ...checkPublicAddress(sections),
    ...checkPorts(sections),
    ...checkSearch(sections),
    ...checkMcpServers(sections),
  ];
}

function* checkModels({ models = {}, providers }: Sections): Iterable<CrossCheckProblem> {
  for (const [name, model] of Object.entries(models)) {
    yield* checkRoutes(model.routes, ['models', name, 'routes'], providers);
    if (model.kind !== 'research') continue;
    const { reader = [], tools } = model.research;
    yield* checkRoutes(reader, ['models', name, 'research', 'reader'], providers);
    for (const [index, tool] of tools.entries()) {
      if (BUILTIN_TOOLS.includes(tool)) continue;
      const there = didYouMean(tool, BUILTIN_TOOLS) ?? `there are ${BUILTIN_TOOLS.join(', ')}`;
      const message = `is not a built-in tool; ${there} (MCP servers are offered to every run)`;
      yield { path: ['models', name, 'research', 'tools', index], message };
    }
    if (model.max_completion_tokens >= model.context_length) {
      const message = 'must be smaller than context_length, which also has to hold the question and what was found';
      yield { path: ['models', name, 'max_completion_tokens'], message };
    }
  }
}

function* checkPassthrough({ passthrough, providers, keys = [] }: Sections): Iterable<CrossCheckProblem> {
  if (passthrough === undefined) return;
  for (const [index, { path, provider }] of passthrough.entries()) {
    const same = passthrough.findIndex((entry) => entry.path === path);
    if (same < index)
      yield { path: ['passthrough', index, 'path'], message: `is the path of passthrough[${same}] too` };
    if (providers === undefined || Object.hasOwn(providers, provider)) continue;
    yield { path: ['passthrough', index, 'provider'], message: unknownName('provider', provider, providers) };
  }
  for (const [index, key] of keys.entries()) {
    if (key.passthrough === 'all') continue;
    for (const [at, path] of key.passthrough.entries()) {
      if (passthrough.some((entry) => entry.path === path || entry.path.startsWith(`${path}/`))) continue;
      yield { path: ['keys', index, 'passthrough', at], message: 'is under no path of the top-level passthrough' };
    }
  }
}

function* checkRoutes(
  routes: readonly { provider: string }[],
  path: PropertyKey[],
  providers: Sections['providers'],
): Iterable<CrossCheckProblem> {
  if (providers === undefined) return;
  for (const [index, route] of routes.entries()) {
    if (Object.hasOwn(providers, route.provider)) continue;
    yield { path: [...path, index, 'provider'], message: unknownName('provider', route.provider, providers) };
  }
}

/** How many of the names that are configured are listed. */
const MOST_NAMES = 20;

function unknownName(what: string, name: string, known: object): string {
  const names = Object.keys(known);
  const listed = names.slice(0, MOST_NAMES).join(', ') + (names.length > MOST_NAMES ? ', ...' : '');
  const there = names.length === 0 ? 'none is configured' : `${listed} ${names.length === 1 ? 'is' : 'are'} configured`;
  return `names the unknown ${what} \`${name}\`; ${didYouMean(name, names) ?? there}`;
}

function* checkKeys({ keys = [], models, providers }: Sections): Iterable<CrossCheckProblem> {
  const ids = new Map<string, number>();
  const secrets = new Map<string, number>();
  for (const [index, key] of keys.entries()) {
    const sameId = ids.get(key.id);
    if (sameId !== undefined) yield { path: ['keys', index, 'id'], message: `is the id of keys[${sameId}] too` };
    ids.set(key.id, sameId ?? index);

    const hash = key.secret_sha256 ?? sha256(key.secret ?? '');
    const sameSecret = secrets.get(hash);
    const field = key.secret === undefined ? 'secret_sha256' : 'secret';
    if (sameSecret !== undefined) {
      yield {
        path: ['keys', index, field],
        message: `is the same as that of keys[${sameSecret}]: give each key its own`,
      };
    }
    secrets.set(hash, sameSecret ?? index);

    for (const [position, model] of (key.models ?? []).entries()) {
      if (models === undefined || Object.hasOwn(models, model)) continue;
      yield { path: ['keys', index, 'models', position], message: unknownName('model', model, models) };
    }
    for (const [model, routes] of Object.entries(key.routes)) {
      const path = ['keys', index, 'routes', model];
      if (models !== undefined && !Object.hasOwn(models, model)) {
        yield { path, message: unknownName('model', model, models) };
      }
      yield* checkRoutes(routes, path, providers);
    }
    for (const provider of Object.keys(key.provider_keys)) {
      if (providers === undefined || Object.hasOwn(providers, provider)) continue;
      yield { path: ['keys', index, 'provider_keys', provider], message: unknownName('provider', provider, providers) };
    }
  }
}

/** A key's own credential replaces the operator's wherever it stands: it has to be known where that is. */
function* checkOwnCredentials({ keys = [], providers = {} }: Sections): Iterable<CrossCheckProblem> {
  for (const [name, provider] of Object.entries(providers)) {
    const index = keys.findIndex((key) => Object.hasOwn(key.provider_keys, name));
    if (index === -1 || 'builtin' in provider) continue;
    const path = ['providers', name];
    const own = `keys[${index}].provider_keys.${name}`;
    if (hasCredentialInQuery(provider)) {
      const message = `holds a credential in its query, which ${own} would not replace: move it to api_key`;
      yield { path: [...path, 'base_url'], message };
    }
    const named = provider.api_key_header;
    for (const header of unreplacedHeaders(provider)) {
      const message =
        named === undefined
          ? `holds a credential, which ${own} would not replace: add \`api_key_header: ${header}\` to this provider`
          : `holds a credential that would go out beside ${own}, which stands in ${named} (api_key_header): remove it`;
      yield { path: [...path, 'headers', header], message };
    }
  }
}

function* checkPublicAddress({ server, keys = [] }: Sections): Iterable<CrossCheckProblem> {
  if (server === undefined || isLoopback(server.host)) return;
  for (const [index, key] of keys.entries()) {
    if (secretHash(key) !== secretHash({ secret: DEFAULT_SECRET })) continue;
    const message =
      `is the well-known key ${DEFAULT_SECRET}, refused on the public address ${server.host}: ` +
      'set GATEWAY_API_KEY (`research-gateway keys new` makes one), or listen on 127.0.0.1';
    yield { path: ['keys', index, key.secret === undefined ? 'secret_sha256' : 'secret'], message };
  }
}

/** Whether only this machine can reach a listening address. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

function* checkPorts({ server }: Sections): Iterable<CrossCheckProblem> {
  if (server === undefined || server.port === 0 || server.admin_port !== server.port) return;
  yield { path: ['server', 'admin_port'], message: 'must differ from port; leave it out to use one port for all' };
}

/** A search service needs its address or key, as its row says. The local search has a default folder. */
function* checkSearch({ tools, providers }: Sections): Iterable<CrossCheckProblem> {
  if (tools === undefined) return;
  const { web_search: search } = tools;
  const { routes = [] } = search.embeddings ?? {};
  yield* checkRoutes(routes, ['tools', 'web_search', 'embeddings', 'routes'], providers);
  const backends = [
    { backend: search, path: ['tools', 'web_search'] },
    ...search.fallbacks.map((backend, index) => ({ backend, path: ['tools', 'web_search', 'fallbacks', index] })),
  ];
  for (const { backend, path } of backends) {
    for (const option of SEARCH_PROVIDERS[backend.provider].needs) {
      if (backend[option] !== undefined) continue;
      yield {
        path: [...path, option],
        message: `is missing: the search provider ${backend.provider} needs ${FIXES[option]}`,
      };
    }
  }
}

const FIXES: Readonly<Record<SearchOption, string>> = {
  url: 'the address of its server',
  api_key: 'a key',
  engine_id: 'the id of a Programmable Search Engine',
};

function* checkMcpServers({ tools }: Sections): Iterable<CrossCheckProblem> {
  const names = new Map<string, number>();
  for (const [index, server] of (tools?.mcp_servers ?? []).entries()) {
    const same = names.get(server.name);
    if (same !== undefined) {
      yield { path: ['tools', 'mcp_servers', index, 'name'], message: `is the name of mcp_servers[${same}] too` };
    }
    names.set(server.name, same ?? index);
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
