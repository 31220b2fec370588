import assert from 'node:assert/strict';
import { APIS } from '../support/api-answers.ts';
import { completion } from '../support/chat-faults.ts';
import { until } from '../support/http-gateway.ts';
import { CLIENT_KEY, chat, type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import {
  frames,
  json,
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts';

/** A content filter's refusal, which does not fail over by default. */
const FILTERED = { error: { code: 'content_filter', message: 'the content was filtered' } };
const BUSY = { error: { code: 'busy_hour', message: 'come back later' } };

describe('failover_on and failover_off', () => {
  let first: ScriptedProvider;
  let second: ScriptedProvider;
  let gateway: ProxyGateway;
  const stack = new AsyncDisposableStack();

  before(async () => {
    first = stack.use(await startScriptedProvider());
    second = stack.use(await startScriptedProvider());
    const routes = ['first', 'second'].map((provider) => ({ provider, model: 'm' }));
    const common = { kind: 'proxy', responses: 'native', apis: [...Object.keys(APIS), 'async'], routes };
    const on = { failover_on: [418, 422, 'content_filter'] };
    const off = { failover_off: [429, 500, 401, 'busy_hour'] };
    const research = { kind: 'research', routes, research: { tools: [] } };
    gateway = stack.use(
      await startProxyGateway({
        providers: { first: { url: first.url }, second: { url: second.url } },
        models: {
          plain: common,
          on: { ...common, ...on },
          off: { ...common, ...off },
          both: { ...common, failover_on: ['busy_hour'], failover_off: [400] },
          going_on: { ...common, ...off, continue_streams: true },
          research_plain: research,
          research_on: { ...research, ...on },
          research_off: { ...research, ...off },
        },
      }),
    );
  });
  after(() => stack.disposeAsync());

  /** Calls every API, streamed and whole. `seconds`: how often the second provider was called. */
  async function askAll(model: string, script: Script, { streams = [true, false] } = {}) {
    const answers = [];
    for (const { path, request, answer } of Object.values(APIS)) {
      for (const stream of streams) {
        const before = second.requests.length;
        first.respond = () => script;
        second.respond = () => answer('of the second', stream);
        const got = await send(gateway, path, { body: { ...request, model, stream } });
        answers.push({ status: got.status, text: await got.text(), seconds: second.requests.length - before });
      }
    }
    return answers;
  }

  async function researches(model: string, script: Script) {
    const before = second.requests.length;
    first.respond = () => script;
    second.respond = () => json(completion('found by the second'));
    const got = await send(gateway, '/responses', { body: { model, input: 'why?', stream: false } });
    return { text: await got.text(), asked: second.requests.length > before };
  }

  async function task(model: string, script: Script) {
    const before = second.requests.length;
    first.respond = () => script;
    second.respond = () => json(completion('made by the second'));
    const created = await send(gateway, '/async', { body: chat({ model }) });
    const { id } = JSON.parse(await created.text());
    const headers = { authorization: `Bearer ${CLIENT_KEY}` };
    const ended = await until(async () => {
      const text = await (await fetch(`${gateway.url}/async/${id}`, { headers })).text();
      return /"(?:COMPLETED|FAILED)"/.test(text) ? text : undefined;
    });
    return { text: ended, asked: second.requests.length > before };
  }

  const added: [string, Script, boolean[]?][] = [
    ['a status', json({ error: { message: 'I am a teapot' } }, { status: 422 })],
    ['a code', json(FILTERED, { status: 400 })],
    ['a code inside an answer', json(FILTERED)],
    ['a code inside a stream', frames([FILTERED]), [true]],
  ];
  for (const [what, script, streams] of added) {
    it(`failover_on adds ${what}, on every API`, async () => {
      assert.ok((await askAll('plain', script, { streams })).every(({ seconds }) => seconds === 0));
      for (const { status, text, seconds } of await askAll('on', script, { streams })) {
        assert.deepEqual([status, seconds], [200, 1], text);
        assert.match(text, /of the second/);
      }
      if (streams === undefined) assert.match((await task('on', script)).text, /made by the second/);
    });
  }

  it('failover_on adds a code for research that would otherwise fail', async () => {
    const filtered = json(FILTERED, { status: 400 });
    const without = await researches('research_plain', filtered);
    assert.ok(!without.asked && without.text.includes('the content was filtered'), without.text);
    assert.match((await researches('research_on', filtered)).text, /found by the second/);
  });

  it('failover_off passes the refusal on unchanged, on every API', async () => {
    const body = { error: { message: 'slower, please' } };
    const refused = json(body, { status: 429, headers: { 'retry-after': '1' } });
    for (const answer of await askAll('off', refused)) {
      assert.deepEqual(answer, { status: 429, text: JSON.stringify(body), seconds: 0 });
    }
    const ended = await task('off', refused);
    assert.ok(!ended.asked && ended.text.includes('slower, please'), ended.text);
    const run = await researches('research_off', refused);
    assert.ok(!run.asked && run.text.includes('slower, please'), run.text);
  });

  it('failover_off passes an error inside an answer on unchanged', async () => {
    const whole = await askAll('off', json(BUSY));
    const streamed = await askAll('off', frames([BUSY]), { streams: [true] });
    for (const { status, text, seconds } of [...whole, ...streamed]) {
      assert.deepEqual([status, seconds], [200, 0], text);
      assert.match(text, /^(?:data: )?{"error":{"code":"busy_hour"/);
    }
    first.respond = () => frames([BUSY]);
    const broken = await send(gateway, '/chat/completions', { body: chat({ model: 'going_on', stream: true }) });
    assert.equal(broken.status, 502);
    assert.match(await broken.text(), /come back later/);
  });

  it('failover_off retries nothing and opens no circuit', async () => {
    first.respond = () => json({ error: { message: 'oh' } }, { status: 500 });
    for (let n = 0; n < 6; n++) {
      const before = first.requests.length;
      const answer = await send(gateway, '/chat/completions', { body: chat({ model: 'off' }) });
      assert.equal(answer.status, 500);
      assert.equal(first.requests.length - before, 1);
    }
  });

  it("failover_off passes on no refusal of the gateway's own credentials", async () => {
    for (const { status, text, seconds } of await askAll(
      'off',
      json({ error: { message: 'no key' } }, { status: 401 }),
    )) {
      assert.deepEqual([status, seconds], [502, 0], text);
    }
  });

  it('rules for a code take precedence over rules for a status', async () => {
    const missing = json({ error: { code: 'model_not_found' } }, { status: 400 });
    assert.ok((await askAll('plain', missing)).every(({ seconds }) => seconds === 1));
    assert.ok((await askAll('both', missing)).every(({ seconds }) => seconds === 0));
    assert.ok((await askAll('both', json(BUSY, { status: 400 }))).every(({ seconds }) => seconds === 1));
  });
});
