import { currentTrace } from '../../base/trace-context.ts';
import { boundedMessages } from './bounded-messages.ts';
import type { HttpMcpServer } from './mcp-server.ts';

/**
 * `fetch` that adds the trace and the server's own headers, but only on requests to its origin: the same fetch also asks
 * authorization servers, which a server's metadata may name at will. What comes back is bounded.
 */
export function serverFetch(server: HttpMcpServer, fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  const { origin } = new URL(server.url);
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (URL.parse(url)?.origin !== origin) return boundedMessages(await fetch(input, init));
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    for (const [name, value] of Object.entries({ ...currentTrace(), ...server.headers })) {
      if (!headers.has(name)) headers.set(name, value);
    }
    return boundedMessages(await fetch(input, { ...init, headers }));
  };
}
