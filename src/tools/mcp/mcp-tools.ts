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
   * Makes all HTTP requests for these servers, OAuth included. Servers of a request need the SSRF-safe fetch. It must
   * limit the size of answers and allow `MCP_EXCHANGE`.
   */
  fetch: typeof fetch;
  log: Logger;
  /** How long a list of tools is valid, in milliseconds. Default 5 minutes. */
  listLifetimeMs?: number;
  /** How long a server that could not be reached is not retried, in milliseconds. Default 15 seconds. */
  restMs?: number;
}

/**
 * The tools of a set of MCP servers. Create one set for the configured servers, for as long as the gateway runs, and one per
 * run for the servers of its request.
 */
export interface McpTools extends AsyncDisposable {
  /**
   * The current tools, named `<server>.<tool>`; connects if needed. A server that cannot be reached has a single tool,
   * which says so to the model and the client and retries when it is called. Rejects only with the signal's reason.
   */
  tools(options: { signal: AbortSignal }): Promise<Tool[]>;
}

/** @throws Error if two servers have the same name. */
export function createMcpTools(options: McpToolsOptions): McpTools {
  const { servers, fetch, log, listLifetimeMs = 300_000, restMs = 15_000 } = options;
  const duplicate = servers.find((server, index) => servers.findIndex((other) => other.name === server.name) !== index);
  if (duplicate) throw new Error(`two MCP servers are named ${duplicate.name}`);
  let opened: Promise<McpConnection[]> | undefined;
  const connections = () => {
    opened ??= connectionsTo(servers, { fetch, log, listLifetimeMs, restMs }).catch((thrown: unknown) => {
      opened = undefined;
      throw thrown;
    });
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

/** Creates the connections. The client library is loaded only if there are servers. */
async function connectionsTo(servers: readonly McpServer[], options: McpConnectionOptions): Promise<McpConnection[]> {
  if (servers.length === 0) return [];
  const { McpConnection } = await import('./mcp-connection.ts');
  return servers.map((server) => new McpConnection(server, options));
}

async function toolsOf(connection: McpConnection, signal: AbortSignal): Promise<Tool[]> {
  try {
    const { tools, leftOut } = await connection.tools({ signal });
    return tools.map((tool, index) => toTool(connection, tool, index === 0 ? leftOut : 0));
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return [unreachableTool(connection, error)];
  }
}

function toTool(connection: McpConnection, remote: RemoteTool, leftOut: number): Tool {
  const { name, timeoutMs = DEFAULT_TIMEOUT_MS } = connection.server;
  return {
    name: `${name}.${remote.name}`,
    description: remote.description,
    parameters: remote.parameters,
    timeoutMs: timeoutMs * TOTAL_TIMEOUT_FACTOR,
    ...(leftOut > 0 && { leftOut: { server: name, count: leftOut } }),
    call: (args: JsonObject, context) => connection.call(remote, args, context),
  };
}
