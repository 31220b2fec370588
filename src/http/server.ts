import { randomUUID } from 'node:crypto';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '../base/errors.ts';
import { createServer } from '../base/node-http.ts';
import { afterTurnEnd } from '../base/turn-end.ts';
import { withoutOrigin } from '../protocol/requests/request-target.ts';
import { sendJson } from './answers/json.ts';
import { errorAnswer } from './errors.ts';
import { refuseAfterAnswers, refuseOnSocket } from './refuse-on-socket.ts';
import { wantsWebSocket } from './routes/streamed.ts';
import type { UpgradeHandler } from './web-sockets.ts';

/** Times that connections get, in milliseconds. None of them bounds an answer: streams last as long as they like. */
export interface ServerTimes {
  /** For a request's headers: slower clients mean to hold connections. */
  headers: number;
  /** For a whole request with its body. */
  request: number;
  /** Between two requests: longer than load balancers keep a connection (60 s), so that they close it first. */
  idle: number;
  /** How long a reader may take nothing of what waits for it, whatever is answered. */
  stalled: number;
  /** How often slow requests are looked for. */
  check: number;
}

/** Requests of one connection that wait for their answers, at most: a network packet may hold two thousand. */
const MAX_PIPELINED = 100;

const DEFAULT_TIMES: ServerTimes = { headers: 30_000, request: 300_000, idle: 65_000, stalled: 300_000, check: 5000 };

/** A Node server whose own failures are JSON too (docs/api.md, "Errors"). The caller listens and closes. */
export function createHttpServer(
  app: RequestListener,
  options: Partial<ServerTimes> & { upgrade?: UpgradeHandler | undefined } = {},
): Server {
  const { headers, request, idle, stalled, check, upgrade } = { ...DEFAULT_TIMES, ...options };
  const asked = new WeakMap<Socket, { latest: ServerResponse; waiting: number }>();
  const answer: RequestListener = (req, res) => {
    const { socket } = req;
    const here = asked.get(socket) ?? { latest: res, waiting: 0 };
    if (here.waiting === MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    here.latest = res;
    here.waiting++;
    asked.set(socket, here);
    res.on('close', () => here.waiting--);
    // Express keeps the origin of an absolute target aside; nothing here depends on it.
    req.url = withoutOrigin(req.url ?? '');
    res.on('timeout', endIfStalled);
    app(req, res);
  };
  const server = createServer(
    {
      headersTimeout: headers,
      requestTimeout: request,
      keepAliveTimeout: idle,
      connectionsCheckingInterval: check,
      // Without a Host header Node would answer with an empty 400; nothing here depends on it.
      requireHostHeader: false,
      // Other protocols that a client offers to change to are its wish only: the request is answered as it is.
      shouldUpgradeCallback: (req) => upgrade !== undefined && wantsWebSocket(req),
    },
    answer,
  );
  // Nothing moved on a connection for so long. Node closes it where no answer is being written.
  server.timeout = stalled;
  if (upgrade) server.on('upgrade', upgrade);
  // The body reader asks for the body once the headers are found good.
  server.on('checkContinue', answer);
  server.on('checkExpectation', (_req, res) => {
    const message = 'Expect: only "100-continue" can be met.';
    res.setHeader('x-request-id', randomUUID());
    sendJson(res, errorAnswer(new GatewayError('invalid_parameter', message, { param: 'Expect' })));
  });
  server.on('connect', (_req, socket: Socket) => {
    const error = new GatewayError('method_not_allowed', 'CONNECT is not possible here.');
    // It may break before it is written to, and nobody else listens any more.
    socket.on('error', () => socket.destroy());
    refuseAfterAnswers(socket, error, { allow: 'GET, POST, DELETE' });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else afterTurnEnd(() => refuseRequest(socket, { after: asked.get(socket)?.latest, error }));
  });
  return server;
}

/** Reports a request that the parser refuses, if it would be taken for one. */
function refuseRequest(
  socket: Socket,
  { after, error }: { after: ServerResponse | undefined; error: NodeJS.ErrnoException },
): void {
  // In the middle of an answer another one would be taken for a piece of it; of one that is whole, for the next.
  if (after?.headersSent && !after.writableEnded) socket.destroy();
  else if (after?.headersSent && !after.req.complete) socket.destroySoon();
  else refuseOnSocket(socket, parserError(error.code));
}

/** An answer that has nothing to say yet may take its time. */
function endIfStalled(this: ServerResponse): void {
  if (this.socket !== null && this.socket.writableLength > 0) this.destroy();
}

function parserError(code: string | undefined): GatewayError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('request_too_large', 'The headers of the request are too large.');
    case 'HPE_INVALID_URL':
      return new GatewayError('invalid_request_target', 'The address of the request is not valid.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('invalid_parameter', 'The request did not arrive in time.');
    default:
      return new GatewayError('invalid_parameter', 'The request is not valid HTTP.');
  }
}
