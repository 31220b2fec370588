import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { createLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { type Gateway, startGateway } from '../../src/server.ts';
import { completion } from '../support/chat-faults.ts';
import { until } from '../support/http-gateway.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import { type OtlpCollector, type ReceivedSpan, startOtlpCollector } from '../support/otlp-collector.ts';
import { CLIENT_KEY, chat, send } from '../support/proxy-gateway.ts';
import { fetchDocument } from '../support/research-gateway.ts';
import { json, type ScriptedProvider, startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { SocketClient } from '../support/socket-client.ts';
import { patience } from '../support/time-limit.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CLIENT_SPAN = 'b7ad6b7169203331';
const TRACE = { traceparent: `00-${TRACE_ID}-${CLIENT_SPAN}-01`, tracestate: 'vendor=value' };

/** The document is read for this question only: each gateway that reads starts a process for it. */
const QUESTION = 'How high is the tide at Quiberon?';
const SHORT_QUESTION = 'How high is the tide?';
const DOCUMENT = 'The tide at Quiberon is five metres high.';
const PROVIDER_KEY = 'sk-of-the-provider';
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const COLLECTOR_KEY = 'key-of-the-collector';

/** A gateway in front of a provider that always fails and one that answers, with a document to read. */
interface Scene extends AsyncDisposable {
  gateway: Gateway & { url: string };
  failing: ScriptedProvider;
  good: ScriptedProvider;
  log: string[];
  /** Closes the gateway, which exports the remaining spans. */
  close(): Promise<void>;
}

async function openScene(telemetry: object, more: object = {}): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'telemetry-test-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'tides.txt'), DOCUMENT);
  const failing = stack.use(
    await startScriptedProvider({ respond: () => json({ error: { message: 'broken' } }, { status: 503 }) }),
  );
  const good = stack.use(
    await startScriptedProvider({
      respond: ({ body }) => {
        if (!body.stream) return json(completion('Five metres.'));
        const isAnswered = body.messages?.some(({ role }) => role === 'tool');
        const reads = JSON.stringify(body.messages).includes(QUESTION);
        if (reads && body.tools?.length && !isAnswered) return turn({ toolCalls: [fetchDocument('tides.txt')] });
        return turn({ text: 'Five metres.' });
      },
    }),
  );
  const routes = ['failing', 'good'].map((provider) => ({ provider, model: `${provider}-model` }));
  const provider = ({ url }: ScriptedProvider) => ({ base_url: url, api_key: PROVIDER_KEY, max_retries: 0 });
  const config = configSchema.parse({
    server: { port: 0, shutdown_grace_seconds: 5 },
    store: { url: 'memory:' },
    providers: { failing: provider(failing), good: provider(good) },
    models: {
      deep: { kind: 'research', routes },
      fast: { kind: 'proxy', routes, apis: ['chat_completions', 'async', 'responses'] },
    },
    keys: [{ id: 'client', secret: CLIENT_KEY }],
    tools: { web_search: { provider: 'local', folder } },
    telemetry,
    ...more,
  });
  const log: string[] = [];
  const logger = createLogger({ destination: { write: (line: string) => void log.push(line) } });
  const gateway = stack.use(await startGateway({ config, log: logger, load: IDLE_LOAD }));
  const owned = stack.move();
  return {
    gateway: { ...gateway, url: `${gateway.url}/v1` },
    failing,
    good,
    log,
    close: () => gateway.close(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function to(collector: OtlpCollector, more: object = {}) {
  return { otlp_endpoint: collector.url, headers: { 'x-collector-key': COLLECTOR_KEY }, ...more };
}

async function research(
  { gateway }: Scene,
  { input = SHORT_QUESTION, headers = TRACE }: { input?: string; headers?: Record<string, string> } = {},
): Promise<void> {
  const body = { model: 'deep', input, stream: false };
  const answer = await send(gateway, '/responses', { body, headers });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  assert.match(text, /"status":"completed"/);
}

function named(spans: readonly ReceivedSpan[], name: string): ReceivedSpan[] {
  return spans.filter((span) => span.name === name);
}

function only(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const [span, second] = named(spans, name);
  assert.ok(span && !second, `one span ${name} among ${spans.map((found) => found.name).join(', ')}`);
  return span;
}

/** The names of the child spans, in the order in which they ended. */
function below(spans: readonly ReceivedSpan[], above: ReceivedSpan): string[] {
  return spans.filter(({ parentSpanId }) => parentSpanId === above.spanId).map(({ name }) => name);
}

describe('OpenTelemetry', () => {
  it('shows a research run as one trace below the client’s span', async () => {
    await using collector = await startOtlpCollector();
    await using scene = await openScene(to(collector));
    await research(scene, { input: QUESTION });
    await scene.close();

    const { spans } = collector;
    assert.ok(spans.every(({ traceId }) => traceId === TRACE_ID));
    const request = only(spans, 'POST /v1/responses');
    assert.deepEqual([request.parentSpanId, request.kind, request.failed], [CLIENT_SPAN, 2, false]);
    const { attributes } = request;
    assert.equal(attributes['http.route'], '/v1/responses');
    assert.equal(attributes['http.response.status_code'], 200);
    assert.equal(attributes['research_gateway.key.id'], 'client');
    assert.deepEqual(below(spans, request).sort(), ['invoke_agent deep', 'store create']);

    const run = only(spans, 'invoke_agent deep');
    assert.equal(run.attributes['gen_ai.operation.name'], 'invoke_agent');
    assert.equal(run.attributes['gen_ai.agent.name'], 'deep');
    assert.equal(run.attributes['research_gateway.run.id'], attributes['research_gateway.run.id']);
    assert.equal(run.attributes['research_gateway.run.status'], 'completed');
    const steps = below(spans, run);
    assert.deepEqual([...new Set(steps)].sort(), ['chat deep', 'execute_tool fetch_url_content', 'store append']);
    assert.equal(named(spans, 'store append').at(-1)?.attributes['research_gateway.store.end'], true);

    const turns = named(spans, 'chat deep');
    const [first] = turns;
    assert.ok(first && turns.length >= 2);
    assert.deepEqual([first.kind, first.failed], [3, false]);
    assert.deepEqual(below(spans, first), ['attempt failing', 'attempt good']);
    const { 'gen_ai.request.max_tokens': most, ...said } = first.attributes;
    assert.equal(typeof most, 'number');
    assert.deepEqual(said, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'deep',
      'gen_ai.request.stream': true,
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'gen_ai.provider.name': 'good',
      'gen_ai.response.model': 'good-model',
      'gen_ai.usage.input_tokens': 11,
      'gen_ai.usage.cache_read.input_tokens': 0,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.usage.reasoning.output_tokens': 0,
    });

    const [failed] = named(spans, 'attempt failing');
    assert.equal(failed?.failed, true);
    assert.deepEqual(failed.attributes, {
      'gen_ai.provider.name': 'failing',
      'gen_ai.request.model': 'failing-model',
      'server.address': '127.0.0.1',
      'http.response.status_code': 503,
      'error.type': 'failed',
      'research_gateway.outcome': 'failed',
    });

    const tool = only(spans, 'execute_tool fetch_url_content');
    assert.equal(tool.attributes['gen_ai.tool.name'], 'fetch_url_content');
    assert.equal(tool.failed, false);
  });

  it('keeps concurrent runs apart', async () => {
    await using collector = await startOtlpCollector();
    await using scene = await openScene(to(collector));
    const traces = ['a', 'b', 'c'].map((digit) => digit.repeat(32));
    // Each run tries it once before its failures keep the others away.
    scene.failing.respond = async () => {
      await scene.failing.waitForRequest(traces.length);
      return json({ error: { message: 'broken' } }, { status: 503 });
    };
    await Promise.all(
      traces.map((traceId) =>
        research(scene, { input: QUESTION, headers: { traceparent: `00-${traceId}-${CLIENT_SPAN}-01` } }),
      ),
    );
    await scene.close();
    const shapes = traces.map((traceId) => {
      const spans = collector.spans.filter((span) => span.traceId === traceId);
      const run = only(spans, 'invoke_agent deep');
      const ids = new Set([CLIENT_SPAN, ...spans.map(({ spanId }) => spanId)]);
      assert.ok(spans.every(({ parentSpanId }) => ids.has(parentSpanId)));
      assert.ok(named(spans, 'store append').every(({ parentSpanId }) => parentSpanId === run.spanId));
      return [...new Set(spans.map(({ name }) => name))].sort();
    });
    assert.equal(shapes[0]?.length, 8);
    assert.deepEqual(shapes, [shapes[0], shapes[0], shapes[0]]);
  });

  it('propagates the trace to each provider that is called, span by span', async () => {
    await using collector = await startOtlpCollector();
    await using scene = await openScene(to(collector));
    await research(scene);
    await (await send(scene.gateway, '/chat/completions', { body: chat(), headers: TRACE })).text();
    await scene.close();
    for (const [name, provider] of [
      ['attempt failing', scene.failing],
      ['attempt good', scene.good],
    ] as const) {
      const sent = provider.requests.map(({ headers }) => headers.traceparent);
      const attempts = named(collector.spans, name).map(({ spanId }) => `00-${TRACE_ID}-${spanId}-01`);
      assert.ok(sent.length > 0);
      assert.deepEqual(new Set(sent), new Set(attempts));
      for (const { headers } of provider.requests) assert.equal(headers.tracestate, TRACE.tracestate);
    }
  });

  it('propagates the trace to the receiver of a webhook', async () => {
    await using collector = await startOtlpCollector();
    await using receiver = await startReceiver();
    await using scene = await openScene(to(collector), {
      webhooks: { allow_hosts: ['127.0.0.1'] },
      keys: [{ id: 'client', secret: CLIENT_KEY, limits: { requests_per_minute: 100 } }],
    });
    const body = {
      model: 'deep',
      input: SHORT_QUESTION,
      background: true,
      webhook: { url: receiver.url, secret: SECRET },
    };
    const answer = await send(scene.gateway, '/responses', { body, headers: TRACE });
    const { id } = (await answer.json()) as { id: string };
    const [message] = await receiver.waitFor(1);
    const deliveries = `${scene.gateway.url}/webhook_deliveries?run=${id}`;
    // The receiver answers before the gateway has its answer.
    await until(async () => {
      const listed = await fetch(deliveries, { headers: { authorization: `Bearer ${CLIENT_KEY}` } });
      return /"delivered"/.test(await listed.text()) || undefined;
    });
    await scene.close();
    const request = only(collector.spans, 'POST /v1/responses');
    const telling = only(collector.spans, 'webhook response.completed');
    assert.deepEqual([telling.parentSpanId, telling.kind, telling.failed], [request.spanId, 3, false]);
    assert.equal(telling.attributes['http.response.status_code'], 204);
    assert.equal(message?.headers.traceparent, `00-${TRACE_ID}-${telling.spanId}-01`);
    assert.deepEqual(below(collector.spans, request).sort(), [
      'invoke_agent deep',
      'store create',
      'store limits',
      'webhook response.completed',
    ]);
  });

  it('shows proxied calls, streamed or not, and async tasks', async () => {
    await using collector = await startOtlpCollector();
    await using scene = await openScene(to(collector));
    const whole = await send(scene.gateway, '/chat/completions', { body: chat() });
    assert.equal(whole.status, 200);
    await whole.text();
    await (await send(scene.gateway, '/chat/completions', { body: chat({ stream: true }) })).text();
    const { id } = (await (await send(scene.gateway, '/async', { body: chat() })).json()) as { id: string };
    const headers = { authorization: `Bearer ${CLIENT_KEY}` };
    await until(async () => {
      const task = await (await fetch(`${scene.gateway.url}/async/${id}`, { headers })).text();
      return /"status":"completed"/i.test(task) ? task : undefined;
    });
    await scene.close();

    const { spans } = collector;
    const requests = named(spans, 'POST /v1/chat/completions');
    assert.equal(requests.length, 2);
    const roots = [...requests, only(spans, 'run fast')];
    assert.equal(new Set(roots.map(({ traceId }) => traceId)).size, 3);
    for (const root of roots) {
      const call = spans.find(({ parentSpanId, name }) => parentSpanId === root.spanId && name === 'chat fast');
      assert.ok(call, root.name);
      assert.deepEqual(below(spans, call).sort(), ['attempt failing', 'attempt good']);
      assert.equal(call.attributes['gen_ai.response.model'], 'good-model');
    }
    assert.equal(only(spans, 'run fast').parentSpanId, only(spans, 'POST /v1/async').spanId);
  });

  it('shows responses over a WebSocket', async () => {
    await using collector = await startOtlpCollector();
    await using scene = await openScene(to(collector));
    {
      const url = scene.gateway.url.replace('/v1', '');
      await using client = await SocketClient.open({ url }, { key: CLIENT_KEY, headers: TRACE });
      client.create({ model: 'deep', input: SHORT_QUESTION });
      await client.next(({ type }) => type === 'response.completed');
    }
    await scene.close();
    const { spans } = collector;
    const request = only(spans, 'WS /v1/responses');
    assert.deepEqual([request.traceId, request.parentSpanId], [TRACE_ID, CLIENT_SPAN]);
    assert.equal(only(spans, 'invoke_agent deep').parentSpanId, request.spanId);
  });

  it('records durations and tokens in the metrics of the GenAI conventions', async () => {
    await using collector = await startOtlpCollector();
    await using scene = await openScene(to(collector));
    await research(scene);
    await (await send(scene.gateway, '/chat/completions', { body: chat() })).text();
    scene.good.respond = scene.failing.respond;
    await (await send(scene.gateway, '/chat/completions', { body: chat() })).text();
    await scene.close();

    const of = (name: string, model: string) =>
      collector.points.filter((point) => point.name === name && point.attributes['gen_ai.request.model'] === model);
    const labels = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'fast',
      'gen_ai.provider.name': 'good',
      'gen_ai.response.model': 'good-model',
    };
    const times = of('gen_ai.client.operation.duration', 'fast');
    assert.deepEqual(
      times.map(({ unit, count, attributes }) => ({ unit, count, attributes })),
      [
        { unit: 's', count: 1, attributes: labels },
        { unit: 's', count: 1, attributes: { ...labels, 'error.type': 'failed' } },
      ],
    );
    const [turns] = of('gen_ai.client.operation.duration', 'deep');
    assert.equal(turns?.count, named(collector.spans, 'chat deep').length);
    const input = of('gen_ai.client.token.usage', 'deep').find(
      ({ attributes }) => attributes['gen_ai.token.type'] === 'input',
    );
    assert.deepEqual([input?.unit, input?.sum], ['{token}', 11 * Number(turns.count)]);
  });

  it('contains no contents and no secrets', async () => {
    await using collector = await startOtlpCollector();
    await using scene = await openScene(to(collector));
    await research(scene, { input: QUESTION });
    await (await send(scene.gateway, '/chat/completions', { body: chat() })).text();
    await scene.close();
    const all = JSON.stringify([collector.spans, collector.points]);
    assert.ok(collector.spans.length > 10);
    for (const content of ['Quiberon', 'metres', 'tides.txt', CLIENT_KEY, PROVIDER_KEY, COLLECTOR_KEY, 'broken']) {
      assert.ok(!all.includes(content), content);
    }
  });

  it('contains messages and tool results with contents: true, but no secrets', async () => {
    await using collector = await startOtlpCollector();
    await using scene = await openScene(to(collector, { contents: true }));
    await research(scene, { input: QUESTION });
    await scene.close();
    const { spans } = collector;
    const [first, second] = named(spans, 'chat deep').map(({ attributes }) => ({
      input: JSON.parse(String(attributes['gen_ai.input.messages'])),
      output: JSON.parse(String(attributes['gen_ai.output.messages'])),
    }));
    assert.match(JSON.stringify(first?.input), /Quiberon/);
    const [{ role, parts }] = first?.output ?? [];
    assert.equal(role, 'assistant');
    assert.deepEqual(parts[0].arguments, { url: 'corpus:///tides.txt' });
    assert.match(JSON.stringify(second?.input), /"tool_call_response".*five metres high/);
    const { attributes } = only(spans, 'execute_tool fetch_url_content');
    assert.match(String(attributes['gen_ai.tool.call.arguments']), /tides\.txt/);
    assert.match(String(attributes['gen_ai.tool.call.result']), /five metres high/);
    assert.ok(!JSON.stringify(spans).includes(PROVIDER_KEY));
  });

  it('exports to /v1/traces and /v1/metrics below the endpoint, with the configured headers and service name', async () => {
    await using collector = await startOtlpCollector();
    await using scene = await openScene({ ...to(collector), otlp_endpoint: `${collector.url}/otlp/` });
    await research(scene);
    await scene.close();
    assert.deepEqual(
      new Set(collector.exports.map(({ path }) => path)),
      new Set(['/otlp/v1/traces', '/otlp/v1/metrics']),
    );
    for (const { headers } of collector.exports) {
      assert.equal(headers['content-type'], 'application/x-protobuf');
      assert.equal(headers['x-collector-key'], COLLECTOR_KEY);
    }
    assert.equal(collector.spans[0]?.resource['service.name'], 'research-gateway');
  });

  it('with sample: 0, records no trace of its own, and every one that the client records', async () => {
    await using collector = await startOtlpCollector();
    await using scene = await openScene(to(collector, { sample: 0 }));
    await research(scene, { headers: {} });
    const sent = scene.good.requests.map(({ headers }) => headers.traceparent);
    assert.ok(sent.length > 0);
    for (const traceparent of sent) assert.match(String(traceparent), /^00-[\da-f]{32}-[\da-f]{16}-00$/);
    await research(scene);
    await scene.close();
    assert.ok(collector.points.length > 0);
    assert.deepEqual(new Set(collector.spans.map(({ traceId }) => traceId)), new Set([TRACE_ID]));
  });

  it('leaves an SDK alone that the process already has, and writes its spans there', async () => {
    await using collector = await startOtlpCollector();
    const exporter = new InMemorySpanExporter();
    const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
    trace.setGlobalTracerProvider(provider);
    try {
      await using scene = await openScene(to(collector));
      await research(scene);
      await scene.close();
      const names = new Set(exporter.getFinishedSpans().map(({ name }) => name));
      assert.ok(['POST /v1/responses', 'invoke_agent deep', 'attempt good'].every((name) => names.has(name)));
      assert.deepEqual(collector.exports, []);
      assert.match(scene.log.join(''), /has an OpenTelemetry SDK already/);
    } finally {
      trace.disable();
      await provider.shutdown();
    }
  });

  it('passes the client’s traceparent through unchanged if telemetry is not configured', async () => {
    await using scene = await openScene({});
    await research(scene);
    for (const { headers } of scene.good.requests) assert.equal(headers.traceparent, TRACE.traceparent);
  });

  it('keeps each export below what collectors accept, with large attributes too', async () => {
    await using collector = await startOtlpCollector();
    await using scene = await openScene(to(collector, { contents: true }));
    const tracer = trace.getTracer('long');
    const long = 'ä'.repeat(16_384);
    for (let n = 0; n < 150; n++)
      tracer.startSpan('one', { attributes: { first: long, second: long, third: long } }).end();
    // Whole batches leave at once; the last two seconds are for the rest.
    await until(() => named(collector.spans, 'one').length >= 128 || undefined);
    await scene.close();
    assert.equal(named(collector.spans, 'one').length, 150);
    const bytes = collector.exports.map((taken) => taken.bytes);
    assert.ok(Math.max(...bytes) > 1_000_000 && Math.max(...bytes) < 8_000_000, bytes.join(', '));
  });

  const faulty: Record<string, { answer?: (response: ServerResponse) => void; said: RegExp }> = {
    'is unreachable': { said: /ECONNREFUSED|too slow to take the last spans/ },
    hangs: { answer: () => {}, said: /too slow to take the last spans/ },
    'answers a byte at a time': {
      answer: (response) => {
        const dripping = setInterval(() => response.write(' '), 50);
        response.once('close', () => clearInterval(dripping));
      },
      said: /too slow to take the last spans/,
    },
    'answers 500': { answer: (response) => response.writeHead(500).end('<html>'), said: /Internal Server Error/ },
    'answers 503': { answer: (response) => response.writeHead(503, { 'retry-after': '600' }).end(), said: /./ },
    'answers 413': { answer: (response) => response.writeHead(413).end(), said: /Payload Too Large/ },
    'answers with an oversized body': {
      answer: (response) => response.writeHead(400).end(Buffer.alloc(6_000_000, 'x')),
      said: /exceeded size limit/,
    },
    'accepts only a part': {
      // An ExportTraceServiceResponse whose partial_success has rejected_spans and error_message.
      answer: (response) => response.writeHead(200).end(Buffer.from('\n\x0b\x08\x03\x12\x07no room', 'latin1')),
      said: /Partial Success.*no room/,
    },
  };
  for (const [what, { answer, said }] of Object.entries(faulty)) {
    it(`keeps the gateway working and closing in time while the collector ${what}, and logs it at most twice`, async function () {
      // Exports are repeated for five seconds, and the last ones get two.
      this.timeout(patience(20));
      const collector = await startOtlpCollector(answer && { answer });
      await using collecting = collector;
      if (!answer) await collector[Symbol.asyncDispose]();
      await using scene = await openScene(to(collector));
      // More spans than the queue holds, so there are several exports.
      const tracer = trace.getTracer('many');
      for (let n = 0; n < 6000; n++) tracer.startSpan('one').end();
      for (let n = 0; n < 3; n++) await research(scene);
      await scene.close();
      assert.equal(collecting.exports.length > 0, answer !== undefined);
      const lines = scene.log.filter((line) => /could not be exported|too slow to take/.test(line));
      assert.ok(lines.length > 0 && lines.length <= 2, lines.join(''));
      assert.match(lines.join(''), said);
      assert.ok(!scene.log.join('').includes(COLLECTOR_KEY));
    });
  }

  it('leaves no export behind whose failure the next gateway of the process would log', async () => {
    const unanswered: ServerResponse[] = [];
    await using busy = await startOtlpCollector({ answer: (response) => void unanswered.push(response) });
    await using first = await openScene(to(busy));
    await research(first);
    await first.close();
    assert.match(first.log.join(''), /too slow to take the last spans/);
    await using collector = await startOtlpCollector();
    await using next = await openScene(to(collector));
    for (const response of unanswered) response.writeHead(413).end();
    await research(next);
    await next.close();
    assert.ok(unanswered.length > 0 && collector.exports.length > 0);
    assert.doesNotMatch(next.log.join(''), /could not be exported/);
  });

  it('works for the next gateway of the process', async () => {
    await using scene = await openScene({ otlp_endpoint: 'http://127.0.0.1:9' });
    await scene.close();
    await worksAnew();
  });

  /** Asserts that the closed gateway left nothing registered in the process. */
  async function worksAnew(): Promise<void> {
    await using collector = await startOtlpCollector();
    await using scene = await openScene(to(collector));
    await research(scene);
    await scene.close();
    assert.ok(collector.spans.length > 0);
  }
});
