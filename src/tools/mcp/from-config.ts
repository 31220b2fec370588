import type { McpServerConfig } from '../../config/schema.ts';
import type { McpServer } from './mcp-server.ts';

/** A configured server (contract section 9) in the words of this folder. */
export function mcpServerOf(config: McpServerConfig): McpServer {
  const common = {
    name: config.name,
    timeoutMs: config.timeoutMs,
    ...(config.allowed_tools === undefined ? {} : { allowedTools: config.allowed_tools }),
  };
  if ('command' in config) return { ...common, command: config.command, args: config.args, env: config.env };
  const { oauth } = config;
  return {
    ...common,
    url: config.url,
    headers: config.headers,
    ...(config.access_token === undefined ? {} : { accessToken: config.access_token }),
    ...(oauth === undefined
      ? {}
      : {
          oauth: {
            clientId: oauth.client_id,
            clientSecret: oauth.client_secret,
            ...(oauth.token_url === undefined ? {} : { tokenUrl: oauth.token_url }),
            ...(oauth.issuer === undefined ? {} : { issuer: oauth.issuer }),
            ...(oauth.scope === undefined ? {} : { scope: oauth.scope }),
          },
        }),
  };
}
