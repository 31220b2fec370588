import type { McpServerConfig } from '../../config/schema.ts';
import type { McpServer, RequestedMcpServer } from './mcp-server.ts';

/** Converts a configured server (docs/configuration.md, "tools"). */
export function mcpServerOf(config: McpServerConfig): McpServer {
  const { name, timeoutMs, allowed_tools: allowedTools } = config;
  if ('command' in config)
    return { name, timeoutMs, allowedTools, command: config.command, args: config.args, env: config.env };
  return { ...httpServerOf(config), timeoutMs };
}

type HttpFields = Pick<
  Extract<McpServerConfig, { url: string }>,
  'name' | 'url' | 'access_token' | 'allowed_tools' | 'oauth'
>;

/** Converts a server at an address, from the configuration or a request. */
export function httpServerOf({
  oauth,
  ...server
}: HttpFields & { headers?: Record<string, string> | undefined }): RequestedMcpServer {
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
