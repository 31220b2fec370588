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
import type { ToolList } from '../../protocol/requests/thread-settings.ts';
import type { Warning } from '../../protocol/warnings.ts';
import type {
  ApprovalRule,
  BuiltinTools,
  FileSearch,
  RequestedSources,
  ResearchRequest,
} from '../../research/run/request.ts';
import type { RequestedMcpServer } from '../../tools/mcp/mcp-server.ts';
import { httpServerOf } from '../../tools/mcp/server-of.ts';
import { commonDomains } from '../../tools/source-limits.ts';
import { filterSchema } from '../../vector-stores/filters.ts';

/** The parts of a body that say which tools a run may use. */
export interface ToolFields {
  /** Tools that run at the client are skipped. */
  tools?: readonly ResponseTool[] | undefined;
  mcp_servers?: RequestMcpServer[] | undefined;
}

/** `research.sources`, of a request or of a model. */
type SourceLimits = Partial<NonNullable<ResearchOptions['sources']>>;

/** The tools of a request in the form that the research loop needs. */
export type RequestedTools = Pick<ResearchRequest, 'tools' | 'mcpServers' | 'warnings' | 'sources'>;

/** Searching is of little use without opening the results, and the API has no tool type for opening alone. */
export const BUILTIN_OF_TYPE = {
  web_search: ['web_search', 'fetch_url_content'],
  code_interpreter: ['execute_python'],
  file_search: ['file_search', 'fetch_url_content'],
} as const;

/**
 * The requested tools, checked against those that the model offers and the key. Without `tools`, or with an empty list, the
 * model's own are used. A tool that the model lacks is only a warning, because clients of other services always send it.
 * @throws GatewayError `mcp_servers_not_allowed`, `invalid_parameter`.
 */
export function requestedTools(
  { tools = [], mcp_servers = [] }: ToolFields,
  { offered, key, limits }: { offered: readonly string[]; key: KeyConfig; limits?: SourceLimits | undefined },
): RequestedTools {
  const servers = mcp_servers.map((server, index) => ({
    param: `mcp_servers[${index}]`,
    server: httpServerOf(server),
  }));
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
      // Every model has this tool, because it searches the user's own files.
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
 * Combines `research.sources` with the filters of the search tools. Undefined if the allowed domains of the tools say it
 * all.
 * @throws GatewayError `conflicting_parameters` if together they allow nothing.
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

/** Merges a `file_search` tool into the `before` ones; its filters and bounds win. @throws GatewayError `invalid_parameter`. */
function fileSearchOf(
  { vector_store_ids, filters, max_num_results, ranking_options }: Extract<ResponseTool, { type: 'file_search' }>,
  before: FileSearch | undefined,
  param: string,
): FileSearch {
  const parsed = filters === undefined ? undefined : filterSchema.safeParse(filters);
  if (parsed?.error) {
    throw fieldError('invalid_parameter', param, 'this is no filter by attributes.');
  }
  const threshold = ranking_options?.score_threshold;
  return {
    ...before,
    stores: [...new Set([...(before?.stores ?? []), ...vector_store_ids])],
    ...(parsed && { filter: parsed.data }),
    ...(max_num_results !== undefined && { limit: max_num_results }),
    ...(threshold !== undefined && { scoreThreshold: threshold }),
  };
}

type SearchTool = Extract<ResponseTool, { type: 'web_search' }>;

/** Adds the settings of a search tool. The last of several tools wins. */
function addSearch(search: Omit<BuiltinTools, 'builtin'>, tool: SearchTool): void {
  search.allowedDomains.push(...(tool.filters?.allowed_domains ?? []));
  if (tool.user_location?.country) search.country = tool.user_location.country.trim().toUpperCase();
  if (tool.search_context_size) search.searchContextSize = tool.search_context_size;
}

/**
 * The parts of tools that are accepted but have no effect, as paths for `x-ignored-parameters`: unknown fields, and the
 * parts of a user's location that `provider` cannot search by.
 */
export function ignoredToolParts(lists: readonly ToolList[], provider: SearchProviderName): string[] {
  return lists.flatMap(({ tools, sent, place }) =>
    tools.flatMap((tool, index) => {
      const raw: unknown = Array.isArray(sent) ? sent[index] : undefined;
      const unknown = isObject(raw) ? unknownFields(raw, tool) : [];
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

/** The rules for calls of MCP servers that need the client's approval. */
export function approvalRules(tools: readonly ResponseTool[] = []): { approvals?: ApprovalRule[] } {
  const approvals = tools.flatMap((tool) => (tool.type === 'mcp' ? approvalRule(tool) : []));
  return approvals.length > 0 ? { approvals } : {};
}

function approvalRule({
  server_label: server,
  require_approval: required = 'never',
}: Extract<ResponseTool, { type: 'mcp' }>): ApprovalRule[] {
  if (required === 'never') return [];
  if (required === 'always') return [{ server }];
  const { always, never } = required;
  return [{ server, always: always?.tool_names ?? (never ? undefined : []), never: never?.tool_names }];
}

/** Checks that the servers of approved calls are in the request. @throws GatewayError if one is not. */
export function requireServers(
  calls: readonly { name: string }[],
  { mcpServers }: { mcpServers: readonly RequestedMcpServer[] },
): void {
  for (const { name } of calls) {
    const server = name.slice(0, Math.max(0, name.indexOf('.')));
    if (mcpServers.some(({ name }) => name === server)) continue;
    const what = `the MCP server ${server.slice(0, 80)}, of which a call was approved, is not among them.`;
    throw fieldError('invalid_parameter', 'tools', what);
  }
}
