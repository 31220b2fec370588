import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { createHttpServer } from './server.ts';
import type { UpgradeHandler } from './web-sockets.ts';

/** The listening servers of a gateway. */
export interface ListeningServers extends AsyncDisposable {
  /** Address of the first server without the final `/v1`, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Stops listening, and waits up to `graceMs` for answers in progress. */
  drain(options: { graceMs: number }): Promise<void>;
}

/** Connections that may wait to be accepted, if the system allows so many. With Node's 511 a thousand clients have to wait. */
const BACKLOG = 4096;

/**
 * Listens on all ports, or on none.
 * @throws the system's error, such as `EADDRINUSE`, if one port cannot be used.
 */
export async function listen(
  host: string,
  ports: readonly { app: RequestListener; port: number; upgrade?: UpgradeHandler }[],
): Promise<ListeningServers> {
  await using resources = new AsyncDisposableStack();
  const servers: Server[] = [];
  for (const { app, port, upgrade } of ports) {
    const server = createHttpServer(app, { upgrade });
    resources.defer(() => drainServer(server, { graceMs: 0 }));
    server.listen({ port, host, backlog: BACKLOG });
    await once(server, 'listening');
    servers.push(server);
  }
  resources.move();
  const drain = async (options: { graceMs: number }) => {
    await Promise.all(servers.map((server) => drainServer(server, options)));
  };
  return { url: urlOf(servers[0], host), drain, [Symbol.asyncDispose]: () => drain({ graceMs: 0 }) };
}

async function drainServer(server: Server, { graceMs }: { graceMs: number }): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const graceTimer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(graceTimer);
}

function urlOf(server: Server | undefined, host: string): string {
  const address = server?.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const displayHost = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${displayHost.includes(':') ? `[${displayHost}]` : displayHost}:${port}`;
}
