import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A plain web server that counts what reaches it. */
export interface WebServer extends AsyncDisposable {
  readonly server: Server;
  readonly port: number;
  /** `http://<host>:<port>`. */
  readonly origin: string;
  /** Paths asked for, in order. */
  readonly requests: string[];
  /** Sockets opened so far, whether or not a request came over them. */
  readonly connections: () => number;
}

/** Starts a server on `host` (loopback by default) with a port of its own. */
export async function startWebServer(handle: RequestListener, host = '127.0.0.1'): Promise<WebServer> {
  const requests: string[] = [];
  let connections = 0;
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    requests.push(request.url ?? '');
    handle(request, response);
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    server,
    port,
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    requests,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A handler that serves fixed pages: path to content type and body. */
export function servePages(pages: Record<string, { type: string; body: string | Uint8Array }>): RequestListener {
  return (request, response) => {
    const page = pages[request.url ?? ''];
    if (!page) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here');
      return;
    }
    response.writeHead(200, { 'content-type': page.type }).end(page.body);
  };
}
