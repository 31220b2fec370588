import { z } from 'zod';
import { storedObject } from '../../base/stored-object.ts';
import { addressSecrets, headerSecrets } from '../../config/credential-places.ts';

const oauth = storedObject({
  clientId: z.string(),
  clientSecret: z.string(),
  /** Where tokens are requested; by default the server's metadata say where. */
  tokenUrl: z.string().optional(),
  /** The only authorization server that may see the secret. Without it and `tokenUrl`: the MCP server's own origin. */
  issuer: z.string().optional(),
  scope: z.string().optional(),
});

/** An MCP server of a request (docs/api.md, "POST /v1/responses"). Its credentials are encrypted in stored requests. */
export const requestedMcpServer = storedObject({
  /** The prefix of its tools' names: `<name>.<tool>`. */
  name: z.string(),
  url: z.string(),
  /** Sent with every request to the origin of `url`, and to no other. */
  headers: z.record(z.string(), z.string()).optional(),
  accessToken: z.string().optional(),
  /** The tools that may be used; undefined: all. */
  allowedTools: z.array(z.string()).optional(),
  oauth: oauth.optional(),
});
export type RequestedMcpServer = z.output<typeof requestedMcpServer>;

/** A server at an address: streamable HTTP, or the older HTTP with server-sent events. */
export interface HttpMcpServer extends RequestedMcpServer {
  /**
   * The longest silence during a call, in milliseconds; a progress report restarts it. The whole call may take
   * `TOTAL_TIMEOUT_FACTOR` times as long.
   */
  timeoutMs?: number;
}

/** A program that speaks MCP over its standard streams. Only the configuration may name one. */
export interface StdioMcpServer extends Pick<HttpMcpServer, 'name' | 'allowedTools' | 'timeoutMs'> {
  command: string;
  args?: readonly string[];
  /** Added to a small harmless environment; the program gets nothing else of the gateway's environment. */
  env?: Readonly<Record<string, string>>;
}

/** An MCP server that runs may use, from the configuration (docs/configuration.md, "tools") or a request. */
export type McpServer = HttpMcpServer | StdioMcpServer;

export const DEFAULT_TIMEOUT_MS = 60_000;
export const TOTAL_TIMEOUT_FACTOR = 5;

/**
 * What a fetch for MCP must allow: a server may answer a long call with one late JSON body, and all runs call it at once,
 * each call over a connection of its own.
 */
export const MCP_EXCHANGE = { timeouts: { headersMs: 300_000, idleMs: 300_000 }, connections: 256 } as const;

/** How much of a server's data the gateway holds. */
export const MCP_LIMITS = {
  tools: 128,
  pagesOfTools: 16,
  description: 2_000,
  /** Characters of the schema of a tool's input as JSON. */
  schema: 65_536,
  result: 50_000,
  /** Characters of a server's message in an error. */
  message: 1_000,
} as const;

/** Everything in a server's configuration that must not appear in an error or a log line. */
export function secretsOfServer(server: McpServer): string[] {
  const others = 'command' in server ? server.env : server.headers;
  return [...quotableSecrets(server), ...Object.values(others ?? {})];
}

/** The credentials of a server, which it may quote in any answer. */
export function quotableSecrets(server: McpServer): string[] {
  if ('command' in server) return headerSecrets(server.env ?? {});
  const { headers = {}, accessToken, oauth, url } = server;
  const tokens = [accessToken, oauth?.clientSecret].filter((token) => token !== undefined);
  return [...headerSecrets(headers), ...addressSecrets(url), ...keysInPath(url), ...tokens];
}

/** The shortest path segment that may be a key, in characters. */
const MIN_KEY_LENGTH = 20;

/** Some services put a key of the account into the path of the address that they give out. */
function keysInPath(url: string): string[] {
  const segments = new URL(url).pathname.split('/');
  return segments.filter((segment) => segment.length >= MIN_KEY_LENGTH && /\d/.test(segment) && /[a-z]/i.test(segment));
}
