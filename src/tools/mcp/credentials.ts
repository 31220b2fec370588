import { type AuthProvider, ClientCredentialsProvider, type OAuthClientProvider } from '@modelcontextprotocol/client';
import type { HttpMcpServer } from './mcp-server.ts';
import { TokenGrant } from './token-grant.ts';

type Fetch = typeof fetch;

/**
 * How requests to a server are authorised: by a bearer token, by OAuth client credentials, or not at all. OAuth requests
 * use `fetch`, too. A client secret is sent only to the token address or the issuer that was configured with it, else to
 * the MCP server's own origin: the server's metadata are not trusted to name another.
 */
export function authProviderOf(server: HttpMcpServer, fetch: Fetch): AuthProvider | OAuthClientProvider | undefined {
  const { accessToken, oauth } = server;
  if (oauth?.tokenUrl) {
    return new TokenGrant({ ...oauth, tokenUrl: oauth.tokenUrl, resource: server.url, fetch });
  }
  if (oauth) {
    return new ClientCredentialsProvider({
      clientId: oauth.clientId,
      clientSecret: oauth.clientSecret,
      clientName: 'research-gateway',
      expectedIssuer: oauth.issuer ?? new URL(server.url).origin,
      ...(oauth.scope !== undefined && { scope: oauth.scope }),
    });
  }
  if (accessToken !== undefined) return { token: async () => accessToken };
  return undefined;
}
