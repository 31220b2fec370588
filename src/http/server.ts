import { randomUUID } from 'node:crypto';
import type { RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '../base/errors.ts';
import { afterTurnEnd } from '../base/load/turn-end.ts';
import { createServer, IncomingMessage, ServerResponse as NodeResponse } from '../base/node/node-http.ts';
import { withoutOrigin } from '../protocol/requests/request-target.ts';
import { sendJson } from './answers/json.ts';
import { errorAnswer } from './errors.ts';
import { refuseAfterAnswers, refuseOnSocket } from './refuse-on-socket.ts';
import { wantsWebSocket } from './routes/passthrough-entries.ts';
import type { UpgradeHandler } from './web-sockets.ts';

/** Time limits of connections, in milliseconds. None of them bounds an answer: streams may last for any time. */
export interface ServerTimes {
  /** For a request's headers. Slower clients only want to occupy connections. */
  headers: number;
  /** For a whole request with its body. */
  request: number;
  /** Between two requests. Load balancers keep connections for 60 s, and have to be the ones that close them. */
  idle: number;
  /** How long a client may read nothing of an answer that is waiting for it. */
  stalled: number;
  /** How often the server checks for slow requests. */
  check: number;
}

/** Requests of one connection that may wait for answers: a single network packet can hold two thousand. */
const MAX_PIPELINED = 100;

const DEFAULT_TIMES: ServerTimes = { headers: 30_000, request: 300_000, idle: 65_000, stalled: 300_000, check: 5000 };

/** Creates a Node server that reports its own failures as JSON, too (docs/api.md, "Errors"). The caller listens and closes. */
export function createHttpServer(
  app: RequestListener,
  options: Partial<ServerTimes> & { upgrade?: UpgradeHandler | undefined } = {},
): Server {
  const { headers, request, idle, stalled, check, upgrade } = { ...DEFAULT_TIMES, ...options };
  const connections = new WeakMap<Socket, { latest: ServerResponse; waiting: number }>();
  const handle: RequestListener = (req, res) => {
    const { socket } = req;
    const connection = connections.getOrInsertComputed(socket, () => ({ latest: res, waiting: 0 }));
    if (connection.waiting === MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    connection.latest = res;
    connection.waiting++;
    res.on('close', () => connection.waiting--);
    // Clients may send absolute targets; the gateway ignores their origin.
    req.url = withoutOrigin(req.url ?? '');
    app(req, res);
  };
  const server = createServer(
    {
      headersTimeout: headers,
      requestTimeout: request,
      keepAliveTimeout: idle,
      connectionsCheckingInterval: check,
      // The gateway does not need a Host header, and Node would answer with an empty 400.
      requireHostHeader: false,
      // A client that offers any other protocol gets an ordinary answer.
      shouldUpgradeCallback: (req) => upgrade !== undefined && wantsWebSocket(req),
      ...classesOf(app),
    },
    handle,
  );
  server.timeout = stalled;
  // Ends a stalled connection, but not one whose answer is merely slow to come.
  server.on('timeout', (socket: Socket) => {
    if (!connections.get(socket)?.waiting || socket.writableLength > 0) socket.destroy();
  });
  if (upgrade) server.on('upgrade', upgrade);
  // `readBody` sends 100 Continue once the headers have been checked.
  server.on('checkContinue', handle);
  server.on('checkExpectation', (_req, res) => {
    const message = 'Expect: only "100-continue" can be met.';
    res.setHeader('x-request-id', randomUUID());
    sendJson(res, errorAnswer(new GatewayError('invalid_parameter', message, { param: 'Expect' })));
  });
  server.on('connect', (_req, socket: Socket) => {
    const error = new GatewayError('method_not_allowed', 'CONNECT is not possible here.');
    // The socket may break before the refusal is written, and has no other listener.
    socket.on('error', () => socket.destroy());
    refuseAfterAnswers(socket, error, { allow: 'GET, POST, DELETE' });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else afterTurnEnd(() => refuseRequest(socket, { after: connections.get(socket)?.latest, error }));
  });
  return server;
}

/**
 * The classes of requests and answers. An Express app gives each object its own prototypes, which takes as long as its
 * routing; objects of these classes have them from the start.
 */
function classesOf(
  app: RequestListener & { request?: object; response?: object },
): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  if (!app.request || !app.response) return {};
  class Request extends IncomingMessage {}
  class Response<Req extends InstanceType<typeof IncomingMessage>> extends NodeResponse<Req> {}
  app.request = Object.setPrototypeOf(Request.prototype, app.request) as Request;
  app.response = Object.setPrototypeOf(Response.prototype, app.response) as ServerResponse;
  return { IncomingMessage: Request, ServerResponse: Response };
}

/** Answers a request that the parser refused, unless the client would mistake that for a part of another answer. */
function refuseRequest(
  socket: Socket,
  { after, error }: { after: ServerResponse | undefined; error: NodeJS.ErrnoException },
): void {
  // In the middle of an answer the error would look like a piece of it; after the answer to an unfinished request, like
  // the answer to the next one.
  if (after?.headersSent && !after.writableEnded) socket.destroy();
  else if (after?.headersSent && !after.req.complete) socket.destroySoon();
  else refuseOnSocket(socket, parserError(error.code));
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
