import { isUtf8 } from 'node:buffer';
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isObject } from '../base/json.ts';
import { formatPath } from '../base/text.ts';
import { ConfigError, type ConfigProblem } from './config-error.ts';
import { crossCheck, type Sections } from './cross-checks.ts';
import type { Environment } from './environment.ts';
import { describeIssues } from './issue-messages.ts';
import { acceptedDefaultKey, prepareKeyring } from './keyring.ts';
import { configSchema, type GatewayConfig, type RouteConfig } from './schema.ts';
import { DEFAULT_SECRET } from './secrets.ts';
import { readYaml, type YamlSource } from './yaml/yaml-source.ts';

/** The file that is read if neither `--config` nor `GATEWAY_CONFIG` names one. */
export const DEFAULT_CONFIG_FILE = 'config/gateway.yaml';
/** The folder of the installation. Its own configuration is the last resort, and searches the gateway's documentation. */
const INSTALLED = fileURLToPath(new URL('../../', import.meta.url));
const INSTALLED_CONFIG_FILE = join(INSTALLED, DEFAULT_CONFIG_FILE);

export interface LoadOptions {
  environment: Environment;
  /** The file. Default: `GATEWAY_CONFIG`, else `config/gateway.yaml`, else the one that comes with the gateway. */
  file?: string | undefined;
  /** The base of relative paths, that of the file and those in it. Default: the working directory. */
  root?: string | undefined;
  /** Parses the text. Default: `parseConfig`. */
  parse?: (text: string, options: ParseOptions) => GatewayConfig | Promise<GatewayConfig>;
}

/** Everything besides its text that parsing a configuration needs. */
export interface ParseOptions {
  /** The name of the file in problems. */
  file: string;
  root: string;
  environment: Environment;
}

/** A configuration and where it came from. */
export interface LoadedConfig {
  config: GatewayConfig;
  file: string;
  /** Hints for the operator, logged at the start. */
  notices: string[];
}

/**
 * Reads and validates the configuration file (docs/configuration.md).
 * @throws ConfigError with all problems at once.
 */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const root = options.root ?? process.cwd();
  const chosenFile = options.file ?? options.environment.configFile;
  const defaultFile = existsSync(resolve(root, DEFAULT_CONFIG_FILE)) ? DEFAULT_CONFIG_FILE : INSTALLED_CONFIG_FILE;
  const file = chosenFile ?? defaultFile;
  const text = await readConfigFile(resolve(root, file), file);
  const parse = options.parse ?? parseConfig;
  const config = await parse(text, { file, root, environment: options.environment });
  await prepareKeyring(config);
  const notices = await noticesOf(config);
  if (chosenFile === undefined && file === INSTALLED_CONFIG_FILE) {
    notices.unshift(`uses the default configuration: there is no ${DEFAULT_CONFIG_FILE} here, and --config names none`);
  }
  return { config, file, notices };
}

/**
 * Parses a configuration in YAML, validates and deeply freezes it. Relative paths in it are resolved against `root`.
 * @throws ConfigError with all problems at once.
 */
export function parseConfig(text: string, { file, root, environment }: ParseOptions): GatewayConfig {
  const source = readYaml(text, environment.variables);
  if (source.value === undefined) throw new ConfigError(file, source.problems);
  let checked = check(source.value, environment);
  // A variable has the type that its key wants: what has another is read as the other type, and as before if that is wrong too.
  for (let times = 0; times < 2 && !checked.parsed.success; times++) {
    const mistyped = checked.described.filter(({ isOfType }) => !isOfType);
    const value = source.reread(mistyped.map(({ path }) => path));
    if (value === undefined) break;
    checked = check(value, environment);
  }
  const { value, parsed, described, overrideProblems } = checked;
  const crossChecked = crossCheck(parsed.success ? parsed.data : validSections(value));
  const problems = [
    ...source.problems,
    ...overrideProblems,
    ...withPositions(described, source),
    ...withPositions(crossChecked, source),
  ];
  if (problems.length > 0 || !parsed.success) throw new ConfigError(file, firstPerPath(problems));
  const documents = resolve(root, file) === INSTALLED_CONFIG_FILE ? INSTALLED : root;
  return deepFreeze(resolvePaths(parsed.data, { root, documents }));
}

