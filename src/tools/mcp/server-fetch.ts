import { SecretMask } from '../../base/secrets/secret-mask.ts';
import { currentTrace } from '../../base/telemetry/trace-context.ts';
import { headerSecrets } from '../../config/credential-places.ts';
import { boundedMessages } from './bounded-messages.ts';
import { type HttpMcpServer, quotableSecrets } from './mcp-server.ts';

/**
 * Creates a `fetch` that adds the trace and the server's headers, but only to requests to its origin: the same fetch
 * also contacts authorization servers, which a server's metadata may name at will. Answers are limited, and the
 * credentials that were sent are masked in them.
 */
export function serverFetch(server: HttpMcpServer, fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  const { origin } = new URL(server.url);
  const secrets = quotableSecrets(server);
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (URL.parse(url)?.origin !== origin) return boundedMessages(await fetch(input, init), new SecretMask([]));
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    for (const [name, value] of Object.entries({ ...currentTrace(), ...server.headers })) {
      if (!headers.has(name)) headers.set(name, value);
    }
    const mask = new SecretMask([...secrets, ...headerSecrets(Object.fromEntries(headers))]);
    return boundedMessages(await fetch(input, { ...init, headers }), mask);
  };
}
