import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { GatewayError } from '../../base/errors.ts';
import { HttpAgent } from '../../base/node/node-http.ts';
import { once } from '../../base/once.ts';
import type { KeyConfig } from '../../config/schema.ts';
import { failureOfConnection, timedOut } from '../../upstream/provider-answer.ts';
import type { ProviderTarget } from '../../upstream/provider-target.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import { headLimitMs, type ProxyContext, relayAnswer, trailersOf, watchRequest } from './relay-answer.ts';
import { watchSocket } from './relay-socket.ts';

/** How long an idle connection to a provider stays open, in milliseconds. */
const KEEP_ALIVE_MS = 30_000;

/** Where a passthrough call goes. */
export interface PassthroughCall {
  /** The provider's name in the configuration. */
  provider: string;
  key: KeyConfig;
  /** The path after `/v1`, with its query. */
  path: string;
  /** The configured path that covers the call, after `/v1/`. */
  api: string;
}

/** Streams calls of any size in both directions, without buffering, to one provider (docs/configuration.md, "passthrough"). */
export interface Passthrough extends Disposable {
  /**
   * Proxies a request and its answer. `req` is modified.
   * @throws GatewayError `upstream_error`, `upstream_timeout` before the answer has started.
   */
  pass(req: IncomingMessage, res: ServerResponse, call: PassthroughCall): Promise<void>;
  /**
   * Connects a client's WebSocket with one of the provider; both end together. `refuse` is called, at most once, with a
   * failure that happens before the client has got an answer.
   * @throws GatewayError `upstream_error`, `not_found`.
   */
  connect(
    req: IncomingMessage,
    socket: Duplex,
    options: { head: Buffer; call: PassthroughCall; refuse: (error: GatewayError) => void },
  ): Promise<void>;
}

/** http-proxy-middleware moves the bytes; headers, credentials and errors are handled as for every call of a provider. */
export function createPassthrough({ upstream }: { upstream: Upstream }): Passthrough {
  const agents = new Agents();
  const calls = new WeakMap<IncomingMessage, ProxyContext>();
  const middleware = once(() => loadMiddleware(calls, agents));

  return {
    async pass(req, res, call) {
      const proxy = await middleware();
      if (res.closed) return;
      await new Promise<void>((resolve, reject) => {
        const fail = (error: unknown) => reject(toClientError(error, call.provider));
        const destination = retarget(req, call, { upstream, kind: 'streamed' });
        const onQueueTimeout = () => {
          calls.delete(req);
          fail(timedOut('no connection became free in time'));
        };
        const queueTimer = setTimeout(onQueueTimeout, headLimitMs(destination.target));
        calls.set(req, { ...destination, fail, onConnection: () => clearTimeout(queueTimer) });
        res.once('close', () => {
          clearTimeout(queueTimer);
          resolve();
        });
        proxy(req, res, (error) => error !== undefined && fail(error)).catch(fail);
      });
    },
    async connect(req, socket, { head, call, refuse }) {
      const { upgrade } = await middleware();
      if (socket.destroyed) return;
      const destination = retarget(req, call, { upstream, kind: 'socket' });
      let state: 'waiting' | 'failed' | 'open' = 'waiting';
      const fail = (error: unknown) => {
        if (state === 'open') socket.destroy();
        if (state !== 'waiting' || socket.destroyed) return;
        state = 'failed';
        refuse(toClientError(error, call.provider));
      };
      const onAnswered = () => {
        state = 'open';
      };
      calls.set(req, { ...destination, fail, onAnswered });
      if (!(socket instanceof Socket)) return void socket.destroy();
      socket.on('error', () => socket.destroy());
      upgrade(req, socket, head);
    },
    [Symbol.dispose]: () => agents[Symbol.dispose](),
  };
}

