import type { McpServerConfig } from '../../config/schema.ts';
import type { McpServer } from './mcp-server.ts';

/** Converts a configured server (docs/configuration.md, "tools"). */
export function mcpServerOf(config: McpServerConfig): McpServer {
  const common = { name: config.name, timeoutMs: config.timeoutMs, allowedTools: config.allowed_tools };
  if ('command' in config) return { ...common, command: config.command, args: config.args, env: config.env };
  const { url, headers, access_token: accessToken, oauth } = config;
  return {
    ...common,
    url,
    headers,
    accessToken,
    oauth: oauth && {
      clientId: oauth.client_id,
      clientSecret: oauth.client_secret,
      tokenUrl: oauth.token_url,
      issuer: oauth.issuer,
      scope: oauth.scope,
    },
  };
}
