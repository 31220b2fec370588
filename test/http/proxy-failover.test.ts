import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { completion } from '../support/chat-faults.ts';
import { CLIENT_KEY, chat, payloadsOf, send, startProxyGateway, type TestProvider } from '../support/proxy-gateway.ts';
import {
  chunk,
  frames,
  hang,
  json,
  raw,
  reset,
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
  status,
  turn,
} from '../support/scripted-provider.ts';

const KEEP_ALIVE = ': still there\n\n';

interface Pair extends AsyncDisposable {
  first: ScriptedProvider;
  second: ScriptedProvider;
  url: string;
  log: string[];
}

/** Fields that make a completion a valid answer of other APIs. */
const ANSWERS: Readonly<Record<string, object>> = {
  '/v1/embeddings': { data: [{ index: 0, embedding: [0.5] }] },
  '/v1/responses': { output: [{ type: 'message', content: [{ type: 'output_text', text: 'second' }] }] },
};

/** A gateway with two providers; the first answers with `script`. */
async function pair(script: Script, options: Partial<TestProvider> & { alone?: boolean } = {}): Promise<Pair> {
  const stack = new AsyncDisposableStack();
  const first = stack.use(await startScriptedProvider({ respond: () => script }));
  const second = stack.use(
    await startScriptedProvider({
      respond: ({ body, path }) =>
        body.stream === true ? turn({ text: 'second' }) : json(completion('second', ANSWERS[path] ?? {})),
    }),
  );
  const { alone = false, ...provider } = options;
  const gateway = stack.use(
    await startProxyGateway({
      providers: { first: { url: first.url, ...provider }, ...(!alone && { second: { url: second.url } }) },
    }),
  );
  return { first, second, url: gateway.url, log: gateway.log, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Reads a stream with the official SDK. */
async function readWithSdk({ url }: Pair): Promise<{ deltas: string }> {
  const client = new OpenAI({ baseURL: url, apiKey: CLIENT_KEY, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'hello' }];
  const stream = await client.chat.completions.create({ model: 'fast', messages, stream: true });
  let deltas = '';
  for await (const { choices } of stream) deltas += choices[0]?.delta.content ?? '';
  return { deltas };
}

const PATHS = ['/chat/completions', '/embeddings', '/responses'];

describe('failover of proxy models', () => {
  it('turns an answer that is not streamed into a stream', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
    const whole = completion('all of it', {
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'all of it', tool_calls: [call] },
          finish_reason: 'tool_calls',
        },
      ],
    });
    await using gateway = await pair(json(whole));
    const text = await (await send(gateway, '/chat/completions', { body: chat({ stream: true }) })).text();
    const chunks = payloadsOf(text);
    assert.equal(chunks.at(-1), '[DONE]');
    assert.match(text, /"content":"all of it","tool_calls":\[\{"index":0,"id":"call_1"/);
    assert.match(text, /"finish_reason":"tool_calls"/);
    assert.match(text, /"prompt_tokens":11/);
    assert.equal(gateway.second.requests.length, 0);
    const { deltas } = await readWithSdk(gateway);
    assert.equal(deltas, 'all of it', 'the client gets the whole answer');
    for (const finish_reason of [null, '']) {
      const message = { role: 'assistant', content: 'all of it' };
      await using endless = await pair(json(completion('', { choices: [{ index: 0, message, finish_reason }] })));
      assert.equal((await readWithSdk(endless)).deltas, 'all of it');
    }
  });

  it('retries after a short Retry-After or a transient fault before it tries another route', async () => {
    for (const script of [status(429, { headers: { 'retry-after-ms': '30' } }), status(500), status(503)]) {
      await using gateway = await pair(script, { maxRetries: 2 });
      gateway.first.respond = (_, n) => (n === 0 ? script : json(completion('first')));
      const answer = await send(gateway, '/chat/completions', { body: chat() });
      assert.equal(JSON.parse(await answer.text()).choices[0].message.content, 'first');
      assert.deepEqual([gateway.first.requests.length, gateway.second.requests.length], [2, 0]);
    }
  });

  for (const path of PATHS) {
    for (const code of [401, 403, 404, 408, 429, 500, 502, 503, 504]) {
      it(`tries the next route after ${code} (${path})`, async () => {
        await using gateway = await pair(status(code));
        const answer = await send(gateway, path, { body: chat() });
        assert.equal(answer.status, 200);
        assert.equal(JSON.parse(await answer.text()).choices[0].message.content, 'second');
        assert.deepEqual([gateway.first.requests.length, gateway.second.requests.length], [1, 1]);
      });
    }

    for (const code of [400, 422]) {
      it(`passes ${code} on at once, as the request is at fault (${path})`, async () => {
        await using gateway = await pair(status(code, { message: 'no such parameter' }));
        const answer = await send(gateway, path, { body: chat() });
        assert.equal(answer.status, code);
        assert.match(await answer.text(), /no such parameter/);
        assert.equal(gateway.second.requests.length, 0);
        const again = await send(gateway, path, { body: chat() });
        assert.equal(again.status, code, 'the route stays healthy');
      });
    }

    it(`tries the next route if the request is too long, and keeps the first healthy (${path})`, async () => {
      const tooLong = {
        error: { message: 'too long', type: 'invalid_request_error', code: 'context_length_exceeded' },
      };
      for (const script of [status(400, { body: JSON.stringify(tooLong) }), status(413)]) {
        await using gateway = await pair(script);
        for (let n = 1; n <= 7; n += 1) {
          assert.equal((await send(gateway, path, { body: chat() })).status, 200);
          assert.deepEqual([gateway.first.requests.length, gateway.second.requests.length], [n, n]);
        }
      }
      await using alone = await pair(status(400, { body: JSON.stringify(tooLong) }), { alone: true });
      const answer = await send(alone, path, { body: chat() });
      assert.equal(answer.status, 400);
      assert.deepEqual(await answer.json(), tooLong);
    });

    it(`passes a content filter's refusal on without retries (${path})`, async () => {
      const filtered = {
        error: { message: 'Rejected.', type: 'invalid_request_error', code: 'content_policy_violation' },
      };
      await using gateway = await pair(status(400, { body: JSON.stringify(filtered) }), { maxRetries: 2 });
      const answer = await send(gateway, path, { body: chat() });
      assert.equal(answer.status, 400);
      assert.deepEqual(await answer.json(), filtered);
      assert.deepEqual([gateway.first.requests.length, gateway.second.requests.length], [1, 0]);
    });

    it(`tries the next route after a broken connection (${path})`, async () => {
      await using gateway = await pair(reset());
      assert.equal((await send(gateway, path, { body: chat() })).status, 200);
      assert.equal(gateway.second.requests.length, 1);
    });

    it(`tries the next route if no headers come in time (${path})`, async () => {
      await using gateway = await pair({ ...raw(''), headersAfter: 'forever' }, { timeouts: { first_byte: 0.1 } });
      assert.equal((await send(gateway, path, { body: chat() })).status, 200);
      await gateway.first.waitForConnections(0);
    });

    it(`passes the last provider's error on with status, body and Retry-After (${path})`, async () => {
      const body = { error: { message: 'slow down', type: 'x', code: 'y', extra: 1 } };
      await using gateway = await pair(status(429, { body, headers: { 'retry-after': '9' } }), { alone: true });
      const answer = await send(gateway, path, { body: chat() });
      assert.equal(answer.status, 429);
      assert.equal(answer.headers.get('retry-after'), '9');
      assert.deepEqual(JSON.parse(await answer.text()), body);
    });

    for (const code of [401, 403]) {
      it(`answers 502 to the last provider's ${code}, as the credentials are the gateway's (${path})`, async () => {
        await using gateway = await pair(status(code), { alone: true });
        const answer = await send(gateway, path, { body: chat() });
        assert.equal(answer.status, 502);
        assert.equal(JSON.parse(await answer.text()).error.code, 'upstream_error');
      });
    }

    it(`answers 504 if the last provider times out (${path})`, async () => {
      await using gateway = await pair(
        { ...raw(''), headersAfter: 'forever' },
        { alone: true, timeouts: { first_byte: 0.1 } },
      );
      const answer = await send(gateway, path, { body: chat() });
      assert.equal(answer.status, 504);
      assert.equal(JSON.parse(await answer.text()).error.code, 'upstream_timeout');
    });
  }

  it('retries transient faults as often as max_retries allows', async () => {
    await using gateway = await pair(status(500), { alone: true, maxRetries: 2 });
    gateway.first.respond = (_, n) => (n < 2 ? status(500) : json(completion('third time')));
    assert.equal((await send(gateway, '/chat/completions', { body: chat() })).status, 200);
    assert.equal(gateway.first.requests.length, 3);
  });

  it('does not retry a 429 without Retry-After', async () => {
    await using gateway = await pair(status(429), { alone: true, maxRetries: 5 });
    assert.equal((await send(gateway, '/chat/completions', { body: chat() })).status, 429);
    assert.equal(gateway.first.requests.length, 1);
  });

  it('does not call a provider during its long Retry-After', async () => {
    await using gateway = await pair(status(429, { headers: { 'retry-after': '30' } }), { alone: true });
    await send(gateway, '/chat/completions', { body: chat() });
    const answer = await send(gateway, '/chat/completions', { body: chat() });
    assert.equal(answer.status, 429);
    assert.equal(JSON.parse(await answer.text()).error.code, 'rate_limit_exceeded');
    assert.ok(Number(answer.headers.get('retry-after')) > 20);
    assert.equal(gateway.first.requests.length, 1);
  });

  it('asks a provider that limited it again, although a long stream has the only place', async () => {
    await using gateway = await pair(status(500), { alone: true, maxRetries: 1 });
    gateway.first.respond = ({ body }, n) => {
      if (body.stream === true) return hang();
      return n === 1 ? status(429, { headers: { 'retry-after-ms': '1' } }) : json(completion('first'));
    };
    const client = new AbortController();
    const long = send(gateway, '/chat/completions', { body: chat({ stream: true }), signal: client.signal });
    await gateway.first.waitForRequest(1);
    assert.equal((await send(gateway, '/chat/completions', { body: chat() })).status, 200);
    client.abort();
    await assert.rejects(long);
  });

  it('skips a route that keeps failing', async () => {
    await using gateway = await pair(status(500));
    const began = performance.now();
    for (let n = 0; n < 8; n++) {
      assert.equal((await send(gateway, '/chat/completions', { body: chat() })).status, 200);
    }
    // Five failures open its circuit; on a slow machine it is asked again after two seconds.
    const most = 5 + Math.floor((performance.now() - began) / 1500);
    const asked = gateway.first.requests.length;
    assert.ok(asked >= 5 && asked <= most, `${asked} requests`);
    assert.equal(gateway.second.requests.length, 8);
  });

  it('follows no redirects', async () => {
    for (const path of PATHS) {
      await using gateway = await pair(status(307), { alone: true });
      gateway.first.respond = () => status(307, { headers: { location: gateway.second.url } });
      const answer = await send(gateway, path, { body: chat() });
      assert.equal(answer.status, 502);
      assert.equal(gateway.second.requests.length, 0);
    }
  });

  it('logs the failed attempt', async () => {
    await using gateway = await pair(status(500, { message: 'out of memory' }));
    await send(gateway, '/chat/completions', { body: chat() });
    assert.ok(gateway.log.some((line) => line.includes('"provider":"first"') && line.includes('out of memory')));
  });
});

