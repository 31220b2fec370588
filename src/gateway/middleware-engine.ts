import { type ClientRequest, Agent as HttpAgent, IncomingMessage, ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { createProxyMiddleware } from 'http-proxy-middleware';
import type { Provider } from '../upstream/provider.ts';
import type { Engine, Exchange, ExchangeListener } from './exchange.ts';
import type { OutgoingRequest } from './outgoing-request.ts';

/** How long an idle connection is kept, in milliseconds. */
const KEEP_ALIVE_MS = 30_000;

export interface MiddlewareEngine extends Disposable {
  engine: Engine;
}

/**
 * Sends requests through http-proxy-middleware. It gets a request of its own instead of the client's, with the headers
 * that may go out and nothing else, and a response that leads nowhere: what comes back goes to the listener, so that a
 * failure does not end the client's response.
 */
export function createMiddlewareEngine(): MiddlewareEngine {
  const agents = new Agents();
  const passing = new WeakMap<IncomingMessage, Passing>();
  const middleware = createProxyMiddleware<IncomingMessage, ServerResponse>({
    changeOrigin: true,
    selfHandleResponse: true,
    // Its default plugins answer errors themselves.
    ejectPlugins: true,
    router: (req, _res, options) => {
      const { request, aborted } = found(passing, req);
      if (aborted) throw aborted;
      options.agent = agents.of(request);
      options.buffer = Readable.from([request.body], { objectMode: false });
      return request.origin;
    },
    plugins: [
      (server) => {
        server.on('proxyReq', (proxyReq, req) => found(passing, req).sent(proxyReq));
        server.on('proxyRes', (answer, req) => found(passing, req).answered(answer));
        server.on('error', (error, req) => req && found(passing, req).listener.error(error));
        server.on('econnreset', (error, req) => found(passing, req).listener.error(error));
      },
    ],
  });
  return {
    engine: (request, listener) => {
      const exchange = new Passing(request, listener);
      passing.set(exchange.req, exchange);
      void middleware(exchange.req, exchange.res, (error) => {
        if (error !== undefined) listener.error(error);
      });
      return exchange;
    },
    [Symbol.dispose]: () => agents[Symbol.dispose](),
  };
}

/** One request on its way through the middleware. */
class Passing implements Exchange {
  readonly request: OutgoingRequest;
  readonly listener: ExchangeListener;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  aborted: Error | undefined;
  #answer: IncomingMessage | undefined;

  constructor(request: OutgoingRequest, listener: ExchangeListener) {
    this.request = request;
    this.listener = listener;
    this.req = new IncomingMessage(new Socket());
    this.req.method = request.method;
    this.req.url = request.path;
    this.req.headers = { ...request.headers, 'content-length': String(request.body.length) };
    this.res = new ServerResponse(this.req);
  }

  pause(): void {
    this.#answer?.pause();
  }

  resume(): void {
    this.#answer?.resume();
  }

  /** The middleware closes the provider's connection when the response closes before its end. */
  abort(reason: Error): void {
    this.aborted = reason;
    this.res.emit('close');
  }

  sent(proxyReq: ClientRequest): void {
    if (this.aborted) proxyReq.destroy();
    else limitConnect(proxyReq, this.request.provider.config.timeouts.connect);
  }

  answered(answer: IncomingMessage): void {
    this.#answer = answer;
    const { listener } = this;
    listener.head({ status: answer.statusCode ?? 502, headers: answer.headers });
    answer.on('data', (chunk: Buffer) => listener.data(chunk));
    answer.on('end', () => listener.end());
    answer.on('error', (error) => listener.error(error));
  }
}

function limitConnect(proxyReq: ClientRequest, ms: number): void {
  const { socket } = proxyReq;
  if (!socket?.connecting) return;
  const timer = setTimeout(() => {
    proxyReq.destroy(Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' }));
  }, ms);
  const clear = () => clearTimeout(timer);
  socket.once('connect', clear);
  proxyReq.once('close', clear);
}

function found(passing: WeakMap<IncomingMessage, Passing>, req: IncomingMessage): Passing {
  const exchange = passing.get(req);
  if (!exchange) throw new Error('This request was not sent by the engine.');
  return exchange;
}

/** The connections that the middleware keeps, by provider. */
class Agents implements Disposable {
  readonly #byProvider = new WeakMap<Provider, HttpAgent>();
  readonly #all = new Set<HttpAgent>();

  of({ provider, origin }: OutgoingRequest): HttpAgent {
    const known = this.#byProvider.get(provider);
    if (known) return known;
    // Those of providers that a reload replaced have no connection any more.
    for (const agent of this.#all) if (Object.keys(agent.sockets).length === 0) this.#close(agent);
    const options = { keepAlive: true, timeout: KEEP_ALIVE_MS, maxSockets: provider.config.max_connections };
    const agent = origin.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
    this.#byProvider.set(provider, agent);
    this.#all.add(agent);
    return agent;
  }

  [Symbol.dispose](): void {
    for (const agent of this.#all) this.#close(agent);
  }

  #close(agent: HttpAgent): void {
    agent.destroy();
    this.#all.delete(agent);
  }
}
