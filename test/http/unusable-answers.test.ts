import assert from 'node:assert/strict';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { APIS, type ApiUnderTest, endlessOf } from '../support/api-answers.ts';
import { completion } from '../support/chat-faults.ts';
import { until } from '../support/http-gateway.ts';
import { type ProxyGateway, payloadsOf, send, startProxyGateway } from '../support/proxy-gateway.ts';
import {
  chunk,
  frames,
  json,
  raw,
  type Script,
  type ScriptedProvider,
  type Step,
  startScriptedProvider,
} from '../support/scripted-provider.ts';

const EVENTS = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };

interface World extends AsyncDisposable {
  gateway: ProxyGateway;
  first: ScriptedProvider;
  second: ScriptedProvider;
}

/** Two providers for every API; the model `alone` has a route to the first only. */
async function startWorld(): Promise<World> {
  const stack = new AsyncDisposableStack();
  const first = stack.use(await startScriptedProvider());
  const second = stack.use(await startScriptedProvider());
  const apis = [...Object.keys(APIS), 'embeddings', 'async', 'audio', 'images', 'rerank', 'moderations'];
  const timeouts = { first_byte: 1, idle: 5 };
  const gateway = stack.use(
    await startProxyGateway({
      providers: { first: { url: first.url, timeouts }, second: { url: second.url }, patient: { url: first.url } },
      models: {
        fast: {
          kind: 'proxy',
          responses: 'native',
          apis,
          routes: ['first', 'second'].map((provider) => ({ provider, model: 'm' })),
        },
        going_on: {
          kind: 'proxy',
          responses: 'native',
          apis,
          continue_streams: true,
          routes: ['first', 'second'].map((provider) => ({ provider, model: 'm' })),
        },
        kept: {
          kind: 'proxy',
          apis,
          cache: { ttl_seconds: 60 },
          routes: ['first', 'second'].map((provider) => ({ provider, model: 'm' })),
        },
        alone: { kind: 'proxy', responses: 'native', apis, routes: [{ provider: 'first', model: 'alone' }] },
        // For good answers: on a busy machine they may take longer than the timeouts of `first`.
        patient: { kind: 'proxy', responses: 'native', apis, routes: [{ provider: 'patient', model: 'alone' }] },
        patient_going_on: {
          kind: 'proxy',
          responses: 'native',
          apis,
          continue_streams: true,
          routes: [{ provider: 'patient', model: 'alone' }],
        },
      },
    }),
  );
  return { gateway, first, second, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** The same answer under another `content-type` or `content-encoding`. */
function packed(script: Script, pack: (body: Buffer) => Uint8Array, headers: Record<string, string>): Script {
  const body = Buffer.concat(script.steps.map((step) => (step.do === 'send' ? Buffer.from(step.bytes) : Buffer.of())));
  return { ...raw(pack(body)), headers: { ...script.headers, ...headers } };
}

/** A message of a response. */
const MESSAGE = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'half of' }] };

const half = (body: Uint8Array) => body.subarray(0, Math.floor(body.length / 2));

