import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { completion } from '../support/chat-faults.ts';
import {
  CLIENT_KEY,
  chat,
  type ProxyGateway,
  type ProxyGatewayOptions,
  send,
  startProxyGateway,
} from '../support/proxy-gateway.ts';
import {
  cutAfter,
  hang,
  json,
  mayCallTools,
  raw,
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
  status,
  turn,
} from '../support/scripted-provider.ts';
import { servePages, startWebServer } from '../support/web-server.ts';

/** What providers counted, at the prices of their routes, is what runs, metrics and keys report. */

const PRICES = {
  one: { input: 3, cached_input: 0.3, output: 15 },
  two: { input: 0.7, output: 2.9 },
};
type Name = keyof typeof PRICES;

interface Counted {
  prompt_tokens: number;
  completion_tokens: number;
  prompt_tokens_details?: { cached_tokens: number };
}

/** The cost of everything that providers counted so far. */
class Bill {
  total = 0;

  /** Adds one answer to the bill and returns its usage. */
  add(name: Name, prompt: number, output: number, cached = 0): Counted & { total_tokens: number } {
    const { input, output: written, ...rest } = PRICES[name];
    const read = 'cached_input' in rest ? rest.cached_input : input;
    this.total += ((prompt - cached) * input + cached * read + output * written) / 1e6;
    return {
      prompt_tokens: prompt,
      completion_tokens: output,
      total_tokens: prompt + output,
      prompt_tokens_details: { cached_tokens: cached },
    };
  }
}

interface World extends AsyncDisposable {
  gateway: ProxyGateway;
  one: ScriptedProvider;
  two: ScriptedProvider;
  bill: Bill;
  /** The key's spending, as operators see it. */
  spending(): Promise<number>;
  /** The key's cost, as `GET /admin/usage` reports it. */
  usage(): Promise<number>;
  /** The sum of the metrics of this name. */
  metric(name: string): Promise<number>;
}

interface ModelFields {
  continue_streams?: boolean;
  hedge_after?: number;
  routes?: object[];
  research?: object;
}

