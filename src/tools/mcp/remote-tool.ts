import type { Tool as ListedTool } from '@modelcontextprotocol/client';
import { isJsonObject, isObject, type JsonObject, parseJson } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import { MCP_LIMITS, type McpServer } from './mcp-server.ts';

/** A tool as its server lists it, within the gateway's limits. */
export interface RemoteTool {
  /** Its name on the server. */
  name: string;
  description: string;
  parameters: JsonObject;
  /** The definition for calls, without its output schema, which the client library could compile for ever. */
  definition: ListedTool;
}

const NAME = /^[\w.\-/]{1,100}$/;

/** The tools of a server that are offered, and how many of the others its `allowed_tools` would let pass. */
export interface ServerTools {
  tools: readonly RemoteTool[];
  leftOut: number;
}

/** The listed tools that are offered: allowed ones with usable names, each name once, up to a limit. */
export function serverTools(listed: readonly ListedTool[], server: McpServer, log: Logger): ServerTools {
  const { allowedTools } = server;
  const tools = new Map<string, RemoteTool>();
  let leftOut = 0;
  for (const tool of listed) {
    if (allowedTools && !allowedTools.includes(tool.name)) continue;
    if (!NAME.test(tool.name) || tools.has(tool.name) || tools.size >= MCP_LIMITS.tools) leftOut++;
    else tools.set(tool.name, remoteTool(tool));
  }
  const unknown = allowedTools?.filter((name) => !listed.some((tool) => tool.name === name)) ?? [];
  if (leftOut > 0) log.warn({ server: server.name, leftOut }, 'tools of an MCP server are not offered');
  if (unknown.length > 0) log.warn({ server: server.name, unknown }, 'allowed_tools names tools that do not exist');
  return { tools: [...tools.values()], leftOut };
}

function remoteTool(tool: ListedTool): RemoteTool {
  const { outputSchema: _, ...definition } = tool;
  return {
    name: tool.name,
    description: (tool.description ?? tool.title ?? tool.name).slice(0, MCP_LIMITS.description).toWellFormed(),
    parameters: boundedSchema(tool.inputSchema) ?? { type: 'object', additionalProperties: true },
    definition,
  };
}

/** A schema as plain JSON; undefined if there is none or it is too large to send. */
function boundedSchema(schema: unknown): JsonObject | undefined {
  if (!isObject(schema)) return undefined;
  const json = JSON.stringify(schema);
  if (json.length > MCP_LIMITS.schema) return undefined;
  const value = parseJson(json);
  return isJsonObject(value) ? value : undefined;
}
