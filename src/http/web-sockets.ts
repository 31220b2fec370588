import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import { normaliseTarget, withoutOrigin } from '../protocol/requests/request-target.ts';
import type { AppDeps } from './app-deps.ts';
import { refuseNewWork } from './endpoint.ts';
import { socketLimit } from './limits/bounds.ts';
import { authenticate, identify, type KeySource } from './middleware/auth.ts';
import { checkOrigin } from './middleware/origin.ts';
import { refuseAfterAnswers, refuseOnSocket } from './refuse-on-socket.ts';
import { entryFor, mayUsePath, type PassthroughEntry, passthroughCall } from './routes/passthrough-entries.ts';
import { responsesSockets } from './socket/responses-sockets.ts';

/** How often the gateway checks whether the key of a proxied WebSocket may still use it, in milliseconds. */
const RECHECK_MS = 1000;

/** Handles a request to switch protocols. */
export type UpgradeHandler = (req: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * Accepts WebSockets of passthrough paths (docs/configuration.md, "passthrough") and of the
 * Responses API (docs/api.md, "WebSocket"). They end with their key, and when the gateway stops: an upgraded connection
 * no longer belongs to the server.
 */
export function webSockets(deps: AppDeps): UpgradeHandler {
  const open = new Set<Duplex>();
  const limit = socketLimit();
  const acceptResponses = responsesSockets(deps);
  deps.stopping.addEventListener('abort', () => {
    for (const socket of open) socket.destroy();
  });

  async function connect(req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const config = deps.config.current();
    req.url = normaliseTarget(withoutOrigin(req.url ?? ''));
    checkOrigin(req.headers, config);
    const key = identify(req, config, deps);
    refuseNewWork(deps, { others: deps.openAnswers.size });
    const path = req.url.split('?', 1)[0] ?? '';
    const entry = entryFor(path, config);
    if (path === '/v1/responses') {
      const permit = limit.take(key.id);
      socket.once('close', () => permit[Symbol.dispose]());
      await acceptResponses(req, socket, { head, key });
      return;
    }
    if (!entry?.websocket) throw new GatewayError('not_found', 'There is no WebSocket at this address.');
    const call = passthroughCall(req.url, entry, key);
    const permit = limit.take(key.id);
    open.add(socket);
    const answer = deps.openAnswers.add({ key, route: 'websocket', end: () => socket.destroy() });
    // A copy, because the request itself is turned into the one for the provider.
    const keySource = { url: req.url, headers: req.headers, rawHeaders: req.rawHeaders, socket: req.socket };
    // A WebSocket shows its key only once, so one that has expired or lost the right would otherwise be usable for ever.
    const watch = setInterval(() => {
      if (!mayStillUse(keySource, entry)) socket.destroy();
    }, RECHECK_MS);
    const id = crypto.randomUUID();
    socket.once('close', () => {
      clearInterval(watch);
      open.delete(socket);
      permit[Symbol.dispose]();
      answer[Symbol.dispose]();
    });
    const admitting = deps.admission.admit({ key, id, tokens: 0 });
    socket.once('close', () => void admitting.then((admitted) => admitted.settle()).catch(() => {}));
    await admitting;
    await deps.passthrough.connect(req, socket, { head, call, refuse: (error) => refuseOnSocket(socket, error) });
  }

  function mayStillUse(source: KeySource, entry: PassthroughEntry): boolean {
    try {
      return mayUsePath(authenticate(source, deps.config.current(), deps), entry);
    } catch {
      return false;
    }
  }

  return (req, socket, head) => {
    socket.on('error', () => socket.destroy());
    connect(req, socket, head).catch((thrown: unknown) => refuseAfterAnswers(socket, toGatewayError(thrown)));
  };
}
