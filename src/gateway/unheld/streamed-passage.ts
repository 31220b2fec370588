import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { GatewayError } from '../../base/errors.ts';
import { HttpAgent } from '../../base/node-http.ts';
import { once } from '../../base/once.ts';
import type { KeyConfig } from '../../config/schema.ts';
import { failureOfConnection } from '../../upstream/provider-answer.ts';
import type { ProviderTarget } from '../../upstream/provider-target.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import { type Passing, passAnswer, trailersOf, watchRequest } from './passed-answer.ts';
import { watchSocket } from './passed-socket.ts';

/** How long an idle connection to a provider is kept, in milliseconds. */
const KEEP_ALIVE_MS = 30_000;

/** Where a streamed call goes. */
export interface StreamedCall {
  /** The provider's name in the configuration. */
  provider: string;
  key: KeyConfig;
  /** The path after `/v1`, with its query. */
  path: string;
  /** The configured path that it is under, after `/v1/`. */
  api: string;
}

/**
 * Passes calls that are not held: of any size, both ways at once, to one provider (docs/configuration.md,
 * "passthrough").
 */
export interface StreamedPassage extends Disposable {
  /**
   * Passes a request and its answer on, with the client's own request and response.
   * @throws GatewayError `upstream_error`, `upstream_timeout` while nothing was answered.
   */
  pass(req: IncomingMessage, res: ServerResponse, call: StreamedCall): Promise<void>;
  /**
   * Connects a WebSocket of a client with one of the provider; both end together. `refuse` is called, at most once,
   * with a failure before the client was answered.
   * @throws GatewayError `upstream_error`, `not_found`.
   */
  connect(
    req: IncomingMessage,
    socket: Duplex,
    options: { head: Buffer; call: StreamedCall; refuse: (error: GatewayError) => void },
  ): Promise<void>;
}

/** Bytes pass through http-proxy-middleware; headers, credentials and errors are those of every road to a provider. */
export function createStreamedPassage({ upstream }: { upstream: Upstream }): StreamedPassage {
  const agents = new Agents();
  const calls = new WeakMap<IncomingMessage, Passing>();
  const middleware = once(() => loadMiddleware(calls, agents));

  return {
    async pass(req, res, call) {
      const passOn = await middleware();
      if (res.closed) return;
      await new Promise<void>((resolve, reject) => {
        const fail = (error: unknown) => reject(errorOf(error, call.provider));
        calls.set(req, { ...addressed(req, call, { upstream, road: 'streamed' }), fail, answered: () => {} });
        res.once('close', resolve);
        passOn(req, res, (error) => error !== undefined && fail(error)).catch(fail);
      });
    },
    async connect(req, socket, { head, call, refuse }) {
      const { upgrade } = await middleware();
      if (socket.destroyed) return;
      const place = addressed(req, call, { upstream, road: 'socket' });
      let state: 'waiting' | 'failed' | 'open' = 'waiting';
      const fail = (error: unknown) => {
        if (state === 'open') socket.destroy();
        if (state !== 'waiting' || socket.destroyed) return;
        state = 'failed';
        refuse(errorOf(error, call.provider));
      };
      const answered = () => {
        state = 'open';
      };
      calls.set(req, { ...place, fail, answered });
      if (!(socket instanceof Socket)) return void socket.destroy();
      socket.on('error', () => socket.destroy());
      upgrade(req, socket, head);
    },
    [Symbol.dispose]: () => agents[Symbol.dispose](),
  };
}

/** Puts the provider's address and headers on a request of a client: its own headers are gone from now on. */
function addressed(
  req: IncomingMessage,
  { provider, key, path, api }: StreamedCall,
  { upstream, road }: { upstream: Upstream; road: 'streamed' | 'socket' },
): Pick<Passing, 'target' | 'origin'> {
  const target = upstream.target(provider, key);
  if (!target) throw new GatewayError('upstream_error', `The provider ${provider} is not configured.`);
  const address = target.address({ path, api });
  req.headers = target.headersToProvider(road, req.headers, api);
  req.url = address.path;
  return { target, origin: address.origin };
}

/** Loaded with the first call: sixty modules, which most configurations never need. `calls`: those that are passed on now. */
async function loadMiddleware(calls: WeakMap<IncomingMessage, Passing>, agents: Agents) {
  const { createProxyMiddleware } = await import('http-proxy-middleware');
  const answered = new WeakSet<IncomingMessage>();
  const callOf = (req: IncomingMessage): Passing => {
    const call = calls.get(req);
    if (!call) throw new Error('This request is not being passed on.');
    return call;
  };
  return createProxyMiddleware<IncomingMessage, ServerResponse>({
    changeOrigin: true,
    selfHandleResponse: true,
    // Its default plugins answer errors and write log lines themselves.
    ejectPlugins: true,
    router: (req, _res, options) => {
      const { target, origin } = callOf(req);
      const { first_byte, idle } = target.config.timeouts;
      options.proxyTimeout = Math.max(first_byte, idle);
      if (req.headers.upgrade === undefined) options.agent = agents.of(target, origin);
      return origin;
    },
    plugins: [
      (server) => {
        server.on('proxyReq', (proxyReq, req) => {
          watchRequest(proxyReq, callOf(req));
          passTrailers(proxyReq, req);
        });
        server.on('proxyReqWs', (proxyReq, req, socket) => watchSocket(proxyReq, socket, callOf(req)));
        server.on('proxyRes', (answer, req, res) => {
          answered.add(req);
          passAnswer(answer, res, callOf(req));
        });
        // An upload that can go on no longer takes nothing from an answer that has begun.
        server.on('error', (error, req) => {
          if (req && !answered.has(req)) calls.get(req)?.fail(error);
        });
        server.on('econnreset', (error, req) => calls.get(req)?.fail(error));
      },
    ],
  });
}

/** Trailers that come after the client's body. */
function passTrailers(proxyReq: ClientRequest, req: IncomingMessage): void {
  if (req.headers.trailer === undefined) return;
  req.once('end', () => {
    if (proxyReq.hasHeader('transfer-encoding')) proxyReq.addTrailers(trailersOf(req));
  });
}

/** What a client is told of a provider that did not answer. */
function errorOf(error: unknown, provider: string): GatewayError {
  if (error instanceof GatewayError) return error;
  const { kind, message } = failureOfConnection(error);
  return new GatewayError(
    kind === 'timeout' ? 'upstream_timeout' : 'upstream_error',
    `Provider ${provider} failed: ${message}`,
  );
}

/** The connections that are kept, by provider and credential. */
class Agents implements Disposable {
  readonly #byTarget = new WeakMap<ProviderTarget, Agent>();
  readonly #all = new Set<Agent>();

  of(target: ProviderTarget, origin: string): Agent {
    return this.#byTarget.getOrInsertComputed(target, () => {
      // Those of providers that a reload replaced have no connection any more.
      for (const agent of this.#all) if (Object.keys(agent.sockets).length === 0) this.#close(agent);
      const options = { keepAlive: true, timeout: KEEP_ALIVE_MS, maxSockets: target.config.max_connections };
      const agent = origin.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
      this.#all.add(agent);
      return agent;
    });
  }

  [Symbol.dispose](): void {
    for (const agent of this.#all) this.#close(agent);
  }

  #close(agent: Agent): void {
    agent.destroy();
    this.#all.delete(agent);
  }
}
