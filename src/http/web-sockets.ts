import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import { checkedTarget, withoutOrigin } from '../protocol/requests/request-target.ts';
import type { AppDeps } from './app-deps.ts';
import { refuseNewWork } from './endpoint.ts';
import { openSockets } from './limits/bounds.ts';
import { authenticate } from './middleware/auth.ts';
import { checkOrigin } from './middleware/origin.ts';
import { refuseAfterAnswers, refuseOnSocket } from './refuse-on-socket.ts';
import { entryFor, streamedCall } from './routes/streamed.ts';

/** Answers a request for another protocol. */
export type UpgradeHandler = (req: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * WebSockets of passed-through APIs (contract section 8.1). They end with their key and when the gateway stops: a
 * connection that was upgraded is no longer one of the server's.
 */
export function webSockets(deps: AppDeps): UpgradeHandler {
  const open = new Set<Duplex>();
  const places = openSockets();
  deps.stopping.addEventListener('abort', () => {
    for (const socket of open) socket.destroy();
  });

  async function connect(req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const config = deps.config.current();
    req.url = checkedTarget(withoutOrigin(req.url ?? ''));
    checkOrigin(req.headers, config);
    const key = authenticate(req, config);
    refuseNewWork(deps, { others: deps.openAnswers.size });
    const entry = entryFor(req.url.split('?', 1)[0] ?? '', config);
    if (!entry?.websocket) throw new GatewayError('not_found', 'There is no WebSocket at this address.');
    const call = streamedCall(req.url, entry, key);
    const place = places.take(key.id);
    open.add(socket);
    const answer = deps.openAnswers.add({ key, route: 'websocket', end: () => socket.destroy() });
    const id = crypto.randomUUID();
    socket.once('close', () => {
      open.delete(socket);
      place[Symbol.dispose]();
      answer[Symbol.dispose]();
    });
    const admitted = await deps.admission.admit({ key, id, tokens: 0, announce: () => {} });
    socket.once('close', () => void admitted.settle().catch(() => {}));
    if (socket.destroyed) await admitted.settle();
    else await deps.streamed.connect(req, socket, { head, call, refuse: (error) => refuseOnSocket(socket, error) });
  }

  return (req, socket, head) => {
    socket.on('error', () => socket.destroy());
    connect(req, socket, head).catch((thrown: unknown) => refuseAfterAnswers(socket, toGatewayError(thrown)));
  };
}