/** Unusable answers of an API. */
function faultsOf(api: string, { answer, opening }: ApiUnderTest, stream: boolean): Record<string, Script> {
  const good = answer('of the first, with some words that can be compressed', stream);
  const isChat = api.endsWith('completions');
  return {
    'says nothing': answer('', stream),
    'says nothing but white space': answer(' \n\t ', stream),
    'is an HTML page': raw('<html><title>Sign in</title></html>', { headers: { 'content-type': 'text/html' } }),
    'is an HTML page with another content type': raw('<html></html>', { headers: stream ? EVENTS : JSON_TYPE }),
    'is an error with status 200': json({ error: { message: 'no capacity', type: 'server_error' } }),
    'is an error given as a string': json({ error: 'no capacity' }),
    ...Object.fromEntries(BARE_ERRORS.map((error) => [`is ${JSON.stringify(error)} with status 200`, json(error)])),
    'is gzip cut in half': packed(good, (body) => half(gzipSync(body)), { 'content-encoding': 'gzip' }),
    'is deflate cut in half': packed(good, (body) => half(deflateSync(body)), { 'content-encoding': 'deflate' }),
    'is brotli cut in half': packed(good, (body) => half(brotliCompressSync(body)), { 'content-encoding': 'br' }),
    'is zstd cut in half': packed(good, (body) => half(zstdCompressSync(body)), { 'content-encoding': 'zstd' }),
    'is not gzip, as it claims': packed(good, (body) => body, { 'content-encoding': 'gzip' }),
    'is compressed in an unknown way': packed(good, (body) => body, { 'content-encoding': 'shrink' }),
    ...(stream
      ? {
          'has an opening but no content': frames(opening, { done: isChat }),
          'is JSON without an answer': json({ fine: true, choices: [] }),
          'is an error event': frames([...opening, { type: 'error', error: { message: 'no capacity' } }]),
          'is an event named error': raw(`${textOf(frames(opening, { done: false }))}${ERROR_EVENT}`),
          'is an event named error with plain text': raw('event: error\ndata: Internal Server Error\n\n'),
        }
      : {
          'is an unrequested stream': api === 'responses' ? raw('', { headers: EVENTS }) : answer('x', true),
          'is empty': raw('', { headers: JSON_TYPE }),
          'is an error of more than a megabyte': json({ error: { message: LONG } }),
          'says nothing in more than a megabyte': packed(answer('', false), (body) => padded(body), {}),
          ...Object.fromEntries(
            ['null', '[]', '5', '"of the first"', '{}', '{"detail":"no capacity"}'].map((text) => [
              `is the JSON ${text}`,
              raw(text, { headers: JSON_TYPE }),
            ]),
          ),
        }),
    ...(isChat && {
      'has no choice': stream
        ? frames([{ ...chunk({}), choices: [] }])
        : json(completion('', { choices: [], object: 'chat.completion' })),
      'has the finish reason error': brokenOff(api, 'error', stream),
      'has the finish reason abort': brokenOff(api, 'abort', stream),
      'has a choice with an error': brokenOff(api, 'stop', stream, { error: { code: 502, message: 'no capacity' } }),
    }),
    ...(isChat && stream && { 'reports only usage': frames([{ choices: [], usage: { prompt_tokens: 1 } }]) }),
    ...(isChat && {
      'has the finish reason error after a megabyte': brokenOff(api, 'error', stream, {
        logprobs: stream ? null : LONG,
      }),
      'has only a name': stream
        ? frames([chunk({ role: 'assistant', content: '', name: 'MiniMax AI', audio_content: '' }), chunk({}, 'stop')])
        : json(completion('', { choices: [{ message: { content: '', name: 'MiniMax AI' }, finish_reason: 'stop' }] })),
    }),
    ...(api === 'messages' &&
      !stream && { 'is unfinished': json({ type: 'message', content: [], stop_reason: null }) }),
    ...(api === 'responses' &&
      !stream && {
        'is unfinished': json({ object: 'response', status: 'in_progress', output: [] }),
        'is unfinished, with a part of its output': json({
          object: 'response',
          status: 'in_progress',
          output: [MESSAGE],
        }),
        'is a complete, unrequested stream': answer('x', true),
      }),
    ...(api === 'responses' && {
      failed: stream
        ? frames([...opening, { type: 'response.failed', response: failedResponse }], { done: false })
        : json(failedResponse),
    }),
  };
}