describe('a proxied stream that breaks off', () => {
  it('ends with an error if its provider gives up midway, in any of several forms', async () => {
    for (const script of [
      frames([chunk({ content: 'be' }), chunk({}, 'error')]),
      frames([chunk({ content: 'be' }), chunk({ content: 'ginning' }, 'insufficient_system_resource')]),
      frames([chunk({ content: 'be' }), { choices: [{ index: 0, delta: {}, error: { message: 'no capacity' } }] }]),
      frames([chunk({ content: 'be' }), { ...chunk({}, 'error'), error: { message: 'no capacity', code: 502 } }]),
    ]) {
      await using gateway = await pair(script, { alone: true });
      const text = await (await send(gateway, '/chat/completions', { body: chat({ stream: true }) })).text();
      const [broken, last] = payloadsOf(text).slice(-2);
      assert.match(JSON.stringify(broken), /"finish_reason":"error".*"error":\{"message"/, text);
      assert.match(JSON.stringify(last), /^\{"error":\{"message"/, text);
      assert.ok(!text.includes('[DONE]'), text);
      await assert.rejects(readWithSdk(gateway));
    }
  });

  const first = frames([chunk({ role: 'assistant', content: 'be' })], { done: false }).steps[0];
  assert.ok(first);
  const cut: Script = { ...raw(''), steps: [first, { do: 'cut' }] };

  const cutResponse: Script = {
    ...raw(''),
    steps: [{ do: 'send', bytes: 'data: {"type":"response.output_text.delta","delta":"be"}\n\n' }, { do: 'cut' }],
  };

  it('ends with an error chunk of the same stream, then the error alone', async () => {
    await using gateway = await pair(cut, { alone: true });
    const payloads = payloadsOf(
      await (await send(gateway, '/chat/completions', { body: chat({ stream: true }) })).text(),
    );
    const error = {
      message: 'Provider first failed: the connection failed (UND_ERR_SOCKET)',
      type: 'api_error',
      param: null,
      code: 'upstream_error',
    };
    const broken = {
      id: 'chatcmpl-scripted',
      object: 'chat.completion.chunk',
      created: 1_700_000_000,
      model: 'scripted',
      choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
      error,
    };
    // Some apps read only an error without choices.
    assert.deepEqual(payloads.slice(-2), [broken, { error }]);
  });

  it('reports the error in the format of its API', async () => {
    await using gateway = await pair(cut, { alone: true });
    for (const [path, last] of [
      ['/completions', { object: 'text_completion', finish: 'error' }],
      ['/responses', { type: 'error' }],
    ] as const) {
      if (path === '/responses') gateway.first.respond = () => cutResponse;
      const payloads = payloadsOf(await (await send(gateway, path, { body: chat({ stream: true }) })).text());
      const payload = JSON.stringify(payloads.at(-1));
      assert.match(payload, /"error":\{"message":"Provider first failed/);
      if ('type' in last) assert.match(payload, /^\{"type":"error"/);
      else assert.match(payload, /"object":"text_completion".*"finish_reason":"error"/);
    }
  });

  it("passes the provider's error on, and nothing after it", async () => {
    const refusal = { object: 'error', message: 'the context is too long', code: 400 };
    await using gateway = await pair(
      frames([chunk({ content: 'be' }), refusal, chunk({ content: 'ginning' }, 'stop')]),
      { alone: true },
    );
    const text = await (await send(gateway, '/chat/completions', { body: chat({ stream: true }) })).text();
    const payloads = payloadsOf(text);
    assert.deepEqual(payloads[1], refusal);
    assert.equal(payloads.length, 4);
    assert.match(JSON.stringify(payloads[2]), /"finish_reason":"error".*the context is too long/);
  });

  it('counts as complete if it breaks after the finish reason', async () => {
    const whole = turn({ text: 'fine', done: false });
    await using gateway = await pair(
      { ...whole, steps: [...whole.steps.slice(0, -1), { do: 'cut' }] },
      { alone: true },
    );
    const payloads = payloadsOf(
      await (await send(gateway, '/chat/completions', { body: chat({ stream: true }) })).text(),
    );
    assert.match(JSON.stringify(payloads.at(-1)), /"usage":\{/);
  });

  it('counts as broken if one of several choices lacks a finish reason', async () => {
    await using gateway = await pair(
      {
        ...raw(''),
        steps: [...frames([chunk({ content: 'a' }, 'stop')], { done: false }).steps.slice(0, -1), { do: 'cut' }],
      },
      { alone: true },
    );
    const text = await (await send(gateway, '/chat/completions', { body: chat({ stream: true, n: 2 }) })).text();
    assert.match(text, /"finish_reason":"error"/);
  });

  it('breaks the connection for a body that is not SSE', async () => {
    await using gateway = await pair(
      { status: 200, headers: { 'content-type': 'audio/mpeg' }, steps: [{ do: 'send', bytes: 'sou' }, { do: 'cut' }] },
      { alone: true },
    );
    const answer = await send(gateway, '/audio/speech', { body: { model: 'fast' } });
    await assert.rejects(answer.arrayBuffer());
  });

  it('fails over if the provider sends only keep-alive comments', async () => {
    const steps: Script['steps'] = [{ do: 'send', bytes: KEEP_ALIVE }, { do: 'hang' }];
    await using gateway = await pair({ ...raw(''), steps }, { timeouts: { first_token: 0.2 } });
    const text = await (await send(gateway, '/chat/completions', { body: chat({ stream: true }) })).text();
    assert.match(text, /second/);
    assert.ok(!text.includes(KEEP_ALIVE));
  });
});
