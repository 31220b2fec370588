import assert from 'node:assert/strict';
import { completion } from '../support/chat-faults.ts';
import { until } from '../support/http-gateway.ts';
import { CLIENT_KEY, chat, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { cutAfter, json, stallAfter, startScriptedProvider, status } from '../support/scripted-provider.ts';

const HEADERS = { authorization: `Bearer ${CLIENT_KEY}` };

async function openWorld() {
  const stack = new AsyncDisposableStack();
  const provider = stack.use(await startScriptedProvider());
  const gateway = stack.use(
    await startProxyGateway({
      providers: { one: { url: provider.url } },
      key: { admin: true, team: 'sales' },
      teams: { sales: {} },
      models: {
        fast: {
          kind: 'proxy',
          apis: ['chat_completions', 'async'],
          routes: [{ provider: 'one', model: 'm', price: { input: 1, output: 2 } }],
        },
      },
    }),
  );
  const read = async (query = '') => {
    const answer = await fetch(new URL(`/admin/usage${query}`, gateway.url), { headers: HEADERS });
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
  };
  const rows = async (query = '') => {
    const { status: got, text } = await read(query);
    assert.equal(got, 200, text);
    return (JSON.parse(text) as { data: Record<string, unknown>[] }).data;
  };
  return { gateway, provider, read, rows, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe('GET /admin/usage', () => {
  it('adds up calls, including failed ones, by the requested groups, as JSON or CSV', async () => {
    await using world = await openWorld();
    const { gateway, provider, rows, read } = world;
    const usage = {
      prompt_tokens: 1000,
      completion_tokens: 50,
      total_tokens: 1050,
      prompt_tokens_details: { cached_tokens: 400 },
      completion_tokens_details: { reasoning_tokens: 20 },
    };
    provider.respond = () => json(completion('Yes.', { usage }));
    const ask = (body: object, headers = {}) => send(gateway, '/chat/completions', { body: chat(body), headers });
    assert.equal((await ask({})).status, 200);
    assert.equal((await ask({ metadata: { tag: 'night' } })).status, 200);
    assert.equal((await ask({ metadata: { tag: 'night' } }, { 'x-tag': '=SUM(1)' })).status, 400);
    assert.equal((await ask({}, { 'x-tag': 'day @1' })).status, 200);
    provider.respond = () => status(400);
    assert.equal((await ask({})).status, 400);
    const cost = (1000 + 2 * 50) / 1e6;
    const each = {
      requests: 1,
      errors: 0,
      input_tokens: 1000,
      cached_tokens: 400,
      output_tokens: 50,
      reasoning_tokens: 20,
    };
    const today = new Date().toISOString().slice(0, 10);
    assert.deepEqual(await rows('?group_by=tag'), [
      { tag: '', ...each, requests: 2, errors: 1, cost },
      { tag: 'day @1', ...each, cost },
      { tag: 'night', ...each, cost },
    ]);
    const [all] = await rows('?group_by=key,team,model,day');
    assert.deepEqual(all, {
      key: 'client',
      team: 'sales',
      model: 'fast',
      day: today,
      requests: 4,
      errors: 1,
      input_tokens: 3000,
      cached_tokens: 1200,
      output_tokens: 150,
      reasoning_tokens: 60,
      cost: (3 * (1000 + 2 * 50)) / 1e6,
    });
    assert.deepEqual(await rows('?from=2026-01-01&to=2026-01-02'), []);
    const csv = await read('?group_by=model&format=csv');
    assert.match(csv.type ?? '', /^text\/csv/);
    assert.equal(
      csv.text,
      'model,requests,errors,input_tokens,cached_tokens,output_tokens,reasoning_tokens,cost\r\n' +
        'fast,4,1,3000,1200,150,60,0.0033\r\n',
    );
  });

  it("counts a broken stream as an error, but not a client's disconnect, and tags tasks", async () => {
    await using world = await openWorld();
    const { gateway, provider, rows } = world;
    const streamed = (tag: string) => chat({ stream: true, metadata: { tag } });
    provider.respond = () => cutAfter(3);
    await (await send(gateway, '/chat/completions', { body: streamed('cut') })).text();
    provider.respond = () => stallAfter(3);
    const leaving = new AbortController();
    const left = await send(gateway, '/chat/completions', { body: streamed('left'), signal: leaving.signal });
    await left.body?.getReader().read();
    leaving.abort();
    provider.respond = () => json(completion('Yes.'));
    await send(gateway, '/async', { body: chat({ metadata: { tag: 'task' } }) });
    const counted = await until(async () => {
      const found = await rows('?group_by=tag');
      return found.length === 3 ? found : undefined;
    });
    assert.deepEqual(
      counted.map(({ tag, requests, errors }) => [tag, requests, errors]),
      [
        ['cut', 1, 1],
        ['left', 1, 0],
        ['task', 1, 0],
      ],
    );
  });

  it('refuses invalid parameters, naming them', async () => {
    await using world = await openWorld();
    const refused = async (query: string, param: string) => {
      const { status: got, text } = await world.read(query);
      assert.equal(got, 400, text);
      assert.equal(JSON.parse(text).error.param, param, text);
    };
    await refused('?from=yesterday', 'from');
    await refused('?from=2026-02-30', 'from');
    await refused('?from=2026-02-02&to=2026-02-01', 'from');
    await refused('?from=2020-01-01', 'from');
    await refused('?group_by=user', 'group_by');
    await refused('?format=xml', 'format');
  });
});
