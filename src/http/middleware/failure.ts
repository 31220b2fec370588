import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorRequestHandler } from 'express';
import { toGatewayError } from '../../base/errors.ts';
import { sendJson } from '../answers/json.ts';
import type { AppDeps } from '../app-deps.ts';
import { errorAnswer, fromHttpFailure } from '../errors.ts';
import { requestContextOf } from '../request-context.ts';

/** How long what the client still sends is read away, in milliseconds. */
const LINGER_MS = 1000;

/** Answers every failure as JSON (docs/api.md, "Errors"). The last handler of the app. */
export function failure({ log }: AppDeps): ErrorRequestHandler {
  return (thrown, req, res, _next) => {
    const context = requestContextOf(res);
    // A client that left is no failure, and nobody is there to hear of one.
    if (context.disconnected) return;
    const error = fromHttpFailure(thrown) ?? toGatewayError(thrown);
    context.error = error.code;
    if (error.code === 'internal_error') log.error({ req: context.id, err: thrown }, 'a request failed');
    // A cut answer must not look like a whole one.
    if (res.headersSent) {
      res.destroy();
      return;
    }
    // Who has no key is not given a connection to try more on.
    if (error.type === 'authentication_error') closeAfter(req, res);
    const allow = res.getHeader('allow');
    sendJson(res, errorAnswer(error, { allow: typeof allow === 'string' ? allow : undefined }));
  };
}

/**
 * Makes an answer the last one of its connection. What the client is still sending is read away for a moment before
 * the connection is closed: closing it at once would reset it, and the client would lose the answer.
 */
function closeAfter(req: IncomingMessage, res: ServerResponse): void {
  res.setHeader('connection', 'close');
  const { socket } = req;
  // Node calls it when the answer is out; without this it would destroy the connection.
  if (!req.complete) socket.destroySoon = () => linger(socket);
}

function linger(socket: Socket): void {
  // No parser any more: what comes is no request.
  socket.removeAllListeners('data').on('data', () => {});
  socket.resume();
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
