import { type AuthProvider, ClientCredentialsProvider, type OAuthClientProvider } from '@modelcontextprotocol/client';
import type { HttpMcpServer } from './mcp-server.ts';
import { TokenGrant } from './token-grant.ts';

type Fetch = typeof fetch;

/**
 * How requests to a server are authorised: a bearer token, OAuth client credentials, or not at all. OAuth requests go
 * through `fetch` like every other. A client secret is only ever sent to the token address or the issuer that came
 * with it, or else to the MCP server's own origin: what a server's metadata claim is not enough.
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