function check(read: unknown, environment: Environment) {
  const { value, problems: overrideProblems } = applyOverrides(read, environment);
  // The schema is used once, so compiling it (zod's JIT) would cost more than it saves.
  const parsed = configSchema.safeParse(value, { jitless: true });
  const described = parsed.success ? [] : describeIssues(parsed.error.issues, value);
  return { value, parsed, described, overrideProblems };
}

/** Freezes a value and everything in it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}

async function readConfigFile(path: string, displayName: string): Promise<string> {
  try {
    const bytes = await readFile(path);
    if (isUtf8(bytes)) return bytes.toString('utf8');
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const message = missing
      ? 'there is no such file: name one with --config or GATEWAY_CONFIG, or leave both out for the default'
      : 'cannot be read: see that it is a file and that this user may read it';
    throw new ConfigError(displayName, [{ path: '', message }], { cause: error });
  }
  throw new ConfigError(displayName, [{ path: '', message: 'is not UTF-8: have the editor save it as that' }]);
}

/** Applies `HOST` and `PORT` of the environment, which override the file. */
function applyOverrides(value: unknown, { host, port }: Environment): { value: unknown; problems: ConfigProblem[] } {
  if (!isObject(value) || (host === undefined && port === undefined)) return { value, problems: [] };
  const server: Record<string, unknown> = isObject(value.server) ? { ...value.server } : {};
  const problems: ConfigProblem[] = [];
  if (host !== undefined) server.host = host;
  if (port !== undefined && /^\d{1,5}$/.test(port) && Number(port) <= 65_535) server.port = Number(port);
  else if (port !== undefined) {
    problems.push({ path: '', message: 'the environment variable PORT must be a port number from 0 to 65535' });
  }
  return { value: { ...value, server }, problems };
}

/** The valid sections of an invalid configuration, so that cross-checks can run too and all problems are reported at once. */
function validSections(value: unknown): Sections {
  if (!isObject(value)) return {};
  const { shape } = configSchema;
  return {
    server: shape.server.safeParse(value.server).data,
    store: shape.store.safeParse(value.store).data,
    providers: shape.providers.safeParse(value.providers).data,
    models: shape.models.safeParse(value.models).data,
    passthrough: shape.passthrough.safeParse(value.passthrough).data,
    keys: shape.keys.safeParse(value.keys).data,
    teams: shape.teams.safeParse(value.teams).data,
    tools: shape.tools.safeParse(value.tools).data,
    files: shape.files.safeParse(value.files).data,
  };
}

function withPositions(
  problems: readonly { path: PropertyKey[]; message: string; atKey?: boolean }[],
  source: YamlSource,
): ConfigProblem[] {
  return problems.map(({ path, message, atKey }) => ({
    path: formatPath(path),
    ...(atKey ? source.locateKey(path) : source.locate(path)),
    message,
  }));
}

/** Keeps one message per place, because the others follow from the first mistake. Sorts them in the order of the file. */
function firstPerPath(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const seen = new Set<string>();
  const first = problems.filter(({ path }) => {
    const isRepeated = path !== '' && seen.has(path);
    seen.add(path);
    return !isRepeated;
  });
  return first.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

type SearchBackend = Pick<GatewayConfig['tools']['web_search'], 'provider' | 'folder'>;

/** The folder that the local search indexes if none is configured. */
const DEFAULT_SEARCH_FOLDER = './docs';

/** Resolves the paths in the file. As on a command line, they are relative to the working directory and not to the file. */
function resolvePaths(config: GatewayConfig, { root, documents }: { root: string; documents: string }): GatewayConfig {
  const searchFolder = ({ provider, folder: configured }: SearchBackend) => {
    const folder = configured ?? (provider === 'local' ? DEFAULT_SEARCH_FOLDER : undefined);
    return folder === undefined ? {} : { folder: resolve(documents, folder) };
  };
  const search = config.tools.web_search;
  const fallbacks = search.fallbacks.map((backend) => ({ ...backend, ...searchFolder(backend) }));
  const url = resolveStoreUrl(config.store.url, root);
  const defaultIndexFolder = url.startsWith('file:') ? folderBeside(url, root, 'search') : undefined;
  const index_folder = search.index_folder === undefined ? defaultIndexFolder : resolve(root, search.index_folder);
  const { url: filesUrl, index_folder: vectorFolder } = config.files;
  const filesFolder = folderBeside(url, root, 'files');
  const files = {
    ...config.files,
    url: filesUrl === undefined ? filesFolder && `file:${filesFolder}` : resolveStoreUrl(filesUrl, root),
    index_folder: vectorFolder === undefined ? folderBeside(url, root, 'vector-stores') : resolve(root, vectorFolder),
  };
  return {
    ...config,
    store: { ...config.store, url },
    files,
    tools: { ...config.tools, web_search: { ...search, ...searchFolder(search), index_folder, fallbacks } },
  };
}

/** The default folder for data outside the store: beside an embedded store, else in `./data`. Undefined: in memory, as the store. */
function folderBeside(storeUrl: string, root: string, name: string): string | undefined {
  if (storeUrl === 'memory:') return undefined;
  return storeUrl.startsWith('file:') ? join(storeUrl.slice('file:'.length), name) : resolve(root, 'data', name);
}

function resolveStoreUrl(url: string, root: string): string {
  const path = /^file:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1];
  return path === undefined ? url : `file:${resolve(root, path)}`;
}

