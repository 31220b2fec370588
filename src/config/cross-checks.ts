import { didYouMean } from '../base/nearest.ts';
import { BUILTIN_TOOLS, isBuiltinTool } from './builtin-tools.ts';
import type { ConfigProblem } from './config-error.ts';
import { hasCredentialInQuery, unreplacedHeaders } from './credential-places.ts';
import type { GatewayConfig, KeyConfig } from './schema.ts';
import { SEARCH_PROVIDERS, type SearchOption } from './search-providers.ts';
import { DEFAULT_SECRET, secretHash } from './secrets.ts';

/** A problem before its position in the file is known. */
export interface CrossCheckProblem extends Pick<ConfigProblem, 'message'> {
  path: PropertyKey[];
}

/** The sections that were valid by themselves; a missing one leaves out the rules that need it. */
export type Sections = { [Section in keyof GatewayConfig]?: GatewayConfig[Section] | undefined };

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
    ...checkFiles(sections),
  ];
}

function* checkModels({ models = {}, providers }: Sections): Iterable<CrossCheckProblem> {
  for (const [name, model] of Object.entries(models)) {
    yield* checkRoutes(model.routes, ['models', name, 'routes'], providers);
    for (const [index, rule] of (model.failover_off ?? []).entries()) {
      if (!model.failover_on?.includes(rule)) continue;
      yield { path: ['models', name, 'failover_off', index], message: 'stands in failover_on too: remove one of them' };
    }
    if (model.kind !== 'research') {
      const deaf = model.audio
        ? model.routes.find(({ provider }) => wireOf(providers, provider) === 'messages')
        : undefined;
      const message = `cannot be true: the provider \`${deaf?.provider}\` speaks the Messages API, which takes no audio`;
      if (deaf) yield { path: ['models', name, 'audio'], message };
      continue;
    }
    const { reader = [], tools } = model.research;
    yield* checkRoutes(reader, ['models', name, 'research', 'reader'], providers);
    for (const [index, tool] of tools.entries()) {
      if (isBuiltinTool(tool)) continue;
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

function wireOf(providers: Sections['providers'], name: string): string | undefined {
  const provider = providers?.[name];
  return provider && 'wire' in provider ? provider.wire : undefined;
}

function* checkPassthrough({ passthrough, providers, keys = [] }: Sections): Iterable<CrossCheckProblem> {
  if (passthrough === undefined) return;
  for (const { index, first } of repeats(passthrough, ({ path }) => path)) {
    yield { path: ['passthrough', index, 'path'], message: `is the path of passthrough[${first}] too` };
  }
  yield* checkRoutes(passthrough, ['passthrough'], providers);
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
  for (const [index, { provider }] of routes.entries()) {
    yield* checkName('provider', provider, { path: [...path, index, 'provider'], known: providers });
  }
}

/** How many of the configured names are listed. */
const MOST_NAMES = 20;

function* checkName(
  what: 'provider' | 'model' | 'team',
  name: string,
  { path, known }: { path: PropertyKey[]; known: object | undefined },
): Iterable<CrossCheckProblem> {
  if (known === undefined || Object.hasOwn(known, name)) return;
  const names = Object.keys(known);
  const listed = names.slice(0, MOST_NAMES).join(', ') + (names.length > MOST_NAMES ? ', ...' : '');
  const there = names.length === 0 ? 'none is configured' : `${listed} ${names.length === 1 ? 'is' : 'are'} configured`;
  yield { path, message: `names the unknown ${what} \`${name}\`; ${didYouMean(name, names) ?? there}` };
}

/** The entries that have a value in common with an earlier one, each with the first that has it. */
function* repeats<T>(entries: readonly T[], of: (entry: T) => string): Iterable<{ index: number; first: number }> {
  const seen = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    const value = of(entry);
    const first = seen.get(value);
    if (first === undefined) seen.set(value, index);
    else yield { index, first };
  }
}

function* checkKeys({ keys = [], models, providers, teams }: Sections): Iterable<CrossCheckProblem> {
  for (const { index, first } of repeats(keys, ({ id }) => id)) {
    yield { path: ['keys', index, 'id'], message: `is the id of keys[${first}] too` };
  }
  for (const { index, first } of repeats(keys, secretHash)) {
    const message = `is the same as that of keys[${first}]: give each key its own`;
    yield { path: ['keys', index, secretField(keys[index])], message };
  }
  for (const [index, key] of keys.entries()) {
    for (const [position, model] of (key.models ?? []).entries()) {
      yield* checkName('model', model, { path: ['keys', index, 'models', position], known: models });
    }
    for (const [model, routes] of Object.entries(key.routes)) {
      const path = ['keys', index, 'routes', model];
      yield* checkName('model', model, { path, known: models });
      yield* checkRoutes(routes, path, providers);
    }
    if (key.team !== undefined) yield* checkName('team', key.team, { path: ['keys', index, 'team'], known: teams });
    for (const provider of Object.keys(key.provider_keys)) {
      yield* checkName('provider', provider, { path: ['keys', index, 'provider_keys', provider], known: providers });
    }
  }
}

function secretField(key: KeyConfig | undefined): string {
  return key?.secret === undefined ? 'secret_sha256' : 'secret';
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
    yield { path: ['keys', index, secretField(key)], message };
  }
}

/** Whether only this machine can reach a listening address. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
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
      const message = `is missing: the search provider ${backend.provider} needs ${FIXES[option]}`;
      yield { path: [...path, option], message };
    }
  }
}

const FIXES: Readonly<Record<SearchOption, string>> = {
  url: 'the address of its server',
  api_key: 'a key',
  engine_id: 'the id of a Programmable Search Engine',
};

function* checkMcpServers({ tools }: Sections): Iterable<CrossCheckProblem> {
  for (const { index, first } of repeats(tools?.mcp_servers ?? [], ({ name }) => name)) {
    yield { path: ['tools', 'mcp_servers', index, 'name'], message: `is the name of mcp_servers[${first}] too` };
  }
}

/** What a bucket needs, and a folder does not have. */
function* checkFiles({ files }: Sections): Iterable<CrossCheckProblem> {
  if (files === undefined) return;
  const isBucket = files.url?.startsWith('s3://') === true;
  for (const setting of ['endpoint', 'region', 'access_key_id', 'secret_access_key'] as const) {
    const path = ['files', setting];
    const isGiven = files[setting] !== undefined;
    if (isGiven && !isBucket) yield { path, message: 'is for files.url: s3://<bucket>/<prefix> only' };
    const isNeeded = setting === 'access_key_id' || setting === 'secret_access_key';
    if (isBucket && isNeeded && !isGiven) yield { path, message: 'is missing: the bucket of files.url needs it' };
  }
}
