import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isNativeError } from 'node:util/types';
import { sleep } from '../base/abort.ts';
import { parseJson } from '../base/json.ts';
import { createServer } from '../base/node-http.ts';
import { boundTurn, toChunks, toCompletion } from './completion.ts';
import { type DemoRequest, demoRequest } from './request.ts';
import { takeTurn } from './researcher.ts';

/** The demo provider while it runs. */
export interface DemoProvider extends AsyncDisposable {
  /** Its base URL as an OpenAI-compatible provider, such as `http://127.0.0.1:40123/v1`. */
  readonly url: string;
}

/** More than any context of a research run, in bytes. */
const MAX_BODY = 32 * 1024 * 1024;
/** Chunks are joined up to about this many characters a write where nothing paces them. */
const WRITE_SIZE = 32 * 1024;

/**
 * Starts the built-in provider (architecture: "The demo provider"): an OpenAI-compatible server on a free loopback
 * port whose model is a small deterministic program. It needs no key and no network.
 * @param options.paceMs pause between streamed words in milliseconds, so that progress can be watched.
 */
export async function startDemoProvider(options: { paceMs?: number } = {}): Promise<DemoProvider> {
  const paceMs = options.paceMs ?? 0;
  const server = createServer((request, response) => {
    answer(request, response, paceMs).catch((error: unknown) => fail(response, error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the demo provider has no port');
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A request that the demo provider refuses, in OpenAI's shape. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, paceMs: number): Promise<void> {
  const path = request.url?.split('?')[0];
  if (request.method === 'GET' && path === '/v1/models') {
    const model = { id: 'demo', object: 'model', created: 0, owned_by: 'research-gateway' };
    return sendJson(response, 200, { object: 'list', data: [model] });
  }
  if (request.method !== 'POST' || path !== '/v1/chat/completions') {
    throw new Refusal(404, 'not_found', 'The demo provider knows POST /v1/chat/completions and GET /v1/models.');
  }
  const body = parseRequest(await readBody(request));
  const turn = boundTurn(takeTurn(body), body);
  if (!body.stream) return sendJson(response, 200, toCompletion(turn, body));
  await sendStream(response, toChunks(turn, body), paceMs);
}

function parseRequest(text: string): DemoRequest {
  const parsed = demoRequest.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Refusal(400, 'invalid_request', `${issue?.path.join('.') || 'body'}: ${issue?.message}`);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY) throw new Refusal(413, 'request_too_large', `The body is larger than ${MAX_BODY} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function sendStream(response: ServerResponse, chunks: Iterable<object>, paceMs: number): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  try {
    let waiting = '';
    for (const chunk of chunks) {
      waiting += `data: ${JSON.stringify(chunk)}\n\n`;
      if (paceMs === 0 && waiting.length < WRITE_SIZE) continue;
      await write(response, waiting, gone.signal);
      waiting = '';
      if (paceMs > 0) await sleep(paceMs, { signal: gone.signal });
    }
    response.end(`${waiting}data: [DONE]\n\n`);
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}

/** Resolves when there is room for more; rejects when the client has left. */
async function write(response: ServerResponse, text: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (!response.write(text)) await once(response, 'drain', { signal });
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const refusal = error instanceof Refusal ? error : undefined;
  const message = refusal?.message ?? (isNativeError(error) ? error.message : 'unknown failure');
  const type = refusal ? 'invalid_request_error' : 'api_error';
  const body = { error: { message, type, param: null, code: refusal?.code ?? 'internal_error' } };
  response.setHeader('connection', 'close');
  sendJson(response, refusal?.status ?? 500, body);
}