async function openWorld(
  { continue_streams, research, ...model }: ModelFields = {},
  options: Partial<ProxyGatewayOptions> = {},
): Promise<World> {
  const stack = new AsyncDisposableStack();
  const one = stack.use(await startScriptedProvider());
  const two = stack.use(await startScriptedProvider());
  const routes = (['one', 'two'] as const).map((provider) => ({ provider, model: 'm', price: PRICES[provider] }));
  const apis = ['chat_completions', 'async', 'responses', 'embeddings', 'messages'];
  const gateway = stack.use(
    await startProxyGateway({
      providers: { one: { url: one.url, maxRetries: 1 }, two: { url: two.url } },
      key: { admin: true, limits: { cost_per_day: 100 } },
      models: {
        paid: {
          kind: 'proxy',
          responses: 'native',
          apis,
          routes,
          ...model,
          ...(continue_streams && { continue_streams }),
        },
        run: {
          kind: 'research',
          routes,
          context_length: 32_000,
          max_completion_tokens: 1000,
          research: research ?? { tools: ['web_search'] },
          ...model,
        },
      },
      tools: { web_search: { provider: 'local', folder: './docs' } },
      ...options,
    }),
  );
  const read = async (path: string) =>
    await fetch(new URL(path, gateway.url), { headers: { authorization: `Bearer ${CLIENT_KEY}` } });
  return {
    gateway,
    one,
    two,
    bill: new Bill(),
    async spending() {
      const { keys } = JSON.parse(await (await read('/admin/overview')).text());
      return keys[0].limits.find(({ name }: { name: string }) => name === 'cost_per_day').used;
    },
    async usage() {
      const { data } = JSON.parse(await (await read('/admin/usage')).text());
      return data[0]?.cost ?? 0;
    },
    async metric(name) {
      const lines = (await (await read('/metrics')).text()).split('\n').filter((line) => line.startsWith(`${name}{`));
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The estimated tokens of the message of `chat()`, "hello". */
const HELLO = 4 + 2;

const same = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 2e-6 && expected > 0, `${actual} instead of ${expected}`);

async function settled(world: World, expected: number): Promise<void> {
  for (let tries = 0; Math.abs((await world.spending()) - expected) > 2e-6 && tries < 200; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  same(await world.spending(), expected);
  // Limits, usage and metrics all report the same cost.
  same(await world.usage(), expected);
  same(await world.metric('gateway_usage_cost_total'), expected);
}

async function asked(world: World, path: string, body: object): Promise<string> {
  const answer = await send(world.gateway, path, { body: { model: 'paid', ...body } });
  const text = await answer.text();
  assert.ok(answer.status < 300, text);
  return text;
}

const events = (payloads: readonly object[]): Script =>
  raw(payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join(''));

describe('the cost of proxy calls', () => {
  it('adds up over whole and streamed chat, embeddings, responses and messages', async () => {
    await using world = await openWorld();
    const { one, bill } = world;
    const streamed = { stream: true, stream_options: { include_usage: true } };

    one.respond = () => json(completion('Yes.', { usage: bill.add('one', 1000, 50, 600) }));
    await asked(world, '/chat/completions', chat({ model: 'paid' }));
    one.respond = () => turn({ text: 'Yes it is.', usage: { ...bill.add('one', 2000, 70) } });
    await asked(world, '/chat/completions', chat({ model: 'paid', ...streamed }));
    // Hidden reasoning tokens.
    one.respond = () => json(completion('Yes.', { usage: bill.add('one', 1000, 90_000) }));
    await asked(world, '/chat/completions', chat({ model: 'paid' }));
    one.respond = () =>
      json({ object: 'list', data: [{ embedding: [1] }], usage: { ...bill.add('one', 77, 0), total_tokens: 77 } });
    await asked(world, '/embeddings', { input: 'word' });

    const counted = ({ prompt_tokens, completion_tokens }: Counted) => ({
      input_tokens: prompt_tokens,
      output_tokens: completion_tokens,
    });
    one.respond = () =>
      json({ object: 'response', output: [{ type: 'function_call' }], usage: counted(bill.add('one', 300, 20)) });
    await asked(world, '/responses', { input: 'hello', stream: false });
    one.respond = () =>
      events([
        { type: 'response.created', response: { object: 'response', usage: null } },
        { type: 'response.output_text.delta', delta: 'Yes.' },
        {
          type: 'response.completed',
          response: { object: 'response', status: 'completed', usage: counted(bill.add('one', 400, 30)) },
        },
      ]);
    await asked(world, '/responses', { input: 'hello', stream: true });
    one.respond = () => {
      bill.add('one', 9 + 4, 7, 4);
      return events([
        {
          type: 'message_start',
          message: { usage: { input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 1 } },
        },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Yes.' } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
        { type: 'message_stop' },
      ]);
    };
    await asked(world, '/messages', { messages: [], max_tokens: 9, stream: true });

    await settled(world, bill.total);
    same(await world.metric('gateway_proxy_cost_total'), bill.total);
  });

  it('is at the price of the route that answered, or of each that wrote a part', async () => {
    await using world = await openWorld({ continue_streams: true });
    const { one, two, bill } = world;
    one.respond = () => status(500);
    two.respond = () => json(completion('Yes.', { usage: bill.add('two', 1000, 50) }));
    await asked(world, '/chat/completions', chat({ model: 'paid' }));
    await settled(world, bill.total);

    const request = chat({ model: 'paid', stream: true, stream_options: { include_usage: true } });
    one.respond = () => {
      // The broken part has no reported usage: it is estimated at four characters a token.
      bill.add('one', HELLO, Math.ceil('four five '.length / 4));
      return cutAfter(3, { text: 'four five six seven', usage: null });
    };
    two.respond = () => turn({ text: 'six seven', usage: { ...bill.add('two', 30, 4) } });
    const text = await asked(world, '/chat/completions', request);
    assert.ok(text.includes('[DONE]'), text);
    await settled(world, bill.total);
    same(await world.metric('gateway_proxy_cost_total'), bill.total);
  });

  it('includes the prompt that a hedged call sent to the slower route', async () => {
    await using world = await openWorld({ hedge_after: 0.02 });
    const { one, two, bill } = world;
    one.respond = () => {
      bill.add('one', HELLO, 0);
      return hang();
    };
    two.respond = () => json(completion('Yes.', { usage: bill.add('two', 1000, 50) }));
    await asked(world, '/chat/completions', chat({ model: 'paid' }));
    await settled(world, bill.total);
  });

  it('is settled for background tasks', async () => {
    await using world = await openWorld();
    const { one, bill } = world;
    const usage = bill.add('one', 1000, 50, 600);
    one.respond = () => json(completion('Yes.', { usage }));
    await asked(world, '/async', chat({ model: 'paid' }));
    await settled(world, bill.total);
    same(await world.metric('gateway_run_cost_total'), bill.total);
  });

  it('is reserved in advance, and calls beyond the limit are refused', async () => {
    const models = {
      models: {
        paid: {
          kind: 'proxy',
          routes: [{ provider: 'one', model: 'm', price: PRICES.one }],
          max_completion_tokens: 1000,
        },
      },
      key: { admin: true, limits: { cost_per_day: 0.02 } },
    };
    await using world = await openWorld({}, models);
    const { one, bill } = world;
    const { promise, resolve } = Promise.withResolvers<void>();
    one.respond = () => ({
      ...json(completion('Yes.', { usage: bill.add('one', 1000, 300) })),
      steps: [
        { do: 'until', promise },
        { do: 'send', bytes: JSON.stringify(completion('Yes.', { usage: bill.add('one', 1000, 300) })) },
        { do: 'end' },
      ],
    });
    bill.total = 0;
    const first = asked(world, '/chat/completions', chat({ model: 'paid' }));
    await one.waitForRequest();
    assert.ok((await world.spending()) > 0.015, 'the longest answer is reserved');
    const second = await send(world.gateway, '/chat/completions', { body: chat({ model: 'paid' }) });
    assert.equal(second.status, 429);
    assert.match(await second.text(), /quota_exceeded/);
    resolve();
    await first;
    await settled(world, bill.total / 2);
  });
});

describe('the cost of runs', () => {
  /** Runs research that searches twice, then answers; `faults` are those of the first route's calls. */
  async function researchCost(world: World, faults: readonly ('500' | 'cut' | 'none')[]) {
    const { one, two, bill } = world;
    let turns = 0;
    let n = 0;
    const answer = (name: Name) => (request: Parameters<ScriptedProvider['respond']>[0]) => {
      const fault = name === 'one' ? (faults[n++] ?? 'none') : 'none';
      if (fault === '500') return status(400, { body: { error: { message: 'gone', code: 'x' } } });
      if (fault === 'cut') {
        return {
          ...turn({ text: 'I think of it', finish: null, done: false, usage: { ...bill.add(name, 500, 10) } }),
        };
      }
      const usage = { ...bill.add(name, 900, 40, 300) };
      if (!mayCallTools(request)) return turn({ text: 'It is so [1].', usage });
      turns += 1;
      if (turns > 2) return turn({ text: 'I am ready.', usage });
      return turn({ toolCalls: [{ name: 'web_search', arguments: { queries: [`gateway ${turns}`] } }], usage });
    };
    one.respond = answer('one');
    two.respond = answer('two');
    const sent = await send(world.gateway, '/responses', { body: { model: 'run', input: 'Why?', stream: false } });
    const run: unknown = await sent.json();
    assert.ok(isObject(run) && isObject(run.usage), JSON.stringify(run));
    assert.equal(run.status, 'completed', JSON.stringify(run.error));
    return run.usage;
  }

  it('adds up over turns that broke off and failed over', async () => {
    await using world = await openWorld();
    const usage = await researchCost(world, ['none', 'cut', 'none', 'none']);
    assert.ok(isObject(usage.cost));
    same(Number(usage.cost.total), world.bill.total);
    await settled(world, world.bill.total);
    same(await world.metric('gateway_run_cost_total'), world.bill.total);
    assert.ok(world.two.requests.length > 0, 'another route took over');
    const list = await fetch(new URL('/v1/responses', world.gateway.url), {
      headers: { authorization: `Bearer ${CLIENT_KEY}` },
    });
    const { data } = JSON.parse(await list.text());
    assert.deepEqual(data[0].usage, usage, 'lists show the same usage');
  });

  it('includes what readers of a long page used, at the price of their route', async () => {
    const page = Array.from({ length: 6000 }, (_, n) => `Gate ${n} of the garden is ${n + 3} feet wide. `).join('');
    await using pages = await startWebServer(servePages({ '/gates': { type: 'text/plain', body: page } }));
    const routes = [{ provider: 'one', model: 'm', price: PRICES.one }];
    const reader = [{ provider: 'two', model: 'm', price: PRICES.two }];
    await using world = await openWorld(
      { routes, research: { tools: ['fetch_url_content'], reader } },
      { tools: { fetch_url_content: { allow_private_addresses: true } } },
    );
    const { one, two, bill } = world;
    let read = 0;
    two.respond = () => {
      read += 1;
      return turn({ text: `Gates are wide, piece ${read}.`, usage: { ...bill.add('two', 7000 + read, 80, read) } });
    };
    one.respond = ({ body }) => {
      const usage = { ...bill.add('one', 900, 40, 300) };
      if (JSON.stringify(body.messages).includes('Gates are wide')) return turn({ text: 'They are wide [1].', usage });
      return turn({ toolCalls: [{ name: 'fetch_url_content', arguments: { url: `${pages.origin}/gates` } }], usage });
    };
    const body = { model: 'run', input: 'How wide are the gates?', stream: false };
    const run: unknown = await (await send(world.gateway, '/responses', { body })).json();
    assert.ok(isObject(run) && isObject(run.usage) && isObject(run.usage.cost), JSON.stringify(run));
    assert.ok(read > 3, `${read} pieces`);
    same(Number(run.usage.cost.total), bill.total);
    await settled(world, bill.total);
    same(await world.metric('gateway_run_cost_total'), bill.total);
  });

  it('includes an estimate of what a hedged turn sent to the slower route', async () => {
    await using world = await openWorld({ hedge_after: 0.02 });
    const { one, two, bill } = world;
    one.respond = () => hang();
    two.respond = () => turn({ text: 'I know.', usage: { ...bill.add('two', 900, 40) } });
    const body = { model: 'run', input: 'Why?', stream: false };
    const run: unknown = await (await send(world.gateway, '/responses', { body })).json();
    assert.ok(isObject(run) && isObject(run.usage) && isObject(run.usage.cost), JSON.stringify(run));
    const slower = one.requests.reduce((sum, { body: { messages } }) => sum + JSON.stringify(messages).length / 4, 0);
    const least = bill.total + (slower * PRICES.one.input * 0.7) / 1e6;
    assert.ok(one.requests.length > 0 && Number(run.usage.cost.total) > least, JSON.stringify(run.usage));
    assert.equal(run.usage.estimated, true);
    await settled(world, Number(run.usage.cost.total));
  });

  it('is not reported if a route has no price, but the known part counts against the key', async () => {
    const routes = [
      { provider: 'one', model: 'm', price: PRICES.one },
      { provider: 'two', model: 'm' },
    ];
    await using world = await openWorld({ routes });
    const { bill } = world;
    const add = bill.add.bind(bill);
    bill.add = (name, prompt, output, cached) =>
      name === 'one'
        ? add(name, prompt, output, cached)
        : { prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output };
    const usage = await researchCost(world, ['none', 'cut', 'none', 'none']);
    assert.equal(usage.cost, undefined);
    await settled(world, bill.total);
    same(await world.metric('gateway_run_cost_total'), bill.total);
  });

  it('stays under max_cost by cutting the report short, with incomplete_details', async () => {
    await using world = await openWorld();
    const { one, bill } = world;
    let turns = 0;
    one.respond = (request) => {
      const usage = { ...bill.add('one', 2000, 300) };
      if (!mayCallTools(request)) return turn({ text: 'It is so [1].', usage });
      turns += 1;
      return turn({ toolCalls: [{ name: 'web_search', arguments: { queries: [`gateway ${turns} words`] } }], usage });
    };
    const body = { model: 'run', input: 'Why?', stream: false, max_cost: 0.09 };
    const run: unknown = await (await send(world.gateway, '/responses', { body })).json();
    assert.ok(isObject(run) && isObject(run.usage) && isObject(run.usage.cost), JSON.stringify(run));
    assert.equal(run.status, 'completed');
    assert.deepEqual(run.incomplete_details, { reason: 'budget' });
    same(Number(run.usage.cost.total), bill.total);
    assert.ok(bill.total <= 0.09 && turns > 2, `${bill.total} in ${turns} turns`);
  });

  for (const [names, calls] of [
    [['two'], 1],
    [['one'], 6],
    [['one', 'two'], 6],
  ] as const) {
    it(`covers at most ${calls} broken turns, as max_retries of ${names.join(' and ')} allow`, async () => {
      const routes = names.map((provider) => ({ provider, model: 'm', price: PRICES[provider] }));
      const models = {
        run: { kind: 'research', routes, context_length: 32_000, research: { tools: [] } },
        plain: { kind: 'proxy', apis: ['responses'], routes },
      };
      await using world = await openWorld({}, { models });
      const { one, two } = world;
      for (const provider of [one, two]) provider.respond = () => cutAfter(3, { text: 'one two three four five' });
      for (const model of ['run', 'plain']) {
        const before = one.requests.length + two.requests.length;
        await (await send(world.gateway, '/responses', { body: { model, input: 'Why?', stream: false } })).text();
        assert.equal(one.requests.length + two.requests.length - before, calls, model);
      }
    });
  }
});
