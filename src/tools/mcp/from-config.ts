import type { McpServerConfig } from '../../config/schema.ts';
import type { McpServer } from './mcp-server.ts';

/** A configured server (docs/configuration.md, "tools") in the words of this folder. */
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
