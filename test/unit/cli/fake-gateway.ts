import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { GatewayError } from '../../../src/base/errors.ts';
import { newRunId, publicId } from '../../../src/base/ids.ts';
import { isObject } from '../../../src/base/json.ts';
import type { UnnumberedEvent } from '../../../src/protocol/events.ts';
import type { UrlCitation } from '../../../src/protocol/items.ts';
import { cancelledError, newResponse, type ResponseObject } from '../../../src/protocol/response.ts';

/** A scripted gateway: one run whose events are known, over connections that can be cut anywhere. */
export interface FakeGateway extends AsyncDisposable {
  url: string;
  id: string;
  /** `POST /v1/responses`, `GET /v1/responses/...?stream=true&after=3`, ... in the order received. */
  requests: string[];
  submitted: Record<string, unknown>[];
  idempotencyKeys: unknown[];
}

export interface FakeScript {
  /** Ends each of the first streams after this many of its events, as a shutdown does. */
  cuts?: number[];
  /** How many of the first submissions get no answer. */
  lost?: number;
  /** How the run ends; with `hangs` not until it is cancelled. */
  end?: 'completed' | 'failed' | 'hangs';
  answer?: string;
  /** The models that the key may use. */
  models?: object[];
  /** What the model says in place of an answer. */
  refusal?: string;
  /** The images that the model makes, in base64. */
  images?: string[];
  annotations?: UrlCitation[];
  /** Fields that its responses and citations lack, as those of an earlier version, or have besides. */
  lacks?: string[];
  has?: Record<string, unknown>;
  /** Answers every request with this error instead. */
  refuse?: { status: number; code: 'invalid_api_key'; message: string };
}

export async function startFakeGateway(script: FakeScript = {}): Promise<FakeGateway> {
  const run = new FakeRun(script);
  const requests: string[] = [];
  const submitted: Record<string, unknown>[] = [];
  const idempotencyKeys: unknown[] = [];
  let streams = 0;
  const server = createServer(async (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fake');
    if (pathname === '/v1/models') return json(response, 200, { data: script.models ?? [MODEL] });
    if (pathname.endsWith('/cancel')) {
      run.cancel();
      return json(response, 200, run.response);
    }
    if (script.refuse) return refuse(response, script.refuse);
    if (request.method === 'POST') {
      idempotencyKeys.push(request.headers['idempotency-key']);
      submitted.push(await bodyOf(request));
      if (idempotencyKeys.length <= (script.lost ?? 0)) return response.socket?.resetAndDestroy();
      return json(response, 200, run.response);
    }
    const connection = streams++;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const after = Number(searchParams.get('starting_after') ?? 0);
    await run.write(response, { after, cut: script.cuts?.[connection] });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    id: run.response.id,
    requests,
    submitted,
    idempotencyKeys,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const MODEL = { id: 'deep', object: 'model', supported_apis: ['responses'] };

class FakeRun {
  readonly #events: UnnumberedEvent[];
  readonly #script: FakeScript;
  readonly #cancelled = Promise.withResolvers<void>();
  response: ResponseObject;

  constructor(script: FakeScript) {
    this.#script = script;
    this.response = newResponse({ id: publicId('responses', newRunId()), created_at: 1, model: 'deep' });
    this.#events = this.#research();
  }

  cancel(): void {
    this.#cancelled.resolve();
  }

  async write(response: ServerResponse, { after, cut }: { after: number; cut: number | undefined }): Promise<void> {
    const events = this.#events.map((event, index) => ({ ...event, sequence_number: index + 1 })).slice(after);
    response.flushHeaders();
    for (const event of events.slice(0, cut)) response.write(this.#asWritten(frame(event)));
    if (cut !== undefined) return void response.end();
    if (this.#script.end === 'hangs') {
      await this.#cancelled.promise;
      this.response = { ...this.response, status: 'cancelled', error: cancelledError() };
      const sequence_number = this.#events.length + 1;
      response.write(frame({ type: 'response.failed', sequence_number, response: this.response }));
    }
    response.end();
  }

  #asWritten(text: string): string {
    const { lacks = [], has = {} } = this.#script;
    const [head = '', data = ''] = text.split('data: ');
    const json = JSON.stringify(JSON.parse(data), (name, value) => {
      if (lacks.includes(name)) return undefined;
      return name === 'response' ? { ...value, ...has } : value;
    });
    return `${head}data: ${json}\n\n`;
  }

  #research(): UnnumberedEvent[] {
    const { refusal, annotations = [], end = 'completed' } = this.#script;
    const { answer = refusal === undefined ? 'An answer. [1]' : '' } = this.#script;
    const created = this.response;
    const reasoning = { id: 'rs_1', type: 'reasoning' as const, summary: [], status: 'completed' as const };
    const thought = { type: 'reasoning_text' as const, text: 'Let me\nthink.' };
    const call = { id: 'tc_1', type: 'tool_call' as const, name: 'web_search', arguments: '{"queries":["a","b"]}' };
    const result = JSON.stringify({ results: [{ title: 'T', url: 'corpus:///t.md', snippet: 's', source_id: 1 }] });
    const events: UnnumberedEvent[] = [
      { type: 'response.created', response: created },
      { type: 'response.in_progress', response: created },
      { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, content: [] } },
      { type: 'response.reasoning_text.done', output_index: 0, item_id: 'rs_1', content_index: 0, text: thought.text },
      { type: 'response.output_item.done', output_index: 0, item: { ...reasoning, content: [thought] } },
      { type: 'response.output_item.added', output_index: 1, item: { ...call, status: 'in_progress' } },
    ];
    if (end === 'hangs') return events;
    const text = { type: 'output_text' as const, text: answer, annotations, logprobs: [] };
    const part = refusal === undefined ? text : { type: 'refusal' as const, refusal };
    const message = { id: 'msg_1', type: 'message' as const, role: 'assistant' as const, status: 'completed' as const };
    const images = (this.#script.images ?? []).map((image, n) => {
      const type = 'image_generation_call' as const;
      return { id: `ig_${n}`, type, status: 'completed' as const, result: image, output_format: 'png' as const };
    });
    const completed = { ...this.response, status: 'completed' as const, output_text: answer };
    const error = new GatewayError('upstream_error', 'every route failed').toObject();
    return [
      ...events,
      { type: 'response.output_item.done', output_index: 1, item: { ...call, status: 'completed', result } },
      { type: 'response.output_item.added', output_index: 2, item: { ...message, content: [] } },
      end === 'failed'
        ? { type: 'response.failed', response: { ...this.response, status: 'failed', error } }
        : {
            type: 'response.completed',
            response: { ...completed, output: [{ ...message, content: [part] }, ...images] },
          },
    ];
  }
}

function frame(event: UnnumberedEvent & { sequence_number: number }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function refuse(response: ServerResponse, { status, code, message }: NonNullable<FakeScript['refuse']>): void {
  json(response, status, { error: new GatewayError(code, message).toObject() });
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
  return isObject(body) ? body : {};
}