/** Hints for the operator, logged at the start. */
export async function noticesOf(config: GatewayConfig): Promise<string[]> {
  return [...keyNotices(config), ...priceNotices(config), ...fileNotices(config), ...(await missingFolders(config))];
}

function keyNotices(config: GatewayConfig): string[] {
  const notice = defaultKeyNotice(config);
  if (notice === undefined) return [];
  if (!config.server.cors_origins.includes('*')) return [notice];
  const everyPage =
    `accepts ${DEFAULT_SECRET} from every web page that is open on this machine (server.cors_origins: ["*"]); ` +
    'name the origins of your pages, or set GATEWAY_API_KEY';
  return [notice, everyPage];
}

/** A limit of cost lets every call pass that has no price. */
function priceNotices({ keys, teams, models, providers }: GatewayConfig): string[] {
  const limited = [...keys, ...Object.values(teams)];
  if (!limited.some(({ limits: { cost_per_day, cost_per_month } }) => cost_per_day ?? cost_per_month)) return [];
  const isFree = (route: RouteConfig) => route.price === undefined && !('builtin' in (providers[route.provider] ?? {}));
  const free = Object.entries(models).filter(([, { routes }]) => routes.some(isFree));
  if (free.length === 0) return [];
  const names = free.map(([name]) => name).join(', ');
  return [
    `has limits of cost that do not count routes of ${names}, because these have no price (models.<name>.routes[].price)`,
  ];
}

/** With Redis there may be several instances, and each must find the files that were uploaded to another. */
function fileNotices({ store, files }: GatewayConfig): string[] {
  if (!files.enabled || !store.url.startsWith('redis') || !files.url?.startsWith('file:')) return [];
  const folder = files.url.slice('file:'.length);
  return [
    `keeps files in the folder ${folder}, and the rest in Redis: several instances need a folder that all of them see, ` +
      'or files.url: s3://<bucket>/<prefix> (docs/files.md)',
  ];
}

/** The notice about the well-known key, while it is accepted (docs/operating.md, "Starting"). */
export function defaultKeyNotice(config: GatewayConfig): string | undefined {
  const secret = acceptedDefaultKey(config);
  if (secret === undefined) return undefined;
  return `accepts the well-known API key ${secret}, on this machine only; set GATEWAY_API_KEY to another one`;
}

/** Missing folders are a notice and not a problem, because they may be mounted or filled later. */
async function missingFolders({ models, tools: { web_search: search } }: GatewayConfig): Promise<string[]> {
  const usesWebSearch = Object.values(models).some(
    (model) => model.kind === 'research' && model.research.tools.includes('web_search'),
  );
  if (!usesWebSearch) return [];
  const local = [search, ...search.fallbacks].filter(({ provider }) => provider === 'local');
  const folders = local.flatMap(({ folder }) => (folder === undefined ? [] : [folder]));
  const missing = await Promise.all(
    folders.map(async (folder) => {
      const isFolder = await stat(folder).then(
        (found) => found.isDirectory(),
        () => false,
      );
      return isFolder
        ? []
        : [`searches the folder ${folder}, which is not there: every local search will fail (tools.web_search)`];
    }),
  );
  return missing.flat();
}
