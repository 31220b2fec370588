import assert from 'node:assert/strict';
import { APIS } from '../support/api-answers.ts';
import { completion } from '../support/chat-faults.ts';
import { until } from '../support/http-gateway.ts';
import { CLIENT_KEY, type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { json, type ScriptedProvider, startScriptedProvider, status } from '../support/scripted-provider.ts';

/** Enough conversations and turns to notice a route that is drawn for each call. */
const CONVERSATIONS = 8;
const TURNS = 4;

describe('sticky: conversation', () => {
  let left: ScriptedProvider;
  let right: ScriptedProvider;
  let gateway: ProxyGateway;
  const stack = new AsyncDisposableStack();

  before(async () => {
    left = stack.use(await startScriptedProvider());
    right = stack.use(await startScriptedProvider());
    const routes = ['left', 'right'].map((provider) => ({ provider, model: 'm', weight: 1 }));
    const kept = { sticky: 'conversation', routes };
    gateway = stack.use(
      await startProxyGateway({
        providers: { left: { url: left.url }, right: { url: right.url } },
        models: {
          plain: { kind: 'proxy', responses: 'native', apis: ['chat_completions', 'responses', 'async'], ...kept },
          told: { kind: 'proxy', responses: 'gateway', apis: ['responses'], ...kept },
          found: { kind: 'research', research: { tools: [] }, ...kept },
        },
      }),
    );
  });
  beforeEach(() => {
    for (const provider of [left, right]) provider.respond = () => json(completion('an answer'));
  });
  after(() => stack.disposeAsync());

  /** The provider that `call` reached; fails if both were reached. */
  async function providerOf(call: () => Promise<void>): Promise<'left' | 'right'> {
    const before = [left, right].map(({ requests }) => requests.length);
    await call();
    const [toLeft, toRight] = [left, right].map(({ requests }, n) => requests.length - Number(before[n]));
    assert.ok((toLeft === 0) !== (toRight === 0), `${toLeft} and ${toRight}`);
    return toLeft === 0 ? 'right' : 'left';
  }

  async function post(path: string, body: object): Promise<{ id?: string }> {
    const answer = await send(gateway, path, { body });
    const text = await answer.text();
    assert.ok(answer.ok, text);
    return JSON.parse(text);
  }

  /** Asserts that each conversation has all turns at one provider. `shares`: both providers have conversations. */
  async function assertKept(turn: (conversation: number, n: number) => Promise<void>, { shares = true } = {}) {
    const seen = new Set<string>();
    for (let conversation = 0; conversation < CONVERSATIONS; conversation++) {
      const asked = new Set<string>();
      for (let n = 0; n < TURNS; n++) asked.add(await providerOf(() => turn(conversation, n)));
      assert.equal(asked.size, 1, `conversation ${conversation}`);
      seen.add(String([...asked]));
    }
    assert.equal(seen.size, shares ? 2 : 1);
  }

  const said = (conversation: number, n: number) => [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: `question ${conversation}` },
    ...Array.from({ length: n }, (_, i) => ({ role: i % 2 === 0 ? 'assistant' : 'user', content: `${i}` })),
  ];

  it('keeps chats with the same first messages or prompt_cache_key on one route', async () => {
    await assertKept(async (conversation, n) => {
      await post('/chat/completions', { model: 'plain', messages: said(conversation, n) });
    });
    await assertKept(async (conversation, n) => {
      const messages = [{ role: 'user', content: `${n}` }];
      await post('/chat/completions', { model: 'plain', messages, prompt_cache_key: `key ${conversation}` });
    });
  });

  it('keeps tasks with the same first messages on one route', async () => {
    await assertKept(async (conversation, n) => {
      const { id } = await post('/async', { model: 'plain', messages: said(conversation, n) });
      const headers = { authorization: `Bearer ${CLIENT_KEY}` };
      await until(async () => {
        const text = await (await fetch(`${gateway.url}/async/${id}`, { headers })).text();
        return text.includes('"COMPLETED"') || undefined;
      });
    });
  });

  it('keeps a user on one route if only the provider knows the previous response', async () => {
    for (const provider of [left, right])
      provider.respond = () => APIS.responses?.answer('an answer', false) ?? status(500);
    const turn = async (conversation: number, n: number) => {
      const previous = n > 0 && { previous_response_id: 'resp_of_the_provider' };
      await post('/responses', { model: 'plain', input: `${conversation} ${n}`, ...previous });
    };
    await assertKept(turn, { shares: false });
  });

  for (const model of ['told', 'found']) {
    it(`keeps a chain of responses, or a conversation, on one route (${model})`, async () => {
      let previous: string | undefined;
      await assertKept(async (conversation, n) => {
        const follows = n > 0 && { previous_response_id: previous };
        const body = { model, input: `${conversation} ${n}`, stream: false, ...follows };
        previous = (await post('/responses', body)).id;
      });
      let joined: string | undefined;
      const turn = async (conversation: number, n: number) => {
        if (n === 0) joined = (await post('/conversations', {})).id;
        const body = { model, input: `${conversation} ${n}`, stream: false, conversation: joined };
        await post('/responses', body);
      };
      for (let n = 0; n < CONVERSATIONS; n++) {
        const first = await providerOf(() => turn(n, 0));
        for (let more = 1; more < TURNS; more++) assert.equal(await providerOf(() => turn(n, more)), first);
      }
    });
  }

  it('uses another route if the route fails', async () => {
    const ask = () =>
      providerOf(async () => void (await post('/chat/completions', { model: 'plain', messages: said(0, 0) })));
    const first = await ask();
    const [broken, other] = first === 'left' ? [left, right] : [right, left];
    broken.respond = () => status(404);
    const before = other.requests.length;
    await post('/chat/completions', { model: 'plain', messages: said(0, 1) });
    assert.equal(other.requests.length, before + 1);
  });
});
