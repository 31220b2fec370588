import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { GatewayError } from '../base/errors.ts';
import type { KeyConfig } from '../config/schema.ts';
import { AttemptFailure, brokenStream } from '../upstream/provider-answer.ts';
import type { ProviderTarget } from '../upstream/provider-target.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { endAnswer } from './client-writer.ts';
import { ShortLivedMemory } from './short-lived-memory.ts';

/** How long an idle connection to a provider is kept, in milliseconds. */
const KEEP_ALIVE_MS = 30_000;
/** The longest error of a provider that is passed on, in bytes. */
const MAX_ERROR = 1024 * 1024;
/** A WebSocket on which nothing is said for so long is closed, in milliseconds. */
const SILENT_SOCKET_MS = 30 * 60_000;

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

/** Passes calls that are not held: of any size, both ways at once, to one provider (contract section 8.1). */
export interface StreamedPassage extends Disposable {
  /**
   * Passes a request and its answer on, with the client's own request and response.
   * @throws GatewayError `upstream_error`, `upstream_timeout` while nothing was answered.
   */
  pass(req: IncomingMessage, res: ServerResponse, call: StreamedCall): Promise<void>;
  /** Connects a WebSocket of a client with one of the provider; both end together. @throws GatewayError as `pass`. */
  connect(req: IncomingMessage, socket: Duplex, options: { head: Buffer; call: StreamedCall }): void;
}

interface Passing {
  target: ProviderTarget;
  origin: string;
  fail(error: unknown): void;
  memory: ShortLivedMemory;
}

/** Bytes pass through http-proxy-middleware; headers, credentials and errors are those of every road to a provider. */
export function createStreamedPassage({ upstream }: { upstream: Upstream }): StreamedPassage {
  const agents = new Agents();
  const memory = new ShortLivedMemory();
  const passing = new WeakMap<IncomingMessage, Passing>();
  const of = (req: IncomingMessage): Passing => {
    const found = passing.get(req);
    if (!found) throw new Error('This request is not being passed.');
    return found;
  };
  const middleware = createProxyMiddleware<IncomingMessage, ServerResponse>({
    changeOrigin: true,
    selfHandleResponse: true,
    // Its default plugins answer errors and write log lines themselves.
    ejectPlugins: true,
    router: (req, _res, options) => {
      const { target, origin } = of(req);
      const { first_byte, idle } = target.config.timeouts;
      options.proxyTimeout = Math.max(first_byte, idle);
      if (req.headers.upgrade === undefined) options.agent = agents.of(target, origin);
      return origin;
    },
    plugins: [
      (server) => {
        server.on('proxyReq', (proxyReq, req) => {
          prepare(proxyReq, req, of(req).target);
          memory.watch(req);
        });
        server.on('proxyReqWs', (proxyReq, req) => filterUpgrade(proxyReq, of(req).target));
        server.on('proxyRes', (answer, req, res) => answerWith(answer, res, of(req)));
        server.on('error', (error, req) => req && passing.get(req)?.fail(error));
        server.on('econnreset', (error, req) => passing.get(req)?.fail(error));
      },
    ],
  });

  function prepared(req: IncomingMessage, { provider, key, path, api }: StreamedCall, isSocket: boolean) {
    const target = upstream.target(provider, key);
    if (!target) throw new GatewayError('upstream_error', `The provider ${provider} is not configured.`);
    const address = target.address({ path, api });
    const { headers } = req;
    // What goes out is what stands here: the client's own headers are gone from now on.
    req.headers = isSocket ? target.socketHeaders(headers) : target.streamedHeaders(headers, api);
    req.url = address.path;
    return { target, origin: address.origin };
  }

  return {
    pass: (req, res, call) =>
      new Promise((resolve, reject) => {
        const { target, origin } = prepared(req, call, false);
        const fail = (error: unknown) => reject(errorOf(error, call.provider));
        passing.set(req, { target, origin, fail, memory });
        res.once('close', resolve);
        middleware(req, res, (error) => error !== undefined && fail(error)).catch(fail);
      }),
    connect(req, socket, { head, call }) {
      const { target, origin } = prepared(req, call, true);
      const fail = () => socket.destroy();
      passing.set(req, { target, origin, fail, memory });
      if (!(socket instanceof Socket)) return fail();
      socket.setTimeout(SILENT_SOCKET_MS, fail);
      socket.on('error', fail);
      middleware.upgrade(req, socket, head);
    },
    [Symbol.dispose]: () => agents[Symbol.dispose](),
  };
}

