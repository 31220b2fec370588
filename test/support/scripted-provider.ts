import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { json, type Script, type Step, turn } from './provider-scripts.ts';
import { patience } from './time-limit.ts';

export * from './provider-scripts.ts';

/** A request as the provider saw it. */
export interface ProviderRequest {
  method: string;
  /** Path with query, such as `/v1/chat/completions`. */
  path: string;
  headers: IncomingHttpHeaders;
  /** Header names and values as they came over the wire. */
  rawHeaders: string[];
  /** The bytes of the body. */
  bytes: Buffer;
  /** The body as JSON; `{}` where it is none. */
  body: ChatBody;
  /** Resolved when the exchange is over: answered, cut or left. `left`: the other side closed before the end. */
  closed: Promise<{ left: boolean }>;
}

/** Whether a request lets its model call tools: a research turn. */
export function mayCallTools({ body }: { body: ChatBody }): boolean {
  return Boolean(body.tools?.length) && body.tool_choice !== 'none';
}

/** The fields of a chat request that tests look at. */
export interface ChatBody {
  model?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
  messages?: any[];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
  tools?: any[];
  tool_choice?: unknown;
  stream?: boolean;
  [field: string]: unknown;
}

export interface ScriptedProviderOptions {
  /** The answer to the `n`th request (from 0). GET /models is answered by itself. Default: a short text. */
  respond?: (request: ProviderRequest, n: number) => Script | Promise<Script>;
}

/** An OpenAI-compatible provider over real HTTP on loopback that follows a script. */
export interface ScriptedProvider extends AsyncDisposable {
  /** Base URL with `/v1`. */
  readonly url: string;
  readonly port: number;
  /** Every POST seen so far, in order. */
  readonly requests: ProviderRequest[];
  /** Sockets open right now. */
  readonly openConnections: number;
  /** Sockets opened so far. */
  readonly totalConnections: number;
  /** Requests whose answer has not ended. */
  readonly activeRequests: number;
  /** Replaces the script. */
  respond: (request: ProviderRequest, n: number) => Script | Promise<Script>;
  /** Waits for the `n`th request (counted from 1) and gives it. */
  waitForRequest(n?: number, options?: { timeoutMs?: number }): Promise<ProviderRequest>;
  /** Waits until exactly `n` requests are being answered. */
  waitForActive(n: number, options?: { timeoutMs?: number }): Promise<void>;
  /** Waits until exactly `n` sockets are open. */
  waitForConnections(n: number, options?: { timeoutMs?: number }): Promise<void>;
}

/** Starts a scripted provider. Use with `await using`. */
export async function startScriptedProvider(options: ScriptedProviderOptions = {}): Promise<ScriptedProvider> {
  const sockets = new Set<Socket>();
  const requests: ProviderRequest[] = [];
  let connections = 0;
  let active = 0;
  let answered = 0;
  const changes = new EventTarget();
  const changed = () => changes.dispatchEvent(new Event('change'));

  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    active += 1;
    const { promise: closed, resolve } = Promise.withResolvers<{ left: boolean }>();
    response.once('close', () => {
      active -= 1;
      resolve({ left: !response.writableFinished });
      changed();
    });
    response.on('error', () => {});
    void serve(request, response, closed).catch(() => response.destroy());
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    connections += 1;
    socket.on('error', () => {});
    socket.once('close', () => {
      sockets.delete(socket);
      changed();
    });
    changed();
  });

  async function serve(incoming: IncomingMessage, response: ServerResponse, closed: Promise<{ left: boolean }>) {
    if (incoming.method === 'GET' && incoming.url?.endsWith('/models')) {
      return play(
        json({ object: 'list', data: [{ id: 'scripted', object: 'model', created: 0, owned_by: 'test' }] }),
        response,
      );
    }
    const request = await readRequest(incoming, closed);
    requests.push(request);
    changed();
    await play(await provider.respond(request, answered++), response);
  }

  async function waitFor<T>(what: string, look: () => T | undefined, timeoutMs = patience(10)): Promise<T> {
    const limit = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      await once(changes, 'change', { signal: limit }).catch(() => {
        throw new Error(`the scripted provider waited ${timeoutMs} ms for ${what}`);
      });
    }
  }

  const port = await listen(server);
  const provider: ScriptedProvider = {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    requests,
    respond: options.respond ?? (() => turn()),
    get openConnections() {
      return sockets.size;
    },
    get totalConnections() {
      return connections;
    },
    get activeRequests() {
      return active;
    },
    waitForRequest: (n = 1, limit) => waitFor(`request ${n}`, () => requests[n - 1], limit?.timeoutMs),
    waitForActive: async (n, limit) => {
      await waitFor(`${n} active requests`, () => (active === n ? true : undefined), limit?.timeoutMs);
    },
    waitForConnections: async (n, limit) => {
      await waitFor(`${n} connections`, () => (sockets.size === n ? true : undefined), limit?.timeoutMs);
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return provider;
}

/** A base URL at which nothing listens: connections are refused. */
export async function refusedUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/v1`;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function readRequest(incoming: IncomingMessage, closed: Promise<{ left: boolean }>): Promise<ProviderRequest> {
  const bytes = Buffer.concat(await Array.fromAsync(incoming));
  let body: ChatBody = {};
  try {
    body = JSON.parse(bytes.toString('utf8'));
  } catch {}
  return {
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: incoming.headers,
    rawHeaders: incoming.rawHeaders,
    bytes,
    body,
    closed,
  };
}

async function play(script: Script, response: ServerResponse): Promise<void> {
  const left = new AbortController();
  response.once('close', () => left.abort());
  if (response.destroyed) return;
  try {
    if (script.headersAfter === 'forever') return;
    if (script.headersAfter === -1) return void response.destroy();
    if (script.headersAfter) await delay(script.headersAfter, undefined, { signal: left.signal });
    response.writeHead(script.status, script.headers);
    response.flushHeaders();
    for (const step of script.steps) {
      if (left.signal.aborted || step.do === 'hang') return;
      await take(step, response, left.signal);
    }
  } catch (error) {
    if (!left.signal.aborted) throw error;
  }
}

async function take(step: Exclude<Step, { do: 'hang' }>, response: ServerResponse, signal: AbortSignal): Promise<void> {
  switch (step.do) {
    case 'send':
      if (!response.write(step.bytes)) await once(response, 'drain', { signal });
      return;
    case 'wait':
      return delay(step.ms, undefined, { signal });
    case 'until':
      await step.promise;
      return;
    case 'cut':
      // Lets the other side read what was written before.
      await delay(25);
      response.destroy();
      return;
    case 'end':
      response.end();
  }
}
