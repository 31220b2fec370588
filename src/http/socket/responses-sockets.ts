import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocketServer } from 'ws';
import { once } from '../../base/once.ts';
import type { KeyConfig } from '../../config/schema.ts';
import type { AppDeps } from '../app-deps.ts';
import { maxBody } from '../limits/bounds.ts';
import { ResponsesSocket } from './responses-socket.ts';
import { SOCKET_TIMES } from './times.ts';

/** Accepts WebSockets of the Responses API (docs/api.md, "WebSocket"), and refuses invalid handshakes. */
export function responsesSockets(deps: AppDeps) {
  const wsServer = once(() => createServer(maxBody(deps.config.current())));
  return async (req: IncomingMessage, socket: Duplex, { head, key }: { head: Buffer; key: KeyConfig }) => {
    const server = await wsServer();
    if (socket.destroyed) return;
    const times = { ...SOCKET_TIMES, ...deps.socketTimes };
    server.handleUpgrade(req, socket, head, (ws) => new ResponsesSocket(deps, { ws, req, key, times }));
  };
}

/** Frames may be as large as bodies. They are not compressed, because the decompressed size would have no bound. */
async function createServer(maxPayload: number): Promise<WebSocketServer> {
  const { WebSocketServer: Server } = await import('ws');
  return new Server({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // One frame per turn of the event loop: one network packet may contain ten thousand of them.
    allowSynchronousEvents: false,
    maxPayload,
    // A protocol that starts with `openai-` may contain the key, so it is not echoed.
    handleProtocols: (protocols) => [...protocols].find((name) => !name.startsWith('openai-')) ?? false,
  });
}