/** Errors in the formats of DashScope, Bedrock, MiniMax, Cloudflare and Baidu. */
const BARE_ERRORS = [
  { code: 'InvalidApiKey', message: 'Invalid API-key provided.', request_id: 'r' },
  { code: 500, message: 'upstream error', data: null },
  { message: 'The security token included in the request is expired' },
  { id: '', content: null, base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
  { success: false, errors: [{ code: 7000, message: 'No route' }], messages: [], result: null },
  { error_code: 17, error_msg: 'Open api daily request limit reached' },
  { error: {} },
];
const ERROR_EVENT = 'event: error\ndata: {"message":"overloaded","code":529}\n\n';
const LONG = 'x'.repeat(1_100_000);

/** The same JSON with a long field that does not matter. */
function padded(body: Buffer): Buffer {
  return Buffer.from(`{"pad":"${LONG}",${body.toString().slice(1)}`);
}

function textOf({ steps }: Script): string {
  return steps.map(bytesOf).join('');
}

const failedResponse = {
  object: 'response',
  status: 'failed',
  output: [],
  error: { code: 'server_error', message: 'no capacity' },
};

function brokenOff(api: string, end: string, stream: boolean, fields: object = {}): Script {
  const said = api === 'completions' ? { text: '' } : stream ? { delta: {} } : { message: { content: 'half of' } };
  const payload = { id: 'c', choices: [{ index: 0, ...said, finish_reason: end, ...fields }] };
  return stream ? frames([payload]) : json(payload);
}

function sent(bytes: string): Step {
  return { do: 'send', bytes };
}

describe('an unusable answer', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world[Symbol.asyncDispose]());

  const ask = ({ path, request }: ApiUnderTest, model: string, stream: boolean) =>
    send(world.gateway, path, { body: { ...request, model, stream } });

  /** What a client gets if the first route answers with `script`. Before that it answers well, so that it is used. */
  async function answerOfNext(under: ApiUnderTest, script: Script, stream: boolean, model = 'fast'): Promise<string> {
    const { first, second } = world;
    first.respond = () => under.answer('fine', stream);
    second.respond = () => under.answer('of the second', stream);
    // Under load a first call may be too slow for the first route.
    await until(async () => (/fine/.test(await (await ask(under, model, stream)).text()) ? true : undefined));
    first.respond = () => script;
    const before = first.requests.length;
    const answer = await ask(under, model, stream);
    const text = await answer.text();
    assert.deepEqual([answer.status, first.requests.length], [200, before + 1], text);
    assert.match(text, /of the second/);
    return text;
  }

  for (const [api, under] of Object.entries(APIS)) {
    for (const stream of [true, false]) {
      for (const [name, script] of Object.entries(faultsOf(api, under, stream))) {
        it(`fails over, or is a 502 without another route (${api}, ${stream ? 'stream' : 'whole'}): it ${name}`, async () => {
          const text = await answerOfNext(under, script, stream);
          assert.doesNotMatch(text, /of the first|error/);
          const refused = await ask(under, 'alone', stream);
          assert.equal(refused.status, 502, await refused.clone().text());
          assert.match(await refused.text(), /upstream_error/);
        });
      }
    }
  }

  it('fails over if an embeddings answer has no vectors', async () => {
    const { gateway, first, second } = world;
    second.respond = () => json({ object: 'list', data: [{ index: 0, embedding: [0.5] }] });
    const nothing = [
      { data: [{ index: 0, embedding: [] }] },
      { data: [{ index: 0, embedding: '' }] },
      { data: [{ index: 0 }] },
    ];
    const none = [{ data: [] }, { object: 'list', data: null }, { detail: 'Not Found', status: 404 }];
    for (const said of [...nothing, ...none, ...BARE_ERRORS, { object: 'list' }, { detail: 'no capacity' }, []]) {
      first.respond = () => json(said);
      const answer = await send(gateway, '/embeddings', { body: { model: 'fast', input: 'x' } });
      assert.match(await answer.text(), /0\.5/);
    }
  });

  it('that breaks off ends with an event whose name is the one that SDKs look for', async () => {
    const { gateway, first } = world;
    for (const api of ['messages', 'responses']) {
      const under = APIS[api];
      assert.ok(under);
      const begun = frames([...under.opening, under.says('half of it')], { done: false }).steps.slice(0, -1);
      for (const steps of [[], [sent('data: {"error":{"message":"no capacity"}}\n\n')]]) {
        first.respond = () => ({ ...raw(''), steps: [...begun, ...steps, { do: 'cut' }] });
        const answer = await send(gateway, under.path, { body: { ...under.request, model: 'alone', stream: true } });
        // Anthropic's SDKs skip an event without a name, and take what came before for the whole answer.
        assert.match(
          await answer.text(),
          /half of it.*\n\nevent: error\ndata: \{"type":"error","error":\{[^\n]*\n\n$/s,
        );
      }
    }
  });

  it('that began as a stream without being asked fails over to JSON', async () => {
    const { gateway, first, second } = world;
    const whole = { object: 'response', status: 'completed', output: [{ type: 'function_call' }] };
    first.respond = () => ({ ...raw(''), steps: [sent(': still there\n\n'.repeat(2000)), { do: 'cut' }] });
    second.respond = () => json(whole);
    const answer = await send(gateway, '/responses', { body: { model: 'fast', input: 'hi' } });
    assert.deepEqual([answer.status, await answer.json()], [200, whole]);
  });

  it('fails over in other APIs, and is not cached', async () => {
    const { gateway, first, second } = world;
    const audio = { 'content-type': 'audio/mpeg' };
    second.respond = () => raw('of the second', { headers: audio });
    const errors = BARE_ERRORS.filter((error) => Object.keys(error).length > 1 || 'error' in error);
    const faults: Script[] = [
      ...['{"error":{"message":"no capacity"}}', ...errors.map((error) => JSON.stringify(error)), '{"results":[{'].map(
        (text) => raw(text, { headers: JSON_TYPE }),
      ),
      raw('{"error":{"message":"no capacity"}}', { headers: { 'content-type': 'application/problem+json' } }),
      json({ error: { message: LONG } }),
      raw('', { headers: audio }),
    ];
    for (const path of ['/audio/speech', '/images/generations', '/rerank', '/moderations']) {
      for (const [n, script] of faults.entries()) {
        const asked = async (input: string) => {
          const answer = await send(gateway, path, { body: { model: 'kept', input } });
          return await answer.text();
        };
        first.respond = () => raw('fine', { headers: audio });
        let times = 0;
        await until(async () => ((await asked(`${n} ${times++}`)) === 'fine' ? true : undefined));
        first.respond = () => script;
        const before = first.requests.length;
        assert.equal(await asked(`${n}`), 'of the second', `${path} ${textOf(script)}`.slice(0, 200));
        assert.equal(first.requests.length, before + 1);
      }
    }
    const refused = await send(gateway, '/audio/speech', { body: { model: 'alone', input: 'x' } });
    assert.equal(refused.status, 502);
  });

  it('fails over in a turn of research', async () => {
    const { gateway, first, second } = world;
    const chat = APIS.chat_completions;
    assert.ok(chat);
    const endless = Object.entries(endlessOf(chat)).map(([name, bytes]): [string, Script] => [
      name,
      { ...raw(''), steps: Array.from({ length: 400 }, (): Step[] => [sent(bytes), { do: 'wait', ms: 5 }]).flat() },
    ]);
    const body = { model: 'deep', input: 'Why?', stream: false };
    second.respond = () => chat.answer('of the second', true);
    for (const [name, script] of [...Object.entries(faultsOf('chat_completions', chat, true)), ...endless]) {
      first.respond = () => chat.answer('fine', true);
      // On a busy machine the first one may take longer than it has, and rests then.
      await until(
        async () => /"output_text":"fine/.test(await (await send(gateway, '/responses', { body })).text()) || undefined,
      );
      const before = first.requests.length;
      first.respond = () => script;
      const text = await (await send(gateway, '/responses', { body })).text();
      assert.match(text, /"output_text":"of the second/, name);
      assert.ok(first.requests.length > before, name);
    }
  });

  it('fails over with continue_streams', async () => {
    const chat = APIS.chat_completions;
    assert.ok(chat);
    for (const [name, script] of Object.entries(faultsOf('chat_completions', chat, true))) {
      const text = await answerOfNext(chat, script, true, 'going_on');
      const said = payloadsOf(text).filter((payload) => JSON.stringify(payload).includes('of the second'));
      assert.deepEqual([said.length, payloadsOf(text).at(-1)], [1, '[DONE]'], `${name}: ${text}`);
      assert.doesNotMatch(text, /of the first|error/, name);
    }
  });
});

describe('an unusual but valid answer', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world[Symbol.asyncDispose]());

  const whole = (message: object, end: string, fields: object = {}) =>
    json({ choices: [{ index: 0, message, finish_reason: end }], ...fields });
  const streamed = (deltas: object[], end: string) => frames([...deltas.map((delta) => chunk(delta)), chunk({}, end)]);
  const role = { role: 'assistant', content: '' };
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } };
  const empty = { index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'stop' };
  const several = json({ choices: [empty, { ...empty, index: 1, message: { role: 'assistant', content: 'x' } }] });
  const chat = '/chat/completions';
  const thinks = [{ type: 'reasoning', id: 'r', summary: [] }];
  const ends = { type: 'response.completed', response: { object: 'response', status: 'completed', output: thinks } };
  const message = { type: 'message', content: [] };

  for (const [name, path, request, script] of [
    ['was cut off by max_tokens', chat, { max_tokens: 1 }, whole({ content: '' }, 'length')],
    ['was cut off by max_tokens, streamed', chat, { stream: true, max_tokens: 1 }, streamed([role], 'length')],
    ['was filtered', chat, {}, whole({ content: null }, 'content_filter')],
    ['was filtered, streamed', chat, { stream: true }, streamed([role], 'content_filter')],
    ['met a stop sequence at once', chat, { stop: ['x'] }, whole({ content: '' }, 'stop')],
    ['met a stop sequence at once, streamed', chat, { stop: 'x', stream: true }, streamed([role], 'stop')],
    ['calls a tool', chat, {}, whole({ content: null, tool_calls: [call] }, 'tool_calls')],
    ['calls a tool, streamed', chat, { stream: true }, streamed([role, { tool_calls: [call] }], 'tool_calls')],
    ['has a legacy function_call', chat, {}, whole({ content: null, function_call: call.function }, 'function_call')],
    ['refuses', chat, {}, whole({ content: null, refusal: 'No.' }, 'stop')],
    ['refuses, streamed', chat, { stream: true }, streamed([role, { refusal: 'No.' }], 'stop')],
    ['has only reasoning', chat, {}, whole({ content: '', reasoning_content: 'Hm.' }, 'stop')],
    ['has only reasoning, streamed', chat, { stream: true }, streamed([role, { reasoning: 'Hm.' }], 'stop')],
    ['is audio', chat, {}, whole({ content: null, audio: { id: 'a', data: 'AAAA', expires_at: 1 } }, 'stop')],
    ['is audio, streamed', chat, { stream: true }, streamed([role, { audio: { data: 'AAAA' } }], 'stop')],
    ['is an image', chat, {}, whole({ content: '', images: [{ image_url: { url: 'data:x' } }] }, 'stop')],
    ['has one empty choice of several', chat, { n: 2 }, several],
    ['has content parts', chat, {}, whole({ content: [{ type: 'text', text: 'x' }] }, 'stop')],
    [
      'is an empty insertion',
      '/completions',
      { suffix: '}' },
      json({ choices: [{ text: '', finish_reason: 'stop' }] }),
    ],
    [
      'is queued in the background',
      '/responses',
      { background: true },
      json({ object: 'response', status: 'queued', output: [] }),
    ],
    ['is incomplete', '/responses', {}, json({ object: 'response', status: 'incomplete', output: [] })],
    [
      'has only a reasoning item, streamed',
      '/responses',
      { stream: true },
      frames([{ ...added(thinks[0]) }, ends], { done: false }),
    ],
    ['met a stop sequence', '/messages', {}, json({ ...message, stop_reason: 'stop_sequence' })],
    ['is a refusal', '/messages', {}, json({ ...message, stop_reason: 'refusal' })],
    ['counts tokens', '/messages/count_tokens', {}, json({ input_tokens: 3 })],
    ['has no vectors for an empty input', '/embeddings', { input: [] }, json({ object: 'list', data: [] })],
    ['is a bare vector', '/embeddings', {}, json({ embedding: [0.1, 0.2] })],
    ['has an empty error object', chat, {}, json(completion('x', { error: {} }))],
    ['has an error object with empty fields', chat, {}, json(completion('x', { error: { message: '', code: null } }))],
    ['has error: null', '/embeddings', {}, json({ data: [{ embedding: [1] }], error: null })],
    ['is a large image', chat, {}, whole({ content: '', images: [{ image_url: { url: LONG } }] }, 'stop')],
    ['is a large image, streamed', chat, { stream: true }, streamed([role, { images: [{ url: LONG }] }], 'stop')],
    [
      'begins with a large image',
      '/images/generations',
      { stream: true },
      frames([{ b64_json: LONG }], { done: false }),
    ],
    ['is an empty transcription', '/audio/transcriptions', {}, raw('', { headers: { 'content-type': 'text/plain' } })],
    ['has one of two choices, streamed', chat, { stream: true, n: '2' }, frames([chunk({ content: 'x' }, 'stop')])],
  ] as const) {
    it(`is passed on unchanged: it ${name}`, async () => {
      const { gateway, first, second } = world;
      first.respond = () => script;
      const answer = await send(gateway, path, { body: { model: 'fast', ...request } });
      const sent = script.steps.map((step) => (step.do === 'send' ? step.bytes.toString() : '')).join('');
      assert.equal(await answer.text(), sent);
      assert.deepEqual([answer.status, second.requests.length], [200, 0]);
    });
  }

  it('is passed on without its byte order mark', async () => {
    const { gateway, first } = world;
    const good = textOf(json(completion('fine')));
    first.respond = () => raw(`\uFEFF${good}`, { headers: JSON_TYPE });
    const answer = await send(gateway, chat, { body: { model: 'patient' } });
    assert.equal(Buffer.from(await answer.arrayBuffer()).toString('latin1'), good);
    const stream = await send(gateway, chat, { body: { model: 'patient', stream: true } });
    assert.match(await stream.text(), /^data: .*fine/);
  });

  it('is passed on with line feeds if its lines end with carriage returns', async () => {
    const { gateway, first } = world;
    for (const { path, request, answer } of Object.values(APIS)) {
      const text = textOf(answer('fine', true));
      const steps: Step[] = [...text.replaceAll('\n', '\r')].map((bytes) => ({ do: 'send', bytes }));
      for (const sends of [steps, [sent(text.replaceAll('\n', '\r'))]]) {
        first.respond = () => ({ ...raw(''), steps: [...sends, { do: 'end' }] });
        const got = await send(gateway, path, { body: { ...request, model: 'patient', stream: true } });
        assert.equal(await got.text(), text);
      }
    }
  });

  it('is passed on byte for byte, including what precedes its first content', async () => {
    const { gateway, first } = world;
    for (const { path, request, opening, says } of Object.values(APIS)) {
      const held = `: hi\r\n\r\nid: 4\n${frames(opening, { done: false }).steps.map(bytesOf).join('')}`;
      const text = frames([says(' '), says('word')], { done: false })
        .steps.map(bytesOf)
        .join('');
      const gate = Promise.withResolvers<void>();
      const steps: Step[] = [...`${held}${text}`].map((bytes) => ({ do: 'send', bytes }));
      first.respond = () => ({ ...raw(''), steps: [...steps, { do: 'until', promise: gate.promise }, { do: 'end' }] });
      const answer = await send(gateway, path, { body: { ...request, model: 'fast', stream: true } });
      let seen = '';
      for await (const piece of answer.body ?? []) {
        seen += Buffer.from(piece).toString();
        if (seen.length === held.length + text.length) gate.resolve();
      }
      assert.ok(seen.startsWith(held + text), seen);
    }
  });

  const LASTING = [...Object.keys(APIS).map((api) => [api, 'patient']), ['chat_completions', 'patient_going_on']];
  for (const [api = '', model] of LASTING) {
    it(`ends with its last event, also if its provider ends the body later or never (${api}, ${model})`, async () => {
      const { gateway, first } = world;
      const { path, request, answer } = APIS[api] ?? assert.fail();
      const text = textOf(answer('fine', true));
      const last = text.trimEnd().split('\n').at(-1) ?? '';
      const ask = async (...rest: Step[]) => {
        // The empty line that ends the last event comes alone.
        const steps = [sent(text.slice(0, -1)), { do: 'wait', ms: 5 } as const, sent('\n'), ...rest];
        first.respond = () => ({ ...raw(''), steps });
        const got = await (await send(gateway, path, { body: { ...request, model, stream: true } })).text();
        assert.ok(got.includes('fine') && got.endsWith(`${last}\n\n`), got);
      };
      await ask({ do: 'hang' });
      assert.deepEqual(await first.requests.at(-1)?.closed, { left: true });
      const before = first.totalConnections;
      for (let call = 0; call < 8; call++) {
        await ask({ do: 'wait', ms: 10 }, { do: 'end' });
        await first.waitForActive(0);
      }
      assert.ok(first.totalConnections - before < 7, 'connections are used again');
    });
  }

  it('is passed on with status 200 instead of 205', async () => {
    const { gateway, first } = world;
    for (const { path, request, answer } of Object.values(APIS)) {
      const good = answer('fine', false);
      first.respond = () => ({ ...good, status: 205 });
      const got = await send(gateway, path, { body: { ...request, model: 'patient', stream: false } });
      assert.deepEqual([got.status, await got.text()], [200, good.steps.map(bytesOf).join('')], path);
    }
  });

  it('is decompressed if the client did not ask for compression', async () => {
    const { gateway, first } = world;
    for (const [encoding, pack] of [
      ['gzip', gzipSync],
      ['X-Gzip', gzipSync],
      ['deflate', deflateSync],
      ['deflate', deflateRawSync],
      ['br', brotliCompressSync],
      ['zstd', zstdCompressSync],
    ] as const) {
      for (const [api, { path, request, answer }] of Object.entries(APIS)) {
        for (const stream of [true, false]) {
          const good = answer('fine '.repeat(20_000), stream);
          first.respond = () => packed(good, pack, { 'content-encoding': encoding });
          const got = await send(gateway, path, { body: { ...request, model: 'patient', stream } });
          assert.deepEqual([got.status, got.headers.get('content-encoding')], [200, null], `${encoding} ${api}`);
          assert.equal(await got.text(), good.steps.map(bytesOf).join(''), `${encoding} ${api}`);
        }
      }
    }
  });
});

function added(item: object | undefined): object {
  return { type: 'response.output_item.added', output_index: 0, item };
}

function bytesOf(step: Step): string {
  return step.do === 'send' ? step.bytes.toString() : '';
}
