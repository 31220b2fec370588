import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorRequestHandler } from 'express';
import { toGatewayError } from '../../base/errors.ts';
import { sendJson } from '../answers/json.ts';
import type { AppDeps } from '../app-deps.ts';
import { errorAnswer, fromHttpFailure } from '../errors.ts';
import { requestContextOf } from '../request-context.ts';

/** How long the rest of a request is read and discarded, in milliseconds. */
const LINGER_MS = 1000;

/** Answers every failure as JSON (docs/api.md, "Errors"). The last handler of the app. */
export function failure({ log }: AppDeps): ErrorRequestHandler {
  return (thrown, req, res, _next) => {
    const context = requestContextOf(res);
    // A disconnect of the client is no failure, and nobody would read the error.
    if (context.disconnected) return;
    const error = fromHttpFailure(thrown) ?? toGatewayError(thrown);
    context.error = error.code;
    if (error.code === 'internal_error') log.error({ req: context.id, err: thrown }, 'a request failed');
    // A partial answer must not look like a complete one.
    if (res.headersSent) {
      res.destroy();
      return;
    }
    // A client without a valid key gets no open connection for further guesses.
    if (error.type === 'authentication_error') closeAfter(req, res);
    const allow = res.getHeader('allow');
    sendJson(res, errorAnswer(error, { allow: typeof allow === 'string' ? allow : undefined }));
  };
}

/**
 * Closes the connection after this answer. The rest of the request is discarded for a moment first: closing the connection
 * at once would reset it, and the client would lose the answer.
 */
function closeAfter(req: IncomingMessage, res: ServerResponse): void {
  res.setHeader('connection', 'close');
  const { socket } = req;
  // Node calls `destroySoon` once the answer is written, which would reset the connection.
  if (!req.complete) socket.destroySoon = () => linger(socket);
}

function linger(socket: Socket): void {
  // Detaches the HTTP parser, so that the data is not taken for a further request.
  socket.removeAllListeners('data').on('data', () => {});
  socket.resume();
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
