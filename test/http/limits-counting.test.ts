import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { completion } from '../support/chat-faults.ts';
import { until } from '../support/http-gateway.ts';
import { CLIENT_KEY, chat, type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import {
  cutAfter,
  hang,
  json,
  mayCallTools,
  raw,
  type Script,
  type ScriptedProvider,
  stallAfter,
  startScriptedProvider,
  status,
  turn,
} from '../support/scripted-provider.ts';

/** How calls count that are cancelled, abandoned or failed, and usage that providers do not report or invent. */

const PRICE = { input: 1, output: 10 };
const PROMPT = 'Why does the lamp of a lighthouse turn so slowly? '.repeat(200);

const PICTURE = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(300_000)}` } };

interface World extends AsyncDisposable {
  gateway: ProxyGateway;
  one: ScriptedProvider;
  two: ScriptedProvider;
  /** How much of the key's tokens or cost is used and reserved. */
  used(name?: 'tokens_per_day' | 'cost_per_day'): Promise<number>;
}

async function openWorld(options: { limits?: object; hedge_after?: number; silence?: number } = {}): Promise<World> {
  const stack = new AsyncDisposableStack();
  const one = stack.use(await startScriptedProvider());
  const two = stack.use(await startScriptedProvider());
  const routes = ['one', 'two'].map((provider) => ({ provider, model: 'm', price: PRICE }));
  const { hedge_after, silence, limits = { tokens_per_day: 100_000_000, cost_per_day: 1000 } } = options;
  const model = { routes, max_completion_tokens: 1000, ...(hedge_after && { hedge_after }) };
  const timeouts = silence === undefined ? {} : { first_byte: silence };
  const gateway = stack.use(
    await startProxyGateway({
      providers: { one: { url: one.url, timeouts }, two: { url: two.url } },
      key: { admin: true, limits },
      models: {
        paid: {
          kind: 'proxy',
          responses: 'native',
          apis: [
            ...['chat_completions', 'async', 'responses', 'completions', 'messages', 'embeddings'],
            'images/generations',
          ],
          ...model,
        },
        plain: { kind: 'proxy', responses: 'gateway', apis: ['responses'], ...model },
        run: { kind: 'research', context_length: 32_000, research: { tools: ['web_search'] }, ...model },
      },
      tools: { web_search: { provider: 'local', folder: './docs' } },
    }),
  );
  return {
    gateway,
    one,
    two,
    async used(name = 'tokens_per_day') {
      const headers = { authorization: `Bearer ${CLIENT_KEY}` };
      const overview: unknown = await (await fetch(new URL('/admin/overview', gateway.url), { headers })).json();
      assert.ok(isObject(overview) && Array.isArray(overview.keys));
      return overview.keys[0].limits.find((limit: { name: string }) => limit.name === name).used;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** An estimate of the tokens that were sent to the providers. */
function sentTo(...providers: readonly ScriptedProvider[]): number {
  let tokens = 0;
  for (const { body } of providers.flatMap(({ requests }) => requests)) {
    for (const { content } of body.messages ?? []) tokens += 4 + (typeof content === 'string' ? content.length : 0) / 4;
    if (body.tools) tokens += JSON.stringify(body.tools).length / 4;
  }
  return tokens;
}

async function comesTo(world: World, expected: () => number): Promise<void> {
  const near = until(async () => (Math.abs((await world.used()) - expected()) <= 0.1 * expected() ? true : undefined));
  await near.catch(async () => assert.fail(`${await world.used()} tokens counted, ${expected()} sent`));
}

async function answerOf(world: World, path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await send(world.gateway, path, { body });
  const parsed: unknown = await answer.json();
  assert.ok(isObject(parsed) && answer.status < 300, JSON.stringify(parsed));
  return parsed;
}

async function ending(world: World, path: string, method: 'POST' | 'DELETE'): Promise<void> {
  const headers = { authorization: `Bearer ${CLIENT_KEY}` };
  assert.equal((await fetch(`${world.gateway.url}${path}`, { method, headers })).status, 200);
}

const BACKGROUND = { model: 'run', input: PROMPT, background: true };
const messages = [{ role: 'user', content: PROMPT }];

const WAYS: readonly { name: string; leave(world: World): Promise<void> }[] = [
  {
    name: 'a run that is cancelled',
    async leave(world) {
      const { id } = await answerOf(world, '/responses', BACKGROUND);
      await world.one.waitForRequest();
      await ending(world, `/responses/${id}/cancel`, 'POST');
    },
  },
  {
    name: 'a run that is deleted',
    async leave(world) {
      const { id } = await answerOf(world, '/responses', BACKGROUND);
      await world.one.waitForRequest();
      await ending(world, `/responses/${id}`, 'DELETE');
    },
  },
  {
    name: 'a research task that is cancelled',
    async leave(world) {
      const { id } = await answerOf(world, '/async', { model: 'run', messages });
      await world.one.waitForRequest();
      await ending(world, `/async/${id}/cancel`, 'POST');
    },
  },
  {
    name: 'a task of a proxy model that is cancelled',
    async leave(world) {
      const { id } = await answerOf(world, '/async', { model: 'paid', messages });
      await world.one.waitForRequest();
      await ending(world, `/async/${id}/cancel`, 'POST');
    },
  },
  ...[
    { name: 'a research chat whose client disconnects', model: 'run', stream: false },
    { name: 'a research chat stream whose client disconnects', model: 'run', stream: true },
    { name: 'a proxied chat whose client disconnects', model: 'paid', stream: false },
    { name: 'a proxied chat stream whose client disconnects', model: 'paid', stream: true },
  ].map(({ name, model, stream }) => ({
    name,
    async leave(world: World) {
      const left = new AbortController();
      const body = { model, stream, messages };
      const asked = send(world.gateway, '/chat/completions', { body, signal: left.signal }).then(
        (answer) => answer.text(),
        () => '',
      );
      await world.one.waitForRequest();
      left.abort();
      await asked.catch(() => {});
    },
  })),
];

describe('prompts that were sent but not answered', () => {
  for (const { name, leave } of WAYS) {
    it(`count for ${name}`, async () => {
      await using world = await openWorld();
      world.one.respond = () => hang();
      await leave(world);
      await comesTo(world, () => sentTo(world.one));
    });
  }

  it('count for both routes of a hedged turn whose run is cancelled', async () => {
    await using world = await openWorld({ hedge_after: 0.02 });
    const { one, two } = world;
    one.respond = () => hang();
    two.respond = () => hang();
    const { id } = await answerOf(world, '/responses', BACKGROUND);
    await two.waitForRequest();
    await ending(world, `/responses/${id}/cancel`, 'POST');
    await comesTo(world, () => sentTo(one, two));
  });

  it('count for routes that timed out before the run is cancelled', async () => {
    await using world = await openWorld({ silence: 0.1 });
    const { one, two } = world;
    one.respond = () => hang();
    two.respond = () => hang();
    const { id } = await answerOf(world, '/responses', BACKGROUND);
    await two.waitForRequest();
    await ending(world, `/responses/${id}/cancel`, 'POST');
    await comesTo(world, () => sentTo(one, two));
  });

  it("count for a run cancelled in its second turn, in addition to the first turn's reported usage", async () => {
    await using world = await openWorld();
    const { one } = world;
    const usage = { prompt_tokens: 50_000, completion_tokens: 10, total_tokens: 50_010 };
    one.respond = (request) =>
      mayCallTools(request) && one.requests.length === 1
        ? turn({ toolCalls: [{ name: 'web_search', arguments: { queries: ['gateway'] } }], usage })
        : hang();
    const { id } = await answerOf(world, '/responses', BACKGROUND);
    await until(() => (one.requests.length >= 2 ? true : undefined));
    await ending(world, `/responses/${id}/cancel`, 'POST');
    const second = () => sentTo({ ...one, requests: one.requests.slice(1) });
    await comesTo(world, () => 50_010 + second());
    assert.ok((await world.used()) > 50_010 + second() / 2);
  });

  it('count for both routes of a turn that broke off in tool arguments', async () => {
    await using world = await openWorld();
    const { one, two } = world;
    const long = { queries: Array.from({ length: 400 }, (_, n) => `lighthouse ${n}`) };
    one.respond = () => cutAfter(3, { toolCalls: [{ name: 'web_search', arguments: long }], usage: null });
    two.respond = () => hang();
    const { id } = await answerOf(world, '/responses', BACKGROUND);
    await two.waitForRequest();
    await ending(world, `/responses/${id}/cancel`, 'POST');
    await until(async () => ((await world.used()) < sentTo(one, two) * 1.5 ? true : undefined));
    assert.ok((await world.used()) >= sentTo(one, two) * 0.9);
  });
});

describe('failed calls', () => {
  const failing = async (script: () => Script, silence?: number) => {
    const world = await openWorld(silence === undefined ? {} : { silence });
    world.one.respond = script;
    world.two.respond = () => status(400, { body: { error: { message: 'no' } } });
    await (await send(world.gateway, '/chat/completions', { body: { model: 'paid', messages } })).text();
    return world;
  };

  it('cost nothing if the provider refused with an error status', async () => {
    for (const code of [400, 401, 429, 500, 503]) {
      await using world = await failing(() => status(code));
      await until(async () => ((await world.used()) === 0 ? true : undefined));
    }
  });

  it('cost nothing if no provider could be reached', async () => {
    await using world = await openWorld();
    await world.one[Symbol.asyncDispose]();
    await world.two[Symbol.asyncDispose]();
    const answer = await send(world.gateway, '/chat/completions', { body: { model: 'paid', messages } });
    assert.equal(answer.status, 502);
    await until(async () => ((await world.used()) === 0 ? true : undefined));
  });

  it('cost the prompt if the provider timed out', async () => {
    await using world = await failing(() => hang(), 0.1);
    await comesTo(world, () => sentTo(world.one));
  });
});

describe('missing or implausible usage', () => {
  const text = 'The lamp turns slowly, by clockwork. '.repeat(100);
  const [SENT, ANSWERED] = [PROMPT.length / 4, text.length / 4];
  const usages: readonly [string, unknown][] = [
    ['is absent', undefined],
    ['is negative', { prompt_tokens: -5, completion_tokens: -5 }],
    ['is not a number', { prompt_tokens: 'NaN', completion_tokens: null }],
    ['overflows', { prompt_tokens: 1e308, completion_tokens: 1e308, total_tokens: 1e308 }],
    ['is zero for a long answer', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
    ['has a total but no prompt tokens', { prompt_tokens: null, completion_tokens: ANSWERED, total_tokens: 9000 }],
    ['has only a total', { total_tokens: 9000 }],
    ['has an implausible total', { prompt_tokens: SENT, completion_tokens: ANSWERED, total_tokens: 90_000_000 }],
    ['exceeds what models read or write', { prompt_tokens: 99_000_000, completion_tokens: 99_000_000 }],
    [
      'has implausible reasoning tokens',
      { prompt_tokens: SENT, completion_tokens: ANSWERED, reasoning_tokens: 90_000_000 },
    ],
    ['omits the answer', { prompt_tokens: PROMPT.length / 4, completion_tokens: 0 }],
  ];
  for (const [name, usage] of usages) {
    for (const stream of [false, true]) {
      it(`${name}: counts what was sent and delivered (${stream ? 'streamed' : 'whole'})`, async () => {
        await using world = await openWorld();
        const reported = isObject(usage) ? { usage: { ...usage } } : {};
        const whole = completion(text, { usage: undefined });
        world.one.respond = () => (stream ? turn({ text, usage: null, ...reported }) : json({ ...whole, ...reported }));
        const answer = await send(world.gateway, '/chat/completions', { body: { model: 'paid', stream, messages } });
        await answer.text();
        await comesTo(world, () => sentTo(world.one) + text.length / 4);
      });
    }
  }

  const chunk = (fields: object) => `data: ${JSON.stringify({ id: 'x', choices: [], ...fields })}\n\n`;
  const words = (content: string) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const half = { prompt_tokens: SENT, completion_tokens: ANSWERED / 2 };
  const lie = { prompt_tokens: 90_000, completion_tokens: 90_000 };
  const middle = text.length / 2;
  const streams: readonly [string, string][] = [
    [
      'only in the middle',
      chunk({ ...words(text.slice(0, middle)), usage: half }) + chunk(words(text.slice(middle))) + chunk(end),
    ],
    ['only inside another object', chunk(words(text)) + chunk({ ...end, x_meta: { card: { usage: lie } } })],
  ];
  for (const [name, stream] of streams) {
    it(`comes ${name}: counts what was sent and delivered`, async () => {
      await using world = await openWorld();
      world.one.respond = () => raw(`${stream}data: [DONE]\n\n`);
      await (
        await send(world.gateway, '/chat/completions', { body: { model: 'paid', stream: true, messages } })
      ).text();
      await comesTo(world, () => sentTo(world.one) + ANSWERED);
    });
  }

  it('is absent if all output comes in response.completed: counts that output', async () => {
    await using world = await openWorld();
    const response = { id: 'r', object: 'response', status: 'completed', output: [] as object[] };
    const created = { type: 'response.created', response };
    for (const item of [
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] },
      { type: 'function_call', name: 'f', call_id: 'c', arguments: text },
    ]) {
      const before = await world.used();
      const ended = { type: 'response.completed', response: { ...response, output: [item] } };
      world.one.respond = () => raw([created, ended].map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
      await (await send(world.gateway, '/responses', { body: { model: 'paid', input: PROMPT, stream: true } })).text();
      await comesTo(world, () => before + SENT + ANSWERED);
    }
  });

  it('is absent for audio: counts the transcript', async () => {
    await using world = await openWorld();
    const audio = { id: 'a', data: 'A'.repeat(200_000), transcript: text };
    world.one.respond = () => json({ choices: [{ index: 0, message: { audio }, finish_reason: 'stop' }] });
    await answerOf(world, '/chat/completions', { model: 'paid', messages });
    await comesTo(world, () => sentTo(world.one) + ANSWERED);
  });

  for (const [name, body] of [
    ['an unrequested stream', chunk(words(text)) + chunk(end)],
    ['truncated JSON', JSON.stringify(completion(text, { usage: undefined })).slice(0, -20)],
  ] as const) {
    it(`is absent for ${name}: counts what the model wrote`, async () => {
      await using world = await openWorld();
      world.one.respond = () => raw(body, { headers: { 'content-type': 'application/json' } });
      world.two.respond = () => status(400, { body: { error: { message: 'no' } } });
      await (await send(world.gateway, '/chat/completions', { body: { model: 'paid', messages } })).text();
      await comesTo(world, () => sentTo(world.one) + ANSWERED);
    });
  }

  it('comes with the finish reason error: counts for every attempt', async () => {
    await using world = await openWorld();
    const usage = { prompt_tokens: 2500, completion_tokens: 900 };
    const choices = [{ index: 0, message: { content: text }, finish_reason: 'error' }];
    world.one.respond = () => json({ choices, usage });
    world.two.respond = () => status(400, { body: { error: { message: 'no' } } });
    await (await send(world.gateway, '/chat/completions', { body: { model: 'paid', messages } })).text();
    await comesTo(world, () => 3400 * world.one.requests.length);
  });

  it('is absent beside tool arguments: counts the arguments', async () => {
    await using world = await openWorld();
    const content = [{ type: 'tool_use', id: 't', name: 'f', input: { query: text } }];
    world.one.respond = () => json({ type: 'message', role: 'assistant', content, stop_reason: 'tool_use' });
    await answerOf(world, '/messages', { model: 'paid', max_tokens: 1000, messages });
    await comesTo(world, () => sentTo(world.one) + ANSWERED);
  });

  it('is absent for a background response: counts max_output_tokens once it is accepted', async () => {
    await using world = await openWorld();
    const queued = { id: 'resp_1', object: 'response', status: 'queued', background: true, output: [], usage: null };
    const body = { model: 'paid', input: PROMPT, background: true, stream: false, max_output_tokens: 700 };
    const comes = async (tokens: number) => {
      const near = until(async () => (Math.abs((await world.used()) - tokens) < 300 ? true : undefined));
      await near.catch(async () => assert.fail(`${await world.used()} instead of ${tokens}`));
    };
    world.one.respond = () => json(queued);
    await answerOf(world, '/responses', body);
    await comes(SENT + 700);
    // The provider finishes a background response even if its stream breaks off.
    const first = { type: 'response.output_text.delta', delta: 'The lamp' };
    world.one.respond = () => raw(`data: ${JSON.stringify(first)}\n\n`);
    await (await send(world.gateway, '/responses', { body: { ...body, stream: true } })).text();
    await comes(2 * (SENT + 700));
    const usage = { input_tokens: SENT, output_tokens: 5 };
    const output = [{ type: 'message', content: [{ type: 'output_text', text: 'Slowly.' }] }];
    world.one.respond = () => json({ ...queued, status: 'completed', output, usage });
    await answerOf(world, '/responses', body);
    await comes(2 * (SENT + 700) + SENT + 5);
    world.one.respond = () => status(400, { body: { error: { message: 'no' } } });
    await (await send(world.gateway, '/responses', { body })).text();
    await comes(2 * (SENT + 700) + SENT + 5);
  });

  it('is lower than the input for embeddings: counts as reported', async () => {
    await using world = await openWorld();
    world.one.respond = () => json({ object: 'list', data: [{ embedding: [0.1] }], usage: { prompt_tokens: 120 } });
    await answerOf(world, '/embeddings', { model: 'paid', input: PROMPT });
    await until(async () => ((await world.used()) === 120 ? true : undefined));
  });

  it('has only a total for embeddings: counts it as input', async () => {
    await using world = await openWorld();
    world.one.respond = () => json({ object: 'list', data: [{ embedding: [0.1] }], usage: { total_tokens: 1200 } });
    await answerOf(world, '/embeddings', { model: 'paid', input: PROMPT });
    await until(async () => ((await world.used()) === 1200 ? true : undefined));
    assert.equal(await world.used('cost_per_day'), 0.0012);
  });
});

describe('reservations', () => {
  const parallel = async (world: World, path: string, body: object): Promise<number> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    world.one.respond = () => ({ ...json({}), steps: [{ do: 'until', promise }, { do: 'cut' }] });
    const asked = Array.from({ length: 8 }, () => send(world.gateway, path, { body: { model: 'paid', ...body } }));
    const statuses: number[] = [];
    const seen = asked.map(async (answer) => void statuses.push((await answer).status));
    // Admitted calls wait at the provider; the others are refused at once.
    await until(() => (statuses.length + world.one.requests.length === 8 ? true : undefined));
    const passed = world.one.requests.length;
    assert.ok(statuses.every((status) => status === 429));
    world.two.respond = () => json(completion('Yes.'));
    resolve();
    await Promise.all(seen);
    return passed;
  };
  const cases: readonly [string, string, object, number][] = [
    ['n answers', '/chat/completions', { ...chat(), n: 10, max_tokens: 200 }, 2],
    ['n answers, for n as a string', '/chat/completions', { ...chat(), n: '10', max_tokens: 200 }, 2],
    ["the model's longest answer", '/chat/completions', chat(), 4],
    ['max_completion_tokens', '/chat/completions', { ...chat(), max_completion_tokens: 2000 }, 2],
    [
      "the model's longest answer if the bound belongs to another API",
      '/responses',
      { input: 'hello', max_tokens: 1, stream: true },
      4,
    ],
    ['max_output_tokens of a response', '/responses', { input: 'hello', max_output_tokens: 2000 }, 2],
    ['best_of answers', '/completions', { prompt: 'hello', best_of: 20, max_tokens: 100 }, 2],
    ['n answers for each prompt', '/completions', { prompt: ['a', 'b', 'c', 'd'], n: 5, max_tokens: 100 }, 2],
    ['a generated image', '/images/generations', { prompt: 'hello' }, 1],
    // An image counts 1 000 tokens, whatever its size.
    [
      'an image in the prompt',
      '/chat/completions',
      { messages: [{ role: 'user', content: [PICTURE] }], max_tokens: 200 },
      3,
    ],
  ];
  for (const [name, path, body, most] of cases) {
    it(`cover ${name}`, async () => {
      await using world = await openWorld({ limits: { tokens_per_day: 4900 } });
      assert.equal(await parallel(world, path, { ...body, model: 'paid' }), most);
    });
  }

  for (const [path, model, more, most] of [
    ['/responses', 'plain', { input: 'Go on.', max_output_tokens: 10 }, 3],
    ['/responses', 'run', { input: 'Go on.', max_output_tokens: 10, stream: false }, 3],
    ['/responses/compact', 'plain', {}, 2],
  ] as const) {
    it(`cover the thread that a request to ${path} refers to (${model})`, async () => {
      await using world = await openWorld({ limits: { tokens_per_day: 10_000 } });
      const { id } = await answerOf(world, '/responses', { model, input: PROMPT, stream: false });
      world.one.requests.splice(0);
      assert.equal(await parallel(world, path, { model, previous_response_id: id, ...more }), most);
    });
  }

  it('cover the research that continues with outputs of functions', async () => {
    await using world = await openWorld({ limits: { tokens_per_day: 20_000 } });
    const usage = { prompt_tokens: 4000, completion_tokens: 100, total_tokens: 4100 };
    world.one.respond = () => turn({ toolCalls: [{ id: 'call_1', name: 'look', arguments: '{}' }], usage });
    const tools = [{ type: 'function', name: 'look', parameters: {} }];
    const ask = { model: 'run', tools, max_output_tokens: 10, stream: false };
    const { id, output } = await answerOf(world, '/responses', { ...ask, input: 'How high is it?' });
    assert.ok(Array.isArray(output));
    const input = [{ type: 'function_call_output', call_id: output.at(-1).call_id, output: 'high' }];
    world.one.requests.splice(0);
    assert.equal(await parallel(world, '/responses', { ...ask, previous_response_id: id, input }), 3);
  });

  it('also cover cost, and release what was not delivered', async () => {
    // 20 answers of 100 tokens at a price of 10 per million tokens cost 0.02.
    await using world = await openWorld({ limits: { cost_per_day: 0.05, tokens_per_day: 100_000_000 } });
    assert.equal(await parallel(world, '/chat/completions', { ...chat(), model: 'paid', n: 20, max_tokens: 100 }), 2);
    await until(async () => ((await world.used('cost_per_day')) < 0.001 ? true : undefined));
  });

  it('cover the cost of one turn for a plain response, and of more only with tools that the gateway calls', async () => {
    // A prompt of 4 000 tokens and an answer of 10 cost 0.0041 in one turn, and ten times as much if each is read and written.
    const body = { input: 'hello '.repeat(2700), max_output_tokens: 10, stream: false };
    const tools = [{ type: 'function', name: 'look', parameters: {} }];
    for (const [more, most] of [
      [{}, 4],
      [{ tools }, 4],
      [{ tools: [{ type: 'web_search' }] }, 1],
    ] as const) {
      await using world = await openWorld({ limits: { cost_per_day: 0.02, tokens_per_day: 100_000_000 } });
      assert.equal(await parallel(world, '/responses', { ...body, model: 'plain', ...more }), most);
    }
  });
});

describe('a stream whose client disconnects', () => {
  it('counts the prompt and what was delivered', async () => {
    await using world = await openWorld();
    world.one.respond = () => stallAfter(60, { text: 'The lamp turns slowly by clockwork. '.repeat(80), usage: null });
    const left = new AbortController();
    const body = { model: 'paid', stream: true, messages };
    const answer = await send(world.gateway, '/chat/completions', { body, signal: left.signal });
    let text = '';
    try {
      for await (const chunk of answer.body ?? []) {
        text += Buffer.from(chunk).toString('utf8');
        if (text.split('data: ').length > 60) left.abort();
      }
    } catch {}
    const delivered = [...text.matchAll(/"content":"([^"]*)"/g)].reduce((sum, [, part = '']) => sum + part.length, 0);
    assert.ok(delivered > 100, text);
    await comesTo(world, () => sentTo(world.one) + delivered / 4);
  });
});
