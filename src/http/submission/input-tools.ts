import { GatewayError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { KeyConfig, ResearchModelConfig } from '../../config/schema.ts';
import { type SearchProviderName, searchableCountry } from '../../config/search-providers.ts';
import { type RequestMcpServer, type ResponseTool, unknownFields } from '../../protocol/requests/request-tools.ts';
import type { Warning } from '../../protocol/warnings.ts';
import type { BuiltinTools, RequestedMcpServer, ResearchRequest } from '../../research/run/request.ts';

/** The parts of a body that say which tools a run may use. */
export interface ToolFields {
  tools?: ResponseTool[] | undefined;
  mcp_servers?: RequestMcpServer[] | undefined;
}

/** The tools of a request as the research loop wants them. */
export type RequestedTools = Pick<ResearchRequest, 'tools' | 'mcpServers' | 'warnings'>;

/** Searching is of little use without opening what was found, and no tool type of the API names that alone. */
const BUILTIN_OF_TYPE = {
  web_search: ['web_search', 'fetch_url_content'],
  code_interpreter: ['execute_python'],
} as const;

/**
 * The named tools, checked against the model and the key. Without `tools` (or with an empty one) the model's own are
 * used. One that the model lacks is no error, because clients of other services name them as a matter of course: the
 * answer says so in its warnings.
 * @throws GatewayError `mcp_servers_not_allowed`, `invalid_parameter`.
 */
export function requestedTools(
  { tools = [], mcp_servers = [] }: ToolFields,
  { model, key }: { model: ResearchModelConfig; key: KeyConfig },
): RequestedTools {
  const servers = mcp_servers.map((server, index) => ({ param: `mcp_servers[${index}]`, server: fromServer(server) }));
  const builtin = new Set<string>();
  const search: Omit<BuiltinTools, 'builtin'> = { allowedDomains: [] };
  const warnings: Warning[] = [];
  for (const [index, tool] of tools.entries()) {
    const param = `tools[${index}]`;
    if (tool.type === 'mcp') {
      servers.push({ param, server: fromTool(tool) });
      continue;
    }
    const [needed, ...others] = BUILTIN_OF_TYPE[tool.type];
    const offered = model.research.tools;
    if (!offered.includes(needed)) {
      warnings.push({ code: 'tool_unavailable', message: `This model has no ${tool.type} tool.`, param });
      continue;
    }
    for (const name of [needed, ...others]) if (offered.includes(name)) builtin.add(name);
    if (tool.type === 'web_search') addSearch(search, tool);
  }
  checkServers(servers, key);
  return {
    tools: tools.length === 0 ? null : { builtin: [...builtin], ...search },
    mcpServers: servers.map(({ server }) => server),
    ...(warnings.length > 0 ? { warnings } : {}),
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
export function ignoredToolParts(
  tools: readonly ResponseTool[],
  { sent, provider }: { sent: unknown; provider: SearchProviderName },
): string[] {
  return tools.flatMap((tool, index) => {
    const given: unknown = Array.isArray(sent) ? sent[index] : undefined;
    const unknown = isObject(given) ? unknownFields(given, tool) : [];
    const location = tool.type === 'web_search' ? ignoredLocation(tool, provider) : [];
    return [...unknown, ...location].map((name) => `tools[${index}].${name}`);
  });
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
      throw new GatewayError('invalid_parameter', `${param}: there is another MCP server named ${server.name}.`, {
        param,
      });
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
