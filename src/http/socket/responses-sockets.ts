import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocketServer } from 'ws';
import { once } from '../../base/once.ts';
import type { KeyConfig } from '../../config/schema.ts';
import type { AppDeps } from '../app-deps.ts';
import { ResponsesSocket } from './responses-socket.ts';
import { SOCKET_TIMES } from './times.ts';

/** Takes WebSockets of the Responses API (docs/api.md, "WebSocket"): answers handshakes, and refuses what is none. */
export function responsesSockets(deps: AppDeps) {
  const opened = once(() => createServer(deps.config.current().server.bodyLimitBytes));
  return async (req: IncomingMessage, socket: Duplex, { head, key }: { head: Buffer; key: KeyConfig }) => {
    const server = await opened();
    if (socket.destroyed) return;
    const times = { ...SOCKET_TIMES, ...deps.socketTimes };
    server.handleUpgrade(req, socket, head, (ws) => new ResponsesSocket(deps, { ws, req, key, times }));
  };
}

/** Frames are as large as bodies may be, and not compressed: what they unpack to has no bound. */
async function createServer(maxPayload: number): Promise<WebSocketServer> {
  const { WebSocketServer: Server } = await import('ws');
  return new Server({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // One frame a turn of the event loop: a piece of the network may hold ten thousand of them.
    allowSynchronousEvents: false,
    maxPayload,
    // A protocol may hold the key: it is not repeated.
    handleProtocols: (protocols) => [...protocols].find((name) => !name.startsWith('openai-')) ?? false,
  });
}