/** Time limit of the connection, and trailers that come after the body. */
function prepare(proxyReq: ClientRequest, req: IncomingMessage, target: ProviderTarget): void {
  limitConnect(proxyReq, target.config.timeouts.connect);
  if (req.headers.trailer === undefined) return;
  req.once('end', () => {
    if (proxyReq.hasHeader('transfer-encoding')) proxyReq.addTrailers(req.trailers);
  });
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

/** Writes the provider's answer: as it comes, or, where it tells of an error, without the credentials it may quote. */
function answerWith(answer: IncomingMessage, res: ServerResponse, { target, fail, memory }: Passing): void {
  const { statusCode: status = 502 } = answer;
  if (status === 401 || status === 403) {
    answer.resume();
    fail(new AttemptFailure(`HTTP status ${status}`, { kind: 'refused', advice: 'never', status }));
    return;
  }
  const headers = target.headersToClient({ status, headers: answer.headers });
  if (status >= 400) {
    answerError(answer, res, { target, status, headers });
    return;
  }
  if (answer.headers.trailer !== undefined) headers.trailer = target.mask.text(answer.headers.trailer);
  res.writeHead(status, headers);
  res.flushHeaders();
  answer.once('end', () => {
    const names = Object.keys(answer.trailers);
    if (names.length > 0) res.addTrailers(masked(answer.trailers, target));
  });
  memory.watch(answer);
  answer.pipe(res);
}

function answerError(
  answer: IncomingMessage,
  res: ServerResponse,
  { target, status, headers }: { target: ProviderTarget; status: number; headers: Record<string, string> },
): void {
  const pieces: Buffer[] = [];
  let size = 0;
  answer.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_ERROR) pieces.push(chunk);
    else answer.destroy();
  });
  answer.once('end', () => {
    const body = Buffer.concat(pieces);
    target.mask.apply(body);
    const length = body.length > 0 ? { 'content-length': String(body.length) } : {};
    res.writeHead(status, { ...headers, ...length });
    endAnswer(res, body);
  });
}

/** The head of an upgraded connection has the provider's own headers in it. */
function filterUpgrade(proxyReq: ClientRequest, target: ProviderTarget): void {
  const filter = (answer: IncomingMessage) => {
    const kept: Record<string, string> = target.headersToClient({ status: 101, headers: answer.headers });
    for (const name of UPGRADE) {
      const value = answer.headers[name];
      if (value !== undefined) kept[name] = String(value);
    }
    answer.headers = kept;
  };
  proxyReq.prependListener('upgrade', filter);
  proxyReq.prependListener('response', filter);
}

const UPGRADE = [
  'connection',
  'upgrade',
  'sec-websocket-accept',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
  'transfer-encoding',
];

function masked(trailers: NodeJS.Dict<string>, target: ProviderTarget): [string, string][] {
  return Object.entries(trailers).map(([name, value]) => [name, target.mask.text(value ?? '')]);
}

/** What a client is told of a provider that did not answer. */
function errorOf(error: unknown, provider: string): GatewayError {
  if (error instanceof GatewayError) return error;
  const failure = error instanceof AttemptFailure ? error : brokenStream(`the connection failed (${codeOf(error)})`);
  const isLate = codeOf(error) === 'ETIMEDOUT';
  return new GatewayError(
    isLate ? 'upstream_timeout' : 'upstream_error',
    `Provider ${provider} failed: ${failure.message}`,
  );
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z_]+$/.test(code) ? code : 'unknown fault';
}

/** The connections that are kept, by provider and credential. */
class Agents implements Disposable {
  readonly #byTarget = new WeakMap<ProviderTarget, HttpAgent>();
  readonly #all = new Set<HttpAgent>();

  of(target: ProviderTarget, origin: string): HttpAgent {
    const known = this.#byTarget.get(target);
    if (known) return known;
    // Those of providers that a reload replaced have no connection any more.
    for (const agent of this.#all) if (Object.keys(agent.sockets).length === 0) this.#close(agent);
    const options = { keepAlive: true, timeout: KEEP_ALIVE_MS, maxSockets: target.config.max_connections };
    const agent = origin.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
    this.#byTarget.set(target, agent);
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
