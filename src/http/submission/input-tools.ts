import { fieldError, GatewayError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { KeyConfig } from '../../config/schema.ts';
import { type SearchProviderName, searchableCountry } from '../../config/search-providers.ts';
import {
  isClientTool,
  type RequestMcpServer,
  type ResponseTool,
  unknownFields,
} from '../../protocol/requests/request-tools.ts';
import type { ResearchOptions } from '../../protocol/requests/research-options.ts';
import type { PlacedTools } from '../../protocol/requests/thread-settings.ts';
import type { Warning } from '../../protocol/warnings.ts';
import type { ApprovalRule } from '../../research/calls/approvals.ts';
import type {
  BuiltinTools,
  FileSearch,
  RequestedMcpServer,
  RequestedSources,
  ResearchRequest,
} from '../../research/run/request.ts';
import { commonDomains } from '../../tools/source-limits.ts';
import { filter } from '../../vector-stores/filters.ts';

/** The parts of a body that say which tools a run may use. */
export interface ToolFields {
  /** Those that run at the client are not looked at. */
  tools?: readonly ResponseTool[] | undefined;
  mcp_servers?: RequestMcpServer[] | undefined;
}

/** `research.sources`, of a request or of a model. */
type SourceLimits = Partial<NonNullable<ResearchOptions['sources']>>;

/** The tools of a request as the research loop wants them. */
export type RequestedTools = Pick<ResearchRequest, 'tools' | 'mcpServers' | 'warnings' | 'sources'>;

/** Searching is of little use without opening what was found, and no tool type of the API names that alone. */
export const BUILTIN_OF_TYPE = {
  web_search: ['web_search', 'fetch_url_content'],
  code_interpreter: ['execute_python'],
  file_search: ['file_search', 'fetch_url_content'],
} as const;

/**
 * The named tools, checked against the built-in ones that the model offers and the key. Without `tools` (or with an empty
 * one) the model's own are used. One that the model lacks is no error, because clients of other services name them as a
 * matter of course: the answer says so in its warnings.
 * @throws GatewayError `mcp_servers_not_allowed`, `invalid_parameter`.
 */
export function requestedTools(
  { tools = [], mcp_servers = [] }: ToolFields,
  { offered, key, limits }: { offered: readonly string[]; key: KeyConfig; limits?: SourceLimits | undefined },
): RequestedTools {
  const servers = mcp_servers.map((server, index) => ({ param: `mcp_servers[${index}]`, server: fromServer(server) }));
  const builtin = new Set<string>();
  const search: Omit<BuiltinTools, 'builtin'> = { allowedDomains: [] };
  const blocked: string[] = [];
  const warnings: Warning[] = [];
  for (const [index, tool] of tools.entries()) {
    const param = `tools[${index}]`;
    if (isClientTool(tool)) continue;
    if (tool.type === 'mcp') {
      servers.push({ param, server: fromTool(tool) });
      continue;
    }
    const [needed, ...others] = BUILTIN_OF_TYPE[tool.type];
    if (tool.type === 'file_search') {
      // Every model has it: what is searched is the user's own.
      builtin.add(needed);
      search.fileSearch = fileSearchOf(tool, search.fileSearch, `${param}.filters`);
    } else if (!offered.includes(needed)) {
      warnings.push({ code: 'tool_unavailable', message: `This model has no ${tool.type} tool.`, param });
      continue;
    }
    for (const name of [needed, ...others]) if (offered.includes(name)) builtin.add(name);
    if (tool.type === 'web_search') {
      addSearch(search, tool);
      blocked.push(...(tool.filters?.blocked_domains ?? []));
    }
  }
  checkServers(servers, key);
  const sources = requestedSources(limits, { allowed: search.allowedDomains, blocked });
  return {
    tools: tools.every(isClientTool) ? null : { builtin: [...builtin], ...search },
    mcpServers: servers.map(({ server }) => server),
    ...(sources && { sources }),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

/**
 * Where the run may search and read, by `research.sources` and the filters of its search tools together. Undefined where
 * the domains of the tools say it all.
 * @throws GatewayError `conflicting_parameters` where they allow nothing together.
 */
function requestedSources(
  limits: SourceLimits | undefined,
  filters: { allowed: string[]; blocked: string[] },
): RequestedSources | undefined {
  if (!limits && filters.blocked.length === 0) return undefined;
  const { allowed_domains = [], blocked_domains = [], after, before, met_only } = limits ?? {};
  const allowedDomains = commonDomains(filters.allowed, allowed_domains);
  if (!allowedDomains) {
    const what = 'the filters of web_search allow none of these domains.';
    throw fieldError('conflicting_parameters', 'research.sources.allowed_domains', what);
  }
  const blockedDomains = [...filters.blocked, ...blocked_domains];
  return { allowedDomains, blockedDomains, after, before, metOnly: met_only };
}

/** What several such tools say together; of filters and bounds, the last. @throws GatewayError `invalid_parameter`. */
function fileSearchOf(
  { vector_store_ids, filters, max_num_results, ranking_options }: Extract<ResponseTool, { type: 'file_search' }>,
  before: FileSearch | undefined,
  param: string,
): FileSearch {
  const checked = filters === undefined ? undefined : filter.safeParse(filters);
  if (checked?.error) {
    throw fieldError('invalid_parameter', param, 'this is no filter by attributes.');
  }
  const threshold = ranking_options?.score_threshold;
  return {
    ...before,
    stores: [...new Set([...(before?.stores ?? []), ...vector_store_ids])],
    ...(checked && { filter: checked.data }),
    ...(max_num_results !== undefined && { limit: max_num_results }),
    ...(threshold !== undefined && { scoreThreshold: threshold }),
  };
}

type SearchTool = Extract<ResponseTool, { type: 'web_search' }>;

/** What a search tool says of its searches; of several, the last. */
function addSearch(search: Omit<BuiltinTools, 'builtin'>, tool: SearchTool): void {
  search.allowedDomains.push(...(tool.filters?.allowed_domains ?? []));
  if (tool.user_location?.country) search.country = tool.user_location.country.trim().toUpperCase();
  if (tool.search_context_size) search.searchContextSize = tool.search_context_size;
}

/**
 * The parts of tools that are accepted and not acted on, as paths for `x-ignored-parameters`: what no tool understands,
 * and what of a user's place `provider` cannot search by.
 */
export function ignoredToolParts(lists: readonly PlacedTools[], provider: SearchProviderName): string[] {
  return lists.flatMap(({ tools, sent, place }) =>
    tools.flatMap((tool, index) => {
      const given: unknown = Array.isArray(sent) ? sent[index] : undefined;
      const unknown = isObject(given) ? unknownFields(given, tool) : [];
      const location = tool.type === 'web_search' ? ignoredLocation(tool, provider) : [];
      return [...unknown, ...location].map((name) => `${place}[${index}].${name}`);
    }),
  );
}

function ignoredLocation({ user_location: location }: SearchTool, provider: SearchProviderName): string[] {
  if (!location) return [];
  if (!searchableCountry(provider, location.country)) return ['user_location'];
  return (['city', 'region', 'timezone'] as const)
    .filter((name) => location[name] !== undefined)
    .map((name) => `user_location.${name}`);
}

function checkServers(servers: { param: string; server: RequestedMcpServer }[], key: KeyConfig): void {
  const [first] = servers;
  if (first && !key.mcp_servers) {
    throw new GatewayError('mcp_servers_not_allowed', 'This API key may not attach MCP servers.', {
      param: first.param,
    });
  }
  const names = new Set<string>();
  for (const { param, server } of servers) {
    if (names.has(server.name)) {
      throw fieldError('invalid_parameter', param, `there is another MCP server named ${server.name}.`);
    }
    names.add(server.name);
  }
}

function fromServer(server: RequestMcpServer): RequestedMcpServer {
  const { oauth } = server;
  return {
    name: server.name,
    url: server.url,
    headers: server.headers,
    accessToken: server.access_token,
    allowedTools: server.allowed_tools,
    oauth: oauth && {
      clientId: oauth.client_id,
      clientSecret: oauth.client_secret,
      tokenUrl: oauth.token_url,
      issuer: oauth.issuer,
      scope: oauth.scope,
    },
  };
}

function fromTool(tool: Extract<ResponseTool, { type: 'mcp' }>): RequestedMcpServer {
  const allowed = Array.isArray(tool.allowed_tools) ? tool.allowed_tools : tool.allowed_tools?.tool_names;
  return {
    name: tool.server_label,
    url: tool.server_url,
    headers: tool.headers,
    accessToken: tool.authorization,
    allowedTools: allowed,
  };
}

/** Which calls of MCP servers the client approves first, if any. */
export function approvalRules(tools: readonly ResponseTool[] = []): { approvals?: ApprovalRule[] } {
  const approvals = tools.flatMap((tool) => (tool.type === 'mcp' ? approvalRule(tool) : []));
  return approvals.length > 0 ? { approvals } : {};
}

function approvalRule({
  server_label: server,
  require_approval: asked = 'never',
}: Extract<ResponseTool, { type: 'mcp' }>): ApprovalRule[] {
  if (asked === 'never') return [];
  if (asked === 'always') return [{ server }];
  const { always, never } = asked;
  return [{ server, always: always?.tool_names ?? (never ? undefined : []), never: never?.tool_names }];
}

/** @throws GatewayError where one of `calls`, which the client has approved, is of a server that is not there. */
export function requireServers(
  calls: readonly { name: string }[],
  { mcpServers }: { mcpServers: readonly RequestedMcpServer[] },
): void {
  for (const { name } of calls) {
    const server = name.slice(0, Math.max(0, name.indexOf('.')));
    if (mcpServers.some((one) => one.name === server)) continue;
    const what = `the MCP server ${server.slice(0, 80)}, of which a call was approved, is not among them.`;
    throw fieldError('invalid_parameter', 'tools', what);
  }
}
