import type { JsonObject } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import { type Tool, ToolError } from '../tool.ts';
import type { McpConnection, McpConnectionOptions } from './mcp-connection.ts';
import { DEFAULT_TIMEOUT_MS, type McpServer, TOTAL_TIMEOUT_FACTOR } from './mcp-server.ts';
import type { RemoteTool } from './remote-tool.ts';
import { unreachableTool } from './unreachable-tool.ts';

export interface McpToolsOptions {
  servers: readonly McpServer[];
  /**
   * All HTTP of these servers, OAuth included. For servers of a request: the SSRF-safe fetch. It bounds the size of
   * answers, and must allow `MCP_EXCHANGE`.
   */
  fetch: typeof fetch;
  log: Logger;
  /** How long a list of tools is good for, in milliseconds. Default 5 minutes. */
  listLifetimeMs?: number;
  /** How long a server that could not be reached is not tried again, in milliseconds. Default 15 seconds. */
  restMs?: number;
}

/**
 * The tools of a set of MCP servers. Make one for the configured servers, for as long as the gateway runs, and one per
 * run for the servers of its request.
 */
export interface McpTools extends AsyncDisposable {
  /**
   * The tools as they are now, named `<server>.<tool>`; connects where needed. A server that cannot be reached stands
   * there with one tool that says so and tries again when it is called, so that the model and the client hear of it.
   * Rejects only with the signal's reason.
   */
  tools(options: { signal: AbortSignal }): Promise<Tool[]>;
}

/** @throws Error if two servers have the same name. */
export function createMcpTools(options: McpToolsOptions): McpTools {
  const { servers, fetch, log, listLifetimeMs = 300_000, restMs = 15_000 } = options;
  const twice = servers.find((server, index) => servers.findIndex((other) => other.name === server.name) !== index);
  if (twice) throw new Error(`two MCP servers are named ${twice.name}`);
  let opened: Promise<McpConnection[]> | undefined;
  const connections = () => {
    opened ??= connectionsTo(servers, { fetch, log, listLifetimeMs, restMs });
    return opened;
  };
  return {
    async tools({ signal }) {
      const lists = await Promise.all((await connections()).map((connection) => toolsOf(connection, signal)));
      return lists.flat();
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(((await opened) ?? []).map((connection) => connection[Symbol.asyncDispose]()));
    },
  };
}

/** The client library is loaded only where there are servers. */
async function connectionsTo(servers: readonly McpServer[], options: McpConnectionOptions): Promise<McpConnection[]> {
  if (servers.length === 0) return [];
  const { McpConnection } = await import('./mcp-connection.ts');
  return servers.map((server) => new McpConnection(server, options));
}

async function toolsOf(connection: McpConnection, signal: AbortSignal): Promise<Tool[]> {
  try {
    const remote = await connection.tools({ signal });
    return remote.map((tool) => toTool(connection, tool));
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return [unreachableTool(connection, error)];
  }
}

function toTool(connection: McpConnection, remote: RemoteTool): Tool {
  const { name, timeoutMs = DEFAULT_TIMEOUT_MS } = connection.server;
  return {
    name: `${name}.${remote.name}`,
    description: remote.description,
    parameters: remote.parameters,
    timeoutMs: timeoutMs * TOTAL_TIMEOUT_FACTOR,
    call: (args: JsonObject, context) => connection.call(remote, args, context),
  };
}