/** Replaces the address and the headers of a client's request with those for the provider. */
function retarget(
  req: IncomingMessage,
  { provider, key, path, api }: PassthroughCall,
  { upstream, kind }: { upstream: Upstream; kind: 'streamed' | 'socket' },
): Pick<ProxyContext, 'target' | 'origin'> {
  const target = upstream.target(provider, key);
  if (!target) throw new GatewayError('upstream_error', `The provider ${provider} is not configured.`);
  const address = target.address({ path, api });
  req.headers = target.headersToProvider(kind, req.headers, api);
  req.url = address.path;
  return { target, origin: address.origin };
}

/** Loads the proxy with the first call: it has sixty modules, which most configurations never need. `calls`: those in progress. */
async function loadMiddleware(calls: WeakMap<IncomingMessage, ProxyContext>, agents: Agents) {
  const { createProxyMiddleware } = await import('http-proxy-middleware');
  const answered = new WeakSet<IncomingMessage>();
  const callOf = (req: IncomingMessage): ProxyContext => {
    const call = calls.get(req);
    if (!call) throw new Error('This request is not being proxied.');
    return call;
  };
  return createProxyMiddleware<IncomingMessage, ServerResponse>({
    changeOrigin: true,
    selfHandleResponse: true,
    // The default plugins would answer errors and write log lines.
    ejectPlugins: true,
    router: (req, _res, options) => {
      const { target, origin } = callOf(req);
      options.proxyTimeout = headLimitMs(target);
      // A body that a provider sends to HEAD all the same would be read as the next answer on the connection.
      if (req.method === 'HEAD') options.agent = false;
      else if (req.headers.upgrade === undefined) options.agent = agents.agentFor(target, origin);
      return origin;
    },
    plugins: [
      (server) => {
        server.on('proxyReq', (proxyReq, req) => {
          const call = calls.get(req);
          // It waited too long for this connection.
          if (!call) return void proxyReq.destroy();
          call.onConnection?.();
          watchRequest(proxyReq, call);
          passTrailers(proxyReq, req);
        });
        server.on('proxyReqWs', (proxyReq, req, socket) => watchSocket(proxyReq, socket, callOf(req)));
        server.on('proxyRes', (answer, req, res) => {
          answered.add(req);
          relayAnswer(answer, res, callOf(req));
        });
        // An upload that breaks off does not harm an answer that has started.
        server.on('error', (error, req) => {
          if (req && !answered.has(req)) calls.get(req)?.fail(error);
        });
        server.on('econnreset', (error, req) => calls.get(req)?.fail(error));
      },
    ],
  });
}

/** Relays the trailers that follow the client's body. */
function passTrailers(proxyReq: ClientRequest, req: IncomingMessage): void {
  if (req.headers.trailer === undefined) return;
  req.once('end', () => {
    if (proxyReq.hasHeader('transfer-encoding')) proxyReq.addTrailers(trailersOf(req));
  });
}

function toClientError(error: unknown, provider: string): GatewayError {
  if (error instanceof GatewayError) return error;
  const { kind, message } = failureOfConnection(error);
  return new GatewayError(
    kind === 'timeout' ? 'upstream_timeout' : 'upstream_error',
    `Provider ${provider} failed: ${message}`,
  );
}

/** Pools of connections, by provider and credential. */
class Agents implements Disposable {
  readonly #byTarget = new WeakMap<ProviderTarget, Agent>();
  readonly #agents = new Set<Agent>();

  agentFor(target: ProviderTarget, origin: string): Agent {
    return this.#byTarget.getOrInsertComputed(target, () => {
      // The pools of providers that a reload replaced have no open connections.
      for (const agent of this.#agents) if (Object.keys(agent.sockets).length === 0) this.#close(agent);
      const options = { keepAlive: true, timeout: KEEP_ALIVE_MS, maxSockets: target.config.max_connections };
      const agent = origin.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
      this.#agents.add(agent);
      return agent;
    });
  }

  [Symbol.dispose](): void {
    for (const agent of this.#agents) this.#close(agent);
  }

  #close(agent: Agent): void {
    agent.destroy();
    this.#agents.delete(agent);
  }
}
