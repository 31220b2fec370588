import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { completion } from '../support/chat-faults.ts';
import { CLIENT_KEY, chat, type ProxyGateway, payloadsOf, send, startProxyGateway } from '../support/proxy-gateway.ts';
import {
  frames,
  json,
  raw,
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
  status,
  turn,
} from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';
import { startWebServer } from '../support/web-server.ts';

/** Odd on purpose: big integers, escapes, spacing, repeated names further down, an unknown field. */
const BODY =
  '{ "seed" : 12345678901234567890,"messages":[{"role":"user","content":"say \\"model\\": \\u00fc \u{1F600}"}],\n' +
  '\t"metadata":{"model":"fast"} , "model"\t:  "fast", "x":1.10, "stream":STREAM}';
const ANSWER =
  '{"id":"x","big":98765432109876543210,"choices":[ {"message":{"content":"\\u00fc \u{1F600}"}, "finish_reason" : "stop"} ],\n' +
  ' "data":[{"embedding":[1.50]}], "output":[{"type":"function_call"}] }';

describe('a proxy model', () => {
  let provider: ScriptedProvider;
  let gateway: ProxyGateway;
  const stack = new AsyncDisposableStack();

  before(async () => {
    provider = stack.use(await startScriptedProvider());
    gateway = stack.use(
      await startProxyGateway({ providers: { only: { url: provider.url, apiKey: 'sk-of-provider' } } }),
    );
  });
  after(() => stack.disposeAsync());
  beforeEach(() => {
    provider.requests.length = 0;
  });

  const ask = async (path: string, body: unknown, script: Script) => {
    provider.respond = () => script;
    const answer = await send(gateway, path, { body });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const request = provider.requests[0];
    assert.ok(request);
    return { answer, bytes, text: bytes.toString(), request };
  };

  for (const [path, stream] of [
    ['/chat/completions', false],
    ['/chat/completions', true],
    ['/embeddings', false],
    ['/responses', true],
    ['/completions', true],
  ] as const) {
    it(`passes bytes unchanged in both directions, except for the model name (${path}${stream ? ', streamed' : ''})`, async () => {
      const sent = BODY.replace('STREAM', String(stream));
      const events = `: hello\n\nevent: x\nid: 7\ndata: ${ANSWER.replaceAll('\n', '')}\n\ndata:{"type":"response.completed","choices":[{"finish_reason":"stop"}]}\r\n\r\ndata: [DONE]\n\n`;
      const script = stream ? raw(events) : raw(ANSWER, { headers: { 'content-type': 'application/json' } });
      const { answer, text, request } = await ask(path, sent, script);
      assert.equal(answer.status, 200);
      assert.equal(text, stream ? events : ANSWER);
      assert.equal(request.bytes.toString(), sent.replace('"model"\t:  "fast"', '"model"\t:  "only-model"'));
      assert.equal(request.path, `/v1${path}`);
    });
  }

  for (const stream of [false, true]) {
    it(`returns the provider's request id and passes the trace on (${stream ? 'streamed' : 'whole'})`, async () => {
      const script = stream ? turn({ text: 'fine' }) : json(completion('fine'));
      provider.respond = () => ({ ...script, headers: { ...script.headers, 'x-request-id': 'req_of_the_provider' } });
      const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=b' };
      const headers = { ...trace, 'x-request-id': 'of-the-client' };
      const answer = await send(gateway, '/chat/completions', { body: chat({ stream }), headers });
      await answer.text();
      assert.equal(answer.headers.get('x-upstream-request-id'), 'req_of_the_provider');
      assert.equal(answer.headers.get('x-request-id'), 'of-the-client');
      const seen = provider.requests[0]?.headers ?? {};
      assert.deepEqual([seen.traceparent, seen.tracestate, seen['x-request-id']], [...Object.values(trace), undefined]);
    });
  }

  it("passes Anthropic's Messages API if the model declares it, with x-api-key", async () => {
    await using anthropic = await startProxyGateway({
      providers: { only: { url: provider.url, apiKey: 'sk-of-provider' } },
      models: { claude: { kind: 'proxy', apis: ['messages'], routes: [{ provider: 'only', model: 'claude-x' }] } },
    });
    const events = [
      {
        type: 'message_start',
        message: { type: 'message', content: [], usage: { input_tokens: 3, output_tokens: 1 } },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Yes.' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const ask = (text: string) => {
      provider.respond = () => raw(text);
      const headers = {
        'x-api-key': CLIENT_KEY,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      };
      const body = '{"model":"claude","stream":true,"max_tokens":9,"messages":[]}';
      return fetch(`${anthropic.url}/messages`, { method: 'POST', headers, body });
    };
    assert.equal(await (await ask(events.join(''))).text(), events.join(''));
    const { headers = {}, bytes } = provider.requests[0] ?? {};
    assert.deepEqual([headers['x-api-key'], headers.authorization], ['sk-of-provider', undefined]);
    assert.match(String(bytes), /"model":"claude-x"/);
    // The stream breaks before its last event: the SDK throws on an event of type error.
    assert.match(await (await ask(events.slice(0, 3).join(''))).text(), /"type":"error","error":\{"type":"api_error"/);
  });

  for (const type of ['text/plain; charset=utf-8', 'application/octet-stream', 'text/html']) {
    it(`calls JSON that came as ${type} JSON, because clients take it for text`, async () => {
      for (const path of ['/chat/completions', '/embeddings']) {
        const script = raw(ANSWER, { headers: { 'content-type': type } });
        const { answer, text } = await ask(path, BODY.replace('STREAM', 'false'), script);
        assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'application/json']);
        assert.equal(text, ANSWER);
      }
    });
  }

  it('passes multipart forms with the model name replaced', async () => {
    const sound = Buffer.from(Array.from({ length: 5000 }, (_, n) => n % 256));
    const form = new FormData();
    form.set('file', new Blob([sound]), 'a.wav');
    form.set('model', 'fast');
    form.set('language', 'de');
    const { request, text } = await ask(
      '/audio/transcriptions',
      form,
      raw('hello', { headers: { 'content-type': 'text/plain' } }),
    );
    assert.equal(text, 'hello');
    const got = await new Response(new Uint8Array(request.bytes), {
      headers: { 'content-type': String(request.headers['content-type']) },
    }).formData();
    assert.deepEqual([got.get('model'), got.get('language')], ['only-model', 'de']);
    const file = got.get('file');
    assert.ok(file instanceof File && file.name === 'a.wav');
    assert.ok(Buffer.from(await file.arrayBuffer()).equals(sound));
  });

  for (const [path, body, last] of [
    ['/audio/speech', { input: 'hi', stream_format: 'sse' }, 'speech.audio.done'],
    ['/audio/transcriptions', { stream: true }, 'transcript.text.done'],
    ['/images/generations', { prompt: 'a', stream: true }, 'image_generation.completed'],
  ] as const) {
    it(`ends with the last event of a stream whose provider leaves its body open (${path})`, async () => {
      const events = `data: {"type":"part","delta":"\\"${last}\\""}\n\ndata: {"type":"${last}"}\n\n`;
      const head = raw('', { headers: { 'content-type': 'text/event-stream' } });
      const open: Script = { ...head, steps: [{ do: 'send', bytes: events }, { do: 'hang' }] };
      const { text } = await ask(path, { model: 'fast', ...body }, open);
      assert.equal(text, events);
    });
  }

  it('passes all images of a stream, each of which has its last event', async () => {
    const event = (n: number) => `data: {"type":"image_generation.completed","b64_json":"${n}"}\n\n`;
    const head = raw('', { headers: { 'content-type': 'text/event-stream' } });
    const gate = Promise.withResolvers<void>();
    const steps: Script['steps'] = [
      { do: 'send', bytes: event(1) },
      { do: 'until', promise: gate.promise },
      { do: 'send', bytes: event(2) },
      { do: 'end' },
    ];
    provider.respond = () => ({ ...head, steps });
    const answer = await send(gateway, '/images/generations', { body: { model: 'fast', n: 2, stream: true } });
    let text = '';
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk).toString();
      gate.resolve();
    }
    assert.equal(text, event(1) + event(2));
  });

  it('passes large binary answers', async () => {
    const sound = Buffer.from(Array.from({ length: 3_000_000 }, (_, n) => (n * 7) % 256));
    const { answer, bytes } = await ask(
      '/audio/speech',
      { model: 'fast', input: 'hi' },
      raw(sound, { headers: { 'content-type': 'audio/mpeg' } }),
    );
    assert.equal(answer.headers.get('content-type'), 'audio/mpeg');
    assert.ok(bytes.equals(sound));
  });

  it('passes answers without a body', async () => {
    const { answer, text } = await ask(
      '/files/delete',
      { model: 'fast' },
      { status: 204, headers: {}, steps: [{ do: 'end' }] },
    );
    assert.deepEqual([answer.status, text], [204, '']);
  });

  it('gives streams the headers that prevent buffering', async () => {
    for (const path of ['/chat/completions', '/responses']) {
      const { answer } = await ask(
        path,
        chat({ stream: true }),
        frames([{ type: 'response.output_text.delta', delta: 'x', choices: [{ delta: { content: 'x' } }] }]),
      );
      assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
      assert.equal(answer.headers.get('cache-control'), 'no-cache, no-transform');
      assert.equal(answer.headers.get('x-accel-buffering'), 'no');
    }
  });

  for (const path of ['/chat/completions', '/responses']) {
    it(`passes each event as it comes, and adds nothing (${path})`, async () => {
      const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
      const event = (n: number) =>
        `data: {"n":${n},"type":"${n < 2 ? 'response.output_text.delta","delta":"x' : 'response.completed'}","response":{"output":[{"type":"x"}]},"choices":[{"text":"x","finish_reason":"stop"}]}\n\n`;
      provider.respond = () => ({
        status: 200,
        headers: { 'content-type': 'text/event-stream' },
        steps: [
          ...gates.flatMap(({ promise }, n) => [
            { do: 'until', promise } as const,
            { do: 'send', bytes: event(n) } as const,
          ]),
          { do: 'end' },
        ],
      });
      const asked = send(gateway, path, { body: chat({ stream: true }) });
      gates[0]?.resolve();
      const reader = (await asked).body?.getReader();
      assert.ok(reader);
      for (const n of gates.keys()) {
        gates[n]?.resolve();
        const { value } = await reader.read();
        assert.equal(Buffer.from(value ?? []).toString(), event(n));
      }
      assert.equal((await reader.read()).done, true);
    });
  }

  it('tells SDKs not to retry where the provider asks for more time than they wait', async () => {
    for (const [wait, expected] of [
      ['120', 'false'],
      ['60', null],
      [new Date(Date.now() + 600_000).toUTCString(), 'false'],
    ] as const) {
      await using own = await startProxyGateway({ providers: { only: { url: provider.url, apiKey: 'sk' } } });
      provider.respond = () => status(429, { headers: { 'retry-after': wait } });
      const answer = await send(own, '/chat/completions', { body: chat() });
      await answer.text();
      assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [429, expected], wait);
    }
  });

  for (const [name, model] of Object.entries({
    deep: { kind: 'research', research: { tools: [] } },
    made: { kind: 'proxy', responses: 'gateway', apis: ['responses'] },
  })) {
    it(`tells how long the provider of a run asks to wait, in headers and in the stored error (${name})`, async () => {
      const routes = [{ provider: 'only', model: 'm' }];
      await using own = await startProxyGateway({
        providers: { only: { url: provider.url, apiKey: 'sk', maxRetries: 0 } },
        models: { [name]: { ...model, routes } },
      });
      provider.respond = () => status(429, { headers: { 'retry-after': '1000' } });
      if (name === 'deep') {
        const chatted = await send(own, '/chat/completions', { body: chat({ model: name }) });
        assert.equal(chatted.status, 429, await chatted.text());
        const wait = Number(chatted.headers.get('retry-after'));
        assert.ok(wait > 900 && wait <= 1000, `${wait} s`);
        assert.equal(chatted.headers.get('x-should-retry'), 'false');
      }
      const answered = await send(own, '/responses', { body: { model: name, input: 'Hi', stream: false } });
      const { id, error } = (await answered.json()) as { id: string; error: { retry_after?: number } };
      assert.ok(error.retry_after && error.retry_after > 900 && error.retry_after <= 1000, JSON.stringify(error));
      const stored = await fetch(`${own.url}/responses/${id}`, { headers: { authorization: `Bearer ${CLIENT_KEY}` } });
      assert.deepEqual(((await stored.json()) as { error: object }).error, error);
    });
  }

  it('passes on retry headers, and keeps cookies and account headers to itself', async () => {
    for (const path of ['/chat/completions', '/embeddings']) {
      const { answer } = await ask(
        path,
        chat(),
        json(completion('fine', { data: [{ embedding: [1] }] }), {
          headers: {
            'retry-after': '3',
            'x-should-retry': 'false',
            'set-cookie': 'a=b',
            'x-ratelimit-remaining-requests': '7',
            'openai-organization': 'org-secret',
            'x-request-id': 'of-the-provider',
            'x-content-type-options': 'none',
          },
        }),
      );
      const names = [
        'retry-after',
        'x-should-retry',
        'set-cookie',
        'x-ratelimit-remaining-requests',
        'openai-organization',
      ];
      assert.deepEqual(
        names.map((name) => answer.headers.get(name)),
        ['3', 'false', null, null, null],
      );
      assert.notEqual(answer.headers.get('x-request-id'), 'of-the-provider');
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    }
  });

  it("uses the key's own routes and provider credentials", async () => {
    await using other = await startScriptedProvider({ respond: () => json(completion('other')) });
    await using own = await startProxyGateway({
      providers: { only: { url: provider.url, apiKey: 'sk-of-the-gateway' }, other: { url: other.url } },
      key: {
        routes: { fast: [{ provider: 'other', model: 'mine "quoted"' }] },
        provider_keys: { other: 'sk-of-this-key' },
      },
    });
    assert.equal((await send(own, '/chat/completions', { body: chat() })).status, 200);
    assert.equal(other.requests[0]?.headers.authorization, 'Bearer sk-of-this-key');
    assert.equal(other.requests[0]?.body.model, 'mine "quoted"');
    assert.equal(provider.requests.length, 0);
  });

  it('counts the tokens that its provider reports', async () => {
    const limits = { tokens_per_day: 1000 };
    await using own = await startProxyGateway({
      providers: { only: { url: provider.url } },
      models: {
        fast: {
          kind: 'proxy',
          responses: 'native',
          apis: ['chat_completions', 'embeddings', 'responses'],
          max_completion_tokens: 100,
          routes: [{ provider: 'only', model: 'm' }],
        },
      },
      key: { limits },
    });
    const usage = { prompt_tokens: 150, completion_tokens: 90, total_tokens: 240 };
    const spend: [string, object, Script][] = [
      ['/chat/completions', chat(), json(completion('fine', { usage }))],
      ['/chat/completions', chat({ stream: true }), turn({ text: 'fine', usage })],
      [
        '/embeddings',
        { model: 'fast', input: 'hi' },
        json({ data: [{ embedding: [1] }], usage: { prompt_tokens: 240, total_tokens: 240 } }),
      ],
      [
        '/responses',
        { model: 'fast', input: 'hi', stream: true },
        frames([
          {
            type: 'response.completed',
            response: { output: [{ type: 'x' }], usage: { input_tokens: 200, output_tokens: 81, total_tokens: 281 } },
          },
        ]),
      ],
    ];
    for (const [path, body, script] of spend) {
      provider.respond = () => script;
      const answer = await send(own, path, { body });
      await answer.text();
      assert.equal(answer.status, 200, path);
    }
    const refused = await send(own, '/chat/completions', { body: chat() });
    assert.equal(refused.status, 429);
    assert.match(await refused.text(), /quota_exceeded/);
  });

  it('answers background tasks with a whole completion', async () => {
    const answer = '{"id":"x","big":12345678901234567890,"choices":[{"message":{"content":"fine"}}]}';
    provider.respond = () => raw(answer, { headers: { 'content-type': 'application/json' } });
    const body =
      '{"model":"fast","stream":true,"stream_options":{"include_usage":true},"seed":12345678901234567890,"messages":[{"role":"user","content":"hi"}]}';
    const created = JSON.parse(await (await send(gateway, '/async', { body })).text());
    const done = await finishedTask(gateway, created.id);
    assert.match(done, /"status":"COMPLETED"/);
    assert.ok(done.includes(`"result":${answer}`), done);
    const sent =
      '{"model":"only-model","stream":false,"stream_options":null,"seed":12345678901234567890,"messages":[{"role":"user","content":"hi"}]}';
    assert.equal(provider.requests[0]?.bytes.toString(), sent);
  });

  it("fails a background task with the provider's message", async () => {
    provider.respond = () => status(400, { message: 'temperature is too hot for sk-of-provider' });
    const created = JSON.parse(await (await send(gateway, '/async', { body: chat() })).text());
    const done = await finishedTask(gateway, created.id);
    assert.match(done, /"status":"FAILED".*temperature is too hot/);
    assert.ok(!done.includes('sk-of-provider'));
    assert.match(done, /"type":"invalid_request_error".*"code":"upstream_error"/);
  });

  it('keeps 60 concurrent calls apart', async () => {
    provider.respond = ({ body }) =>
      body.stream ? turn({ text: String(body.user) }) : json(completion(String(body.user)));
    await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const stream = n % 2 === 0;
        const answer = await send(gateway, '/chat/completions', { body: chat({ user: `client-${n}.`, stream }) });
        const text = await answer.text();
        assert.ok(text.includes(`client-${n}.`), text);
        if (stream) assert.equal(payloadsOf(text).at(-1), '[DONE]');
      }),
    );
  });
});

async function finishedTask(gateway: ProxyGateway, id: string): Promise<string> {
  const limit = AbortSignal.timeout(patience(10));
  for (;;) {
    const headers = { authorization: `Bearer ${CLIENT_KEY}` };
    const text = await (await fetch(`${gateway.url}/async/${id}`, { headers, signal: limit })).text();
    if (/"(?:COMPLETED|FAILED)"/.test(text)) return text;
  }
}

it('300 concurrent calls of one proxy model do not wait for each other', async function () {
  this.timeout(patience(20));
  const calls = 300;
  const open: ServerResponse[] = [];
  await using server = await startWebServer((req, res) => {
    req.resume();
    open.push(res);
    if (open.length !== calls) return;
    const body = JSON.stringify(completion('hello'));
    for (const each of open) each.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  await using gateway = await startProxyGateway({ providers: { only: { url: `${server.origin}/v1` } } });
  const answers = await Promise.all(
    Array.from({ length: calls }, async () => {
      const answer = await send(gateway, '/chat/completions', { body: chat() });
      await answer.text();
      return answer.status;
    }),
  );
  assert.deepEqual(new Set(answers), new Set([200]));
});
