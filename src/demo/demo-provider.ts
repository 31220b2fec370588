import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { sleep } from '../base/abort.ts';
import { parseJson } from '../base/json.ts';
import { createServer } from '../base/node/node-http.ts';
import { boundTurn, toChunks, toCompletion } from './completion.ts';
import { demoRequest } from './request.ts';
import { takeTurn } from './researcher.ts';

export interface DemoProvider extends AsyncDisposable {
  /** Its base URL as an OpenAI-compatible provider, such as `http://127.0.0.1:40123/v1`. */
  readonly url: string;
}

/** Larger than the context of any research run, in bytes. */
const MAX_BODY = 32 * 1024 * 1024;

/**
 * Starts the built-in provider (docs/architecture.md, "The demo provider"): an OpenAI-compatible server on a free
 * loopback port whose model is a small deterministic program. It needs no key and no network.
 * @param options.paceMs the pause between streamed words in milliseconds, so that progress can be watched.
 */
export async function startDemoProvider({ paceMs = 0 }: { paceMs?: number } = {}): Promise<DemoProvider> {
  const server = createServer((request, response) => {
    answer(request, response, paceMs).catch(() => response.destroy());
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

async function answer(request: IncomingMessage, response: ServerResponse, paceMs: number): Promise<void> {
  const route = `${request.method} ${request.url?.split('?')[0]}`;
  if (route === 'GET /v1/models') {
    const model = { id: 'demo', object: 'model', created: 0, owned_by: 'research-gateway' };
    return sendJson(response, 200, { object: 'list', data: [model] });
  }
  if (route !== 'POST /v1/chat/completions') {
    return refuse(response, 404, 'The demo provider knows POST /v1/chat/completions and GET /v1/models.');
  }
  const { data: body, error } = demoRequest.safeParse(parseJson(await readBody(request)));
  if (!body) return refuse(response, 400, z.prettifyError(error));
  const turn = boundTurn(takeTurn(body), body);
  if (!body.stream) return sendJson(response, 200, toCompletion(turn, body));
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  await pipeline(({ signal } = {}) => frames(toChunks(turn, body), paceMs, signal), response);
}

async function* frames(chunks: Iterable<object>, paceMs: number, signal?: AbortSignal): AsyncGenerator<string> {
  for (const chunk of chunks) {
    yield `data: ${JSON.stringify(chunk)}\n\n`;
    if (paceMs > 0) await sleep(paceMs, { signal });
  }
  yield 'data: [DONE]\n\n';
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Sends an error in OpenAI's format. */
function refuse(response: ServerResponse, status: number, message: string): void {
  const type = 'invalid_request_error';
  response.setHeader('connection', 'close');
  sendJson(response, status, { error: { message, type, param: null, code: type } });
}
