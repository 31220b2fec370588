import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { goodAnswer } from '../support/chat-faults.ts';
import { chat, type ProxyGateway, payloadsOf, send, startProxyGateway } from '../support/proxy-gateway.ts';
import {
  chunk,
  cutAfter,
  frames,
  hang,
  insertAfter,
  type ProviderRequest,
  type Script,
  type ScriptedProvider,
  stallAfter,
  startScriptedProvider,
  status,
  turn,
} from '../support/scripted-provider.ts';

const WORDS = 'one two three four five six seven eight nine ten eleven twelve';
const TURN = { text: WORDS };

interface Pair extends AsyncDisposable {
  first: ScriptedProvider;
  second: ScriptedProvider;
  gateway: ProxyGateway;
}

/** No route with an open circuit is asked again sooner, in milliseconds. */
const PROBED_EVERY_MS = 1500;

async function openPair(first: Script, second: (request: ProviderRequest) => Script): Promise<Pair> {
  const stack = new AsyncDisposableStack();
  const one = stack.use(await startScriptedProvider({ respond: () => first }));
  const two = stack.use(await startScriptedProvider({ respond: second }));
  const timeouts = { connect: 30, first_byte: 30, first_token: 30, idle: 0.3 };
  const gateway = stack.use(
    await startProxyGateway({
      providers: { one: { url: one.url, timeouts }, two: { url: two.url } },
      models: {
        going: {
          kind: 'proxy',
          responses: 'native',
          continue_streams: true,
          routes: [
            { provider: 'one', model: 'a' },
            { provider: 'two', model: 'b' },
          ],
        },
      },
    }),
  );
  return { first: one, second: two, gateway, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Continues after the assistant's words in the request, like a model that supports prefill. */
function continuesPrefill({ body }: ProviderRequest): Script {
  const last = body.messages?.at(-1);
  const said = last?.role === 'assistant' ? String(last.content) : '';
  assert.ok(WORDS.startsWith(said), said);
  return turn({ text: WORDS.slice(said.length) });
}

async function ask({ gateway }: Pair, fields: object = {}) {
  const answer = await send(gateway, '/chat/completions', { body: chat({ model: 'going', stream: true, ...fields }) });
  const text = await answer.text();
  const payloads = payloadsOf(text);
  const chunks = payloads.filter(isObject);
  const content = chunks.map((payload) => deltaOf(payload).content ?? '').join('');
  return { answer, text, payloads, chunks, content };
}

function deltaOf(payload: Record<string, unknown>): Record<string, unknown> {
  const [choice] = Array.isArray(payload.choices) ? payload.choices : [];
  return isObject(choice?.delta) ? choice.delta : {};
}

describe('continue_streams', () => {
  const breaks: Record<string, Script> = {
    'is cut': cutAfter(5, TURN),
    'is cut after the first words': cutAfter(2, TURN),
    stalls: stallAfter(5, TURN),
    'ends without a finish reason': frames([chunk({ role: 'assistant', content: '' }), chunk({ content: 'one two' })], {
      done: false,
    }),
    'sends an error': insertAfter(5, { error: { message: 'no capacity' } }, TURN),
  };
  for (const [name, script] of Object.entries(breaks)) {
    it(`sends the client one answer if the first route ${name}`, async () => {
      await using pair = await openPair(script, continuesPrefill);
      const { payloads, chunks, content, text } = await ask(pair);
      assert.equal(content, WORDS);
      assert.equal(payloads.at(-1), '[DONE]');
      assert.equal(new Set(chunks.map(({ id }) => id)).size, 1, 'one id');
      assert.equal(chunks.filter((payload) => deltaOf(payload).role !== undefined).length, 1, 'one role');
      assert.equal(text.split('"finish_reason":"stop"').length, 2);
      assert.deepEqual([pair.first.requests.length, pair.second.requests.length], [1, 1]);
    });
  }

  it('repeats no words if the next model starts from the beginning', async () => {
    await using pair = await openPair(cutAfter(4, TURN), () => turn(TURN));
    assert.equal((await ask(pair)).content, WORDS);
  });

  it('asks with a user message once a model has refused assistant prefill', async () => {
    await using pair = await openPair(cutAfter(5, TURN), ({ body }) =>
      body.messages?.at(-1)?.role === 'assistant'
        ? status(400, {
            message:
              'This model does not support assistant message prefill. The conversation must end with a user message.',
          })
        : turn(TURN),
    );
    assert.equal((await ask(pair)).content, WORDS);
    assert.equal((await ask(pair)).content, WORDS);
    // The refusal is remembered.
    assert.equal(pair.second.requests.length, 3);
  });

  it('restarts a tool call that was cut off', async () => {
    const call = { name: 'look_up', arguments: '{"query":"everything there is to know"}' };
    const whole = turn({ text: 'Looking.', toolCalls: [call] });
    const half = frames(
      [
        chunk({ role: 'assistant', content: 'Looking.' }),
        chunk({
          tool_calls: [
            { index: 0, id: 'call_half', type: 'function', function: { name: 'look_up', arguments: '{"que' } },
          ],
        }),
      ],
      { done: false },
    );
    await using pair = await openPair(half, () => whole);
    const { text, content } = await ask(pair);
    assert.equal(content, 'Looking.');
    assert.ok(!text.includes('call_half'), text);
    const fragments = payloadsOf(text)
      .filter(isObject)
      .flatMap((payload) => deltaOf(payload).tool_calls ?? []);
    const args = fragments.map((fragment) =>
      isObject(fragment) && isObject(fragment.function) ? fragment.function.arguments : '',
    );
    assert.equal(args.join(''), call.arguments);
  });

  it('sends numbers and other fields of the request unchanged', async () => {
    await using pair = await openPair(cutAfter(5, TURN), continuesPrefill);
    const body =
      '{"model":"going","stream":true,"seed":12345678901234567890,"messages":[{"role":"user","content":"hi"}]}';
    await (await send(pair.gateway, '/chat/completions', { body })).text();
    assert.match(
      pair.second.requests[0]?.bytes.toString() ?? '',
      /"seed":12345678901234567890,"messages":\[\{"role":"user","content":"hi"\},\{"role":"assistant","content":"one two/,
    );
  });

  it('ends with an error if no route is left or the answer cannot be continued', async () => {
    await using pair = await openPair(cutAfter(5, TURN), () => status(503));
    const failed = await ask(pair);
    assert.match(failed.text, /"finish_reason":"error".*"error":\{"message"/);
    assert.equal(new Set(failed.chunks.map(({ id }) => id).filter(Boolean)).size, 1);
    assert.notEqual(failed.payloads.at(-1), '[DONE]');
    for (const fields of [{ n: 2 }, { logprobs: true }, { modalities: ['text', 'audio'] }]) {
      await using other = await openPair(cutAfter(5, TURN), continuesPrefill);
      assert.match((await ask(other, fields)).text, /"finish_reason":"error"/);
      assert.equal(other.second.requests.length, 0);
    }
  });
});

describe('continue_streams with an answer that cannot be continued', () => {
  it('does not continue an answer with an image, which would be made again', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    for (const delta of [{ images: [image] }, { content: [image] }]) {
      const { steps } = frames([chunk({ role: 'assistant', content: 'Here.' }), chunk(delta)], { done: false });
      const cut: Script = { ...hang(), headersAfter: 0, steps: [...steps.slice(0, -1), { do: 'cut' }] };
      await using asked = await openPair(cut, continuesPrefill);
      assert.match((await ask(asked)).text, /iVBORw0KGgo=.*"finish_reason":"error"/s);
      assert.equal(asked.second.requests.length, 0);
    }
  });

  it('does not continue an answer of more than 1 MiB', async () => {
    const words = chunk({ content: 'x'.repeat(256 * 1024) });
    const { steps } = frames([chunk({ role: 'assistant' }), ...Array.from({ length: 5 }, () => words)], {
      done: false,
    });
    const long: Script = { ...hang(), headersAfter: 0, steps: [...steps.slice(0, -1), { do: 'cut' }] };
    await using asked = await openPair(long, continuesPrefill);
    const { payloads, content } = await ask(asked);
    assert.equal(content.length, 5 * 256 * 1024);
    assert.match(JSON.stringify(payloads.at(-1)), /^\{"error":\{"message":"Provider one failed/);
    assert.equal(asked.second.requests.length, 0);
  });
});

describe('hedge_after', () => {
  const silent: Record<string, Script> = {
    'says nothing': hang(),
    'sends headers only': { ...hang(), headersAfter: 0 },
  };
  for (const [name, script] of Object.entries(silent)) {
    for (const stream of [true, false]) {
      it(`takes the answer of another route while the first ${name} (${stream ? 'streamed' : 'whole'})`, async () => {
        await using first = await startScriptedProvider({ respond: () => script });
        await using second = await startScriptedProvider({
          respond: ({ body }) => goodAnswer('second', body.stream === true),
        });
        const routes = ['one', 'two'].map((provider) => ({ provider, model: 'm' }));
        await using gateway = await startProxyGateway({
          providers: { one: { url: first.url }, two: { url: second.url } },
          models: {
            hedged: { kind: 'proxy', routes, hedge_after: 0.1 },
            deep: { kind: 'research', routes, hedge_after: 0.1, research: { tools: [] } },
          },
        });
        const answer = await send(gateway, '/chat/completions', { body: chat({ model: 'hedged', stream }) });
        assert.match(await answer.text(), /second/);
        await first.waitForActive(0);
        const run = await send(gateway, '/responses', { body: { model: 'deep', input: 'What is it?', stream: false } });
        assert.match(await run.text(), /second/);
        await first.waitForActive(0);
      });
    }
  }

  for (const path of ['/chat/completions', '/responses']) {
    it(`stops calling a route that is overtaken each time (${path})`, async () => {
      await using slow = await startScriptedProvider({ respond: () => hang() });
      await using second = await startScriptedProvider({
        respond: ({ body }) => goodAnswer('second', body.stream === true),
      });
      const routes = ['one', 'two'].map((provider) => ({ provider, model: 'm' }));
      const hedged = { routes, hedge_after: 0.02 };
      await using gateway = await startProxyGateway({
        providers: { one: { url: slow.url }, two: { url: second.url } },
        models: { fast: { kind: 'proxy', ...hedged }, deep: { kind: 'research', ...hedged, research: { tools: [] } } },
      });
      const body = path === '/responses' ? { model: 'deep', input: 'What?', stream: false } : chat();
      const began = performance.now();
      for (let n = 0; n < 12; n += 1) assert.match(await (await send(gateway, path, { body })).text(), /second/);
      // Being overtaken five times in a row opens its circuit, for two seconds at least; allow one more on a slow machine.
      const most = 6 + (performance.now() - began) / PROBED_EVERY_MS;
      assert.ok(slow.requests.length <= most, `${slow.requests.length} requests`);
    });
  }

  for (const path of ['/chat/completions', '/responses']) {
    it(`does not blame a route that is overtaken while it waits for a connection of ours (${path})`, async () => {
      const free = Promise.withResolvers<void>();
      await using first = await startScriptedProvider({
        respond: async ({ body }, n) => {
          if (n === 0) await free.promise;
          return goodAnswer('first', body.stream === true);
        },
      });
      await using second = await startScriptedProvider({
        respond: ({ body }) => goodAnswer('second', body.stream === true),
      });
      const routes = ['one', 'two'].map((provider) => ({ provider, model: 'm' }));
      const hedged = { routes, hedge_after: 0.02 };
      await using gateway = await startProxyGateway({
        providers: { one: { url: first.url, maxConnections: 1 }, two: { url: second.url } },
        models: {
          lone: { kind: 'proxy', routes: routes.slice(0, 1) },
          fast: { kind: 'proxy', ...hedged },
          deep: { kind: 'research', ...hedged, research: { tools: [] } },
        },
      });
      const occupying = send(gateway, '/chat/completions', { body: chat({ model: 'lone' }) });
      await first.waitForRequest();
      const body = path === '/responses' ? { model: 'deep', input: 'What?', stream: false } : chat();
      for (let n = 0; n < 8; n += 1) assert.match(await (await send(gateway, path, { body })).text(), /second/);
      assert.equal(first.requests.length, 1);
      const metrics = await (await fetch(gateway.url.replace('/v1', '/metrics'))).text();
      assert.equal(/circuit_open\{provider="one",model="m"\} (\d)/.exec(metrics)?.[1], '0');
      free.resolve();
      assert.match(await (await occupying).text(), /first/);
    });
  }

  it('does not blame a second route that had no time to answer', async () => {
    await using second = await startScriptedProvider({ respond: () => hang() });
    await using first = await startScriptedProvider({
      respond: async ({ body }, n) => {
        await second.waitForRequest(n + 1);
        return goodAnswer('first', body.stream === true);
      },
    });
    const routes = ['one', 'two'].map((provider) => ({ provider, model: 'm' }));
    await using gateway = await startProxyGateway({
      providers: { one: { url: first.url }, two: { url: second.url } },
      models: { fast: { kind: 'proxy', routes, hedge_after: 0.02 } },
    });
    for (let n = 0; n < 8; n += 1) {
      assert.match(await (await send(gateway, '/chat/completions', { body: chat() })).text(), /first/);
    }
    assert.equal(second.requests.length, 8);
  });

  it('calls no other route if the first answers in time', async () => {
    await using first = await startScriptedProvider({
      respond: ({ body }) => goodAnswer('first', body.stream === true),
    });
    await using second = await startScriptedProvider();
    await using gateway = await startProxyGateway({
      providers: { one: { url: first.url }, two: { url: second.url } },
      models: {
        hedged: {
          kind: 'proxy',
          hedge_after: 30,
          routes: ['one', 'two'].map((provider) => ({ provider, model: 'm' })),
        },
      },
    });
    for (const stream of [true, false]) {
      const answer = await send(gateway, '/chat/completions', { body: chat({ model: 'hedged', stream }) });
      assert.match(await answer.text(), /first/);
    }
    assert.equal(second.requests.length, 0);
  });
});
