import assert from 'node:assert/strict';
import { APIS } from '../support/api-answers.ts';
import { completion } from '../support/chat-faults.ts';
import { until } from '../support/http-gateway.ts';
import { CLIENT_KEY, chat, type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { redisOrSkip } from '../support/redis.ts';
import {
  chunk,
  cutAfter,
  frames,
  json,
  raw,
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
  status,
} from '../support/scripted-provider.ts';

const KEPT = { ttl_seconds: 600 };
const OTHERS = ['audio/speech', 'files', 'embeddings'];

describe('the answer cache', () => {
  let provider: ScriptedProvider;
  let second: ScriptedProvider;
  let gateway: ProxyGateway;
  const stack = new AsyncDisposableStack();

  before(async () => {
    provider = stack.use(await startScriptedProvider());
    second = stack.use(await startScriptedProvider());
    const routes = [{ provider: 'one', model: 'm', price: { input: 1000, output: 2000 } }];
    const common = { kind: 'proxy', responses: 'native', apis: [...Object.keys(APIS), ...OTHERS], routes };
    gateway = stack.use(
      await startProxyGateway({
        providers: { one: { url: provider.url }, two: { url: second.url } },
        key: { admin: true, user: 'ann' },
        keys: [
          { id: 'hers', user: 'ann', secret: 'sk-the-same-user' },
          { id: 'his', user: 'bob', secret: 'sk-another-user' },
          {
            id: 'elsewhere',
            user: 'ann',
            secret: 'sk-own-routes',
            routes: { kept: [{ provider: 'two', model: 'm' }] },
          },
          { id: 'poor', user: 'eve', secret: 'sk-poor', limits: { tokens_per_day: 40, cost_per_day: 0.1 } },
          { id: 'slow', user: 'sam', secret: 'sk-slow', limits: { requests_per_minute: 3 } },
        ],
        models: {
          plain: common,
          kept: { ...common, cache: KEPT },
          twin: { ...common, cache: KEPT },
          going_on: { ...common, cache: KEPT, continue_streams: true },
          small: { ...common, cache: { ...KEPT, max_bytes: 6000 } },
          short: { ...common, cache: { ttl_seconds: 0.05 } },
        },
      }),
    );
  });
  after(() => stack.disposeAsync());
  beforeEach(() => {
    let n = 0;
    provider.respond = () => json(completion(`answer ${++n}`));
  });

  /** Each test has its own messages, so that none hits the cache entries of another. */
  let texts = 0;
  const fresh = (fields: object = {}) =>
    chat({ model: 'kept', messages: [{ role: 'user', content: `${++texts}` }], ...fields });

  async function ask(body: object, { path = '/chat/completions', headers = {} as Record<string, string> } = {}) {
    const answer = await send(gateway, path, { body, headers });
    const bytes = Buffer.from(await answer.arrayBuffer());
    return { status: answer.status, text: bytes.toString('latin1'), cache: answer.headers.get('x-cache'), answer };
  }

  const as = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } });

  /** The x-cache header of each of several calls. */
  async function outcomes(...calls: (() => ReturnType<typeof ask>)[]) {
    const found: (string | null)[] = [];
    for (const call of calls) found.push((await call()).cache);
    return found;
  }

  for (const [api, { path, request, answer }] of Object.entries(APIS)) {
    for (const stream of [false, true]) {
      it(`replays an answer byte for byte, with its headers (${api}, ${stream ? 'streamed' : 'whole'})`, async () => {
        provider.respond = () => {
          const script = answer('of the provider', stream);
          return { ...script, headers: { ...script.headers, 'x-request-id': 'req_1' } };
        };
        const body = { ...request, model: 'kept', stream };
        const asked = provider.requests.length;
        const [first, again] = [await ask(body, { path }), await ask(body, { path })];
        assert.equal(provider.requests.length, asked + 1);
        assert.deepEqual([first.cache, again.cache], ['miss', 'hit']);
        assert.deepEqual([again.status, again.text], [200, first.text]);
        assert.match(again.text, /of the provider/);
        for (const name of ['content-type', 'x-upstream-request-id', 'cache-control']) {
          assert.equal(again.answer.headers.get(name), first.answer.headers.get(name), name);
        }
      });
    }
  }

  it('replays binary answers, and streams of models with continue_streams', async () => {
    const sound = Buffer.from(Array.from({ length: 1000 }, (_, n) => n % 256));
    provider.respond = () => raw(sound, { headers: { 'content-type': 'audio/mpeg' } });
    const speech = { model: 'kept', input: 'hello' };
    const first = await ask(speech, { path: '/audio/speech' });
    const again = await ask(speech, { path: '/audio/speech' });
    assert.deepEqual([first.cache, again.cache, again.text], ['miss', 'hit', sound.toString('latin1')]);
    provider.respond = () => frames([chunk({ content: 'a stream' }), chunk({}, 'stop')]);
    const body = fresh({ model: 'going_on', stream: true });
    const [streamed, replayed] = [await ask(body), await ask(body)];
    assert.deepEqual([streamed.cache, replayed.cache, replayed.text], ['miss', 'hit', streamed.text]);
  });

  it('is off unless the model configures it', async () => {
    const body = fresh({ model: 'plain' });
    assert.deepEqual(await outcomes(...[1, 2].map(() => () => ask(body))), [null, null]);
    assert.equal((await ask(body)).text.includes('answer 3'), true);
  });

  it('is shared by the keys of a user with the same routes, and by nobody else', async () => {
    const body = fresh();
    assert.deepEqual(
      await outcomes(
        () => ask(body),
        () => ask(body, as('sk-another-user')),
        () => ask(body, as('sk-the-same-user')),
        () => ask(body, as('sk-another-user')),
        () => ask(body, as('sk-own-routes')),
      ),
      ['miss', 'miss', 'hit', 'hit', 'miss'],
    );
  });

  it('hits only for the same body, model, query and relevant headers', async () => {
    const body = fresh();
    const text = JSON.stringify(body);
    await ask(body);
    assert.deepEqual(
      await outcomes(
        () => ask({ ...body, model: 'twin' }),
        () => ask({ ...body, temperature: 0 }),
        () => ask(JSON.parse(text.replace('{', '{"user":"x",'))),
        () => ask(body, { path: '/chat/completions?a=1' }),
        () => ask(body, { headers: { 'openai-beta': 'x' } }),
        () => ask(body, { headers: { 'user-agent': 'x', traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` } }),
      ),
      ['miss', 'miss', 'miss', 'miss', 'miss', 'hit'],
    );
  });

  it('obeys cache-control: no-cache and no-store', async () => {
    const body = fresh();
    const wish = (wanted: string) => () => ask(body, { headers: { 'cache-control': wanted } });
    const none = () => ask(body);
    assert.deepEqual(await outcomes(wish('max-age=5, No-Store'), none, none), ['miss', 'miss', 'hit']);
    assert.match((await none()).text, /answer 2/);
    assert.deepEqual(await outcomes(wish('no-cache'), none), ['miss', 'hit']);
    assert.match((await none()).text, /answer 3/);
    assert.deepEqual(await outcomes(wish('no-store'), none), ['miss', 'hit']);
    assert.match((await none()).text, /answer 3/, 'the earlier entry stays');
  });

  const failures: [string, Script, object?][] = [
    ['an error', status(400)],
    ['an empty answer', json(completion(''))],
    ['a stream that breaks', cutAfter(3), { stream: true }],
    ['an error in a stream', frames([chunk({ content: 'a' }), { error: { message: 'no' } }]), { stream: true }],
    ['a continued stream that breaks', cutAfter(3), { stream: true, model: 'going_on' }],
  ];
  for (const [what, script, fields] of failures) {
    it(`never stores ${what}`, async () => {
      provider.respond = () => script;
      const body = fresh(fields);
      for (let n = 0; n < 2; n++) {
        const asked = provider.requests.length;
        assert.equal((await ask(body)).cache, 'miss');
        assert.ok(provider.requests.length > asked);
      }
    });
  }

  it('never stores an answer whose client disconnected', async () => {
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const said = Buffer.from(`data: ${JSON.stringify(chunk({ content: 'half' }))}\n\n`);
    const rest = Buffer.from(`data: ${JSON.stringify(chunk({}, 'stop'))}\n\ndata: [DONE]\n\n`);
    provider.respond = () => ({
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      steps: [{ do: 'send', bytes: said }, { do: 'until', promise: gone }, { do: 'send', bytes: rest }, { do: 'end' }],
    });
    const body = fresh({ stream: true });
    const leaving = new AbortController();
    const left = await send(gateway, '/chat/completions', { body, signal: leaving.signal });
    await left.body?.getReader().read();
    leaving.abort();
    await provider.requests.at(-1)?.closed;
    resolve();
    assert.deepEqual(
      await outcomes(
        () => ask(body),
        () => ask(body),
      ),
      ['miss', 'hit'],
    );
  });

  it('skips jobs, and responses in the background or in a conversation', async () => {
    provider.respond = () => APIS.responses?.answer('done', false) ?? status(500);
    for (const fields of [{ background: true }, { conversation: 'conv_1' }]) {
      const call = () => ask({ model: 'kept', input: 'hello', ...fields }, { path: '/responses' });
      assert.deepEqual(await outcomes(call, call), [null, null]);
    }
    provider.respond = () => json({ id: 'file-1', object: 'file' });
    const job = () => ask({ model: 'kept', purpose: 'batch' }, { path: '/embeddings/jobs' });
    assert.deepEqual(await outcomes(job, job), [null, null]);
  });

  it('evicts the least recently used answers, and does not store long ones', async () => {
    const ofSize = (length: number) => () => json(completion('x'.repeat(length)));
    provider.respond = ofSize(100);
    const [first, ...others] = Array.from({ length: 12 }, () => fresh({ model: 'small' }));
    assert.ok(first);
    assert.deepEqual(
      await outcomes(
        () => ask(first),
        () => ask(first),
      ),
      ['miss', 'hit'],
    );
    for (const body of others) await ask(body);
    assert.equal((await ask(others.at(-1) ?? {})).cache, 'hit');
    assert.equal((await ask(first)).cache, 'miss');
    provider.respond = ofSize(2000);
    const long = fresh({ model: 'small' });
    assert.deepEqual(
      await outcomes(
        () => ask(long),
        () => ask(long),
      ),
      ['miss', 'miss'],
    );
  });

  it('expires after ttl_seconds', async () => {
    const body = fresh({ model: 'short' });
    await ask(body);
    await until(async () => ((await ask(body)).cache === 'miss' ? true : undefined));
  });

  it('uses no tokens or cost on a hit, but counts it as a request', async () => {
    const usage = { prompt_tokens: 30, completion_tokens: 20, total_tokens: 50 };
    provider.respond = () => json(completion('dear', { usage }));
    const body = fresh({ max_tokens: 8 });
    const poor = () => ask(body, as('sk-poor'));
    assert.deepEqual(await outcomes(poor, poor, poor), ['miss', 'hit', 'hit']);
    const other = await ask(fresh({ max_tokens: 8 }), as('sk-poor'));
    assert.deepEqual([other.status, other.cache], [429, null], 'the first call used up the limits of the key');
    const headers = { authorization: `Bearer ${CLIENT_KEY}` };
    const answer = await fetch(new URL('/admin/usage?group_by=key', gateway.url), { headers });
    const { data } = JSON.parse(await answer.text());
    const row = data.find(({ key }: { key: string }) => key === 'poor');
    assert.deepEqual([row.requests, row.errors, row.input_tokens, row.output_tokens], [3, 0, 30, 20]);
    const slow = () => ask(body, as('sk-slow'));
    assert.deepEqual(await outcomes(slow, slow, slow, slow), ['miss', 'hit', 'hit', null]);
    assert.equal((await slow()).status, 429);
  });
});

describe('the answer cache in Redis', () => {
  it('is shared by all instances, and only with the same user', async function () {
    await using redis = await redisOrSkip(this);
    await using provider = await startScriptedProvider({ respond: () => json(completion('shared')) });
    const start = () =>
      startProxyGateway({
        providers: { one: { url: provider.url } },
        storeUrl: redis.url,
        keys: [{ id: 'his', secret: 'sk-another-user' }],
        models: { kept: { kind: 'proxy', cache: KEPT, routes: [{ provider: 'one', model: 'm' }] } },
      });
    await using one = await start();
    await using two = await start();
    const body = chat({ model: 'kept' });
    const first = await send(one, '/chat/completions', { body });
    const text = await first.text();
    await until(async () => {
      const again = await send(two, '/chat/completions', { body });
      assert.equal(await again.text(), text);
      return again.headers.get('x-cache') === 'hit' || undefined;
    });
    const headers = { authorization: 'Bearer sk-another-user' };
    const his = await send(two, '/chat/completions', { body, headers });
    assert.equal(his.headers.get('x-cache'), 'miss');
    await his.text();
  });
});
