import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import { checkedTarget, withoutOrigin } from '../protocol/requests/request-target.ts';
import type { AppDeps } from './app-deps.ts';
import { refuseNewWork } from './endpoint.ts';
import { socketLimit } from './limits/bounds.ts';
import { authenticate, identify, type KeySource } from './middleware/auth.ts';
import { checkOrigin } from './middleware/origin.ts';
import { refuseAfterAnswers, refuseOnSocket } from './refuse-on-socket.ts';
import { entryFor, mayUsePath, type PassthroughEntry, passthroughCall } from './routes/streamed.ts';
import { responsesSockets } from './socket/responses-sockets.ts';

/** How often it is looked whether the key of a WebSocket that is passed on may still use it, in milliseconds. */
const RECHECK_MS = 1000;

/** Answers a request for another protocol. */
export type UpgradeHandler = (req: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * WebSockets: that of the Responses API (docs/api.md, "WebSocket"), and those of passed-through APIs
 * (docs/configuration.md, "passthrough"), which go first. They end with their key and when the gateway stops: a
 * connection that was upgraded is no longer one of the server's.
 */
export function webSockets(deps: AppDeps): UpgradeHandler {
  const open = new Set<Duplex>();
  const places = socketLimit();
  const acceptResponses = responsesSockets(deps);
  deps.stopping.addEventListener('abort', () => {
    for (const socket of open) socket.destroy();
  });

  async function connect(req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const config = deps.config.current();
    req.url = checkedTarget(withoutOrigin(req.url ?? ''));
    checkOrigin(req.headers, config);
    const key = identify(req, config, deps);
    refuseNewWork(deps, { others: deps.openAnswers.size });
    const path = req.url.split('?', 1)[0] ?? '';
    const entry = entryFor(path, config);
    if (!entry?.websocket && path === '/v1/responses') {
      const place = places.take(key.id);
      socket.once('close', () => place[Symbol.dispose]());
      await acceptResponses(req, socket, { head, key });
      return;
    }
    if (!entry?.websocket) throw new GatewayError('not_found', 'There is no WebSocket at this address.');
    const call = passthroughCall(req.url, entry, key);
    const place = places.take(key.id);
    open.add(socket);
    const answer = deps.openAnswers.add({ key, route: 'websocket', end: () => socket.destroy() });
    // The request itself is made over into the provider's.
    const shown = { url: req.url, headers: req.headers, rawHeaders: req.rawHeaders, socket: req.socket };
    // Nothing on it shows the key again: one that has expired, or may less by now, would go on for as long as it is used.
    const watch = setInterval(() => {
      if (!mayStillUse(shown, entry)) socket.destroy();
    }, RECHECK_MS);
    const id = crypto.randomUUID();
    socket.once('close', () => {
      clearInterval(watch);
      open.delete(socket);
      place[Symbol.dispose]();
      answer[Symbol.dispose]();
    });
    const admitting = deps.admission.admit({ key, id, tokens: 0 });
    socket.once('close', () => void admitting.then((admitted) => admitted.settle()).catch(() => {}));
    await admitting;
    await deps.streamed.connect(req, socket, { head, call, refuse: (error) => refuseOnSocket(socket, error) });
  }

  function mayStillUse(req: KeySource, entry: PassthroughEntry): boolean {
    try {
      return mayUsePath(authenticate(req, deps.config.current(), deps), entry);
    } catch {
      return false;
    }
  }

  return (req, socket, head) => {
    socket.on('error', () => socket.destroy());
    connect(req, socket, head).catch((thrown: unknown) => refuseAfterAnswers(socket, toGatewayError(thrown)));
  };
}
