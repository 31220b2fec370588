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

/** The sections that are valid by themselves. Rules that need a missing section are skipped. */
export type Sections = { [Section in keyof GatewayConfig]?: GatewayConfig[Section] | undefined };

/** Checks the rules that span several sections. */
export function crossCheck(sections: Sections): CrossCheckProblem[] {
  return [
    ...checkModels(sections),
    ...checkKeys(sections),
    ...checkOwnCredentials(sections),
    ...checkPassthrough(sections),
    ...checkPublicAddress(sections),
    ...checkPorts(sections),
    ...checkStore(sections),
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
    const tools = model.kind === 'research' ? model.research.tools : model.tools;
    const toolsPath = model.kind === 'research' ? ['models', name, 'research', 'tools'] : ['models', name, 'tools'];
    for (const [index, tool] of tools.entries()) {
      if (isBuiltinTool(tool)) continue;
      const hint = didYouMean(tool, BUILTIN_TOOLS) ?? `there are ${BUILTIN_TOOLS.join(', ')}`;
      const message = `is not a built-in tool; ${hint} (MCP servers are offered to every run)`;
      yield { path: [...toolsPath, index], message };
    }
    if (model.kind !== 'research') {
      const textOnly = model.audio
        ? model.routes.find(({ provider }) => wireOf(providers, provider) === 'messages')
        : undefined;
      const message = `cannot be true: the provider \`${textOnly?.provider}\` speaks the Messages API, which takes no audio`;
      if (textOnly) yield { path: ['models', name, 'audio'], message };
      continue;
    }
    const { reader = [] } = model.research;
    yield* checkRoutes(reader, ['models', name, 'research', 'reader'], providers);
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

/** How many configured names a message lists. */
const MAX_LISTED_NAMES = 20;

function* checkName(
  what: 'provider' | 'model' | 'team',
  name: string,
  { path, known }: { path: PropertyKey[]; known: object | undefined },
): Iterable<CrossCheckProblem> {
  if (known === undefined || Object.hasOwn(known, name)) return;
  const names = Object.keys(known);
  const listed = names.slice(0, MAX_LISTED_NAMES).join(', ') + (names.length > MAX_LISTED_NAMES ? ', ...' : '');
  const hint = names.length === 0 ? 'none is configured' : `${listed} ${names.length === 1 ? 'is' : 'are'} configured`;
  yield { path, message: `names the unknown ${what} \`${name}\`; ${didYouMean(name, names) ?? hint}` };
}

/** Finds entries whose value repeats that of an earlier one. `first`: the index of the first entry with that value. */
function* repeats<T>(entries: readonly T[], key: (entry: T) => string): Iterable<{ index: number; first: number }> {
  const seen = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    const value = key(entry);
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

/** A key's own credential replaces the operator's, so the configuration must say in which header that is. */
function* checkOwnCredentials({ keys = [], providers = {} }: Sections): Iterable<CrossCheckProblem> {
  for (const [name, provider] of Object.entries(providers)) {
    const index = keys.findIndex((key) => Object.hasOwn(key.provider_keys, name));
    if (index === -1 || 'builtin' in provider) continue;
    const path = ['providers', name];
    const ownCredential = `keys[${index}].provider_keys.${name}`;
    if (hasCredentialInQuery(provider)) {
      const message = `holds a credential in its query, which ${ownCredential} would not replace: move it to api_key`;
      yield { path: [...path, 'base_url'], message };
    }
    const replaced = provider.api_key_header;
    for (const header of unreplacedHeaders(provider)) {
      const message =
        replaced === undefined
          ? `holds a credential, which ${ownCredential} would not replace: add \`api_key_header: ${header}\` to this provider`
          : `holds a credential that would go out beside ${ownCredential}, which stands in ${replaced} (api_key_header): remove it`;
      yield { path: [...path, 'headers', header], message };
    }
  }
}

function* checkPublicAddress({ server, keys = [] }: Sections): Iterable<CrossCheckProblem> {
  const problem = server && wellKnownKeyProblem(server);
  if (problem === undefined) return;
  const wellKnown = secretHash({ secret: DEFAULT_SECRET });
  for (const [index, key] of keys.entries()) {
    if (secretHash(key) === wellKnown) yield { path: ['keys', index, secretField(key)], message: `is ${problem}` };
  }
}

/** Why a gateway at this address refuses the well-known key; undefined where only this machine can reach it. */
export function wellKnownKeyProblem({ host }: Pick<GatewayConfig['server'], 'host'>): string | undefined {
  if (isLoopback(host)) return undefined;
  return (
    `the well-known key ${DEFAULT_SECRET}, refused on the public address ${host}: ` +
    'set GATEWAY_API_KEY (`research-gateway keys new` makes one), or listen on 127.0.0.1'
  );
}

/** Whether a listening address can be reached from this machine only. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function* checkPorts({ server }: Sections): Iterable<CrossCheckProblem> {
  if (server === undefined || server.port === 0 || server.admin_port !== server.port) return;
  yield { path: ['server', 'admin_port'], message: 'must differ from port; leave it out to use one port for all' };
}

/** What would have no effect is refused, since it promises something: encryption, or writes that survive. */
function* checkStore({ store }: Sections): Iterable<CrossCheckProblem> {
  if (store === undefined) return;
  const { url } = store;
  const isRedis = url.startsWith('redis');
  if (store.tls && !url.startsWith('rediss')) yield { path: ['store', 'tls'], message: 'is for rediss:// URLs only' };
  if (store.replicas > 0 && !isRedis) yield { path: ['store', 'replicas'], message: 'is for Redis only' };
  if (store.sync === 'full' && isRedis) yield { path: ['store', 'sync'], message: 'is for SQLite only' };
}

/** A search service needs the options that its row names. The local search has a default folder. */
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

/** A bucket needs credentials, which a folder must not have. */
function* checkFiles({ files }: Sections): Iterable<CrossCheckProblem> {
  if (files === undefined) return;
  const isBucket = files.url?.startsWith('s3://') === true;
  for (const setting of ['endpoint', 'region', 'access_key_id', 'secret_access_key'] as const) {
    const path = ['files', setting];
    const isSet = files[setting] !== undefined;
    if (isSet && !isBucket) yield { path, message: 'is for files.url: s3://<bucket>/<prefix> only' };
    const isRequired = setting === 'access_key_id' || setting === 'secret_access_key';
    if (isBucket && isRequired && !isSet) yield { path, message: 'is missing: the bucket of files.url needs it' };
  }
}
