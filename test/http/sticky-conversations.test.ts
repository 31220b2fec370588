import assert from 'node:assert/strict';
import { APIS } from '../support/api-answers.ts';
import { completion } from '../support/chat-faults.ts';
import { until } from '../support/http-gateway.ts';
import { CLIENT_KEY, type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { json, type ScriptedProvider, startScriptedProvider, status } from '../support/scripted-provider.ts';

/** So many that a route drawn for each call would be noticed. */
const CONVERSATIONS = 8;
const TURNS = 4;

describe('conversations that stick to a route', () => {
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

  /** The provider that was asked for what `call` did. */
  async function askedBy(call: () => Promise<void>): Promise<'left' | 'right'> {
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

  /** Each conversation has all its turns at one provider; `shares`: not all have the same one. */
  async function assertKept(turn: (conversation: number, n: number) => Promise<void>, { shares = true } = {}) {
    const seen = new Set<string>();
    for (let conversation = 0; conversation < CONVERSATIONS; conversation++) {
      const asked = new Set<string>();
      for (let n = 0; n < TURNS; n++) asked.add(await askedBy(() => turn(conversation, n)));
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

  it('by what a chat began with, or its cache key', async () => {
    await assertKept(async (conversation, n) => {
      await post('/chat/completions', { model: 'plain', messages: said(conversation, n) });
    });
    await assertKept(async (conversation, n) => {
      const messages = [{ role: 'user', content: `${n}` }];
      await post('/chat/completions', { model: 'plain', messages, prompt_cache_key: `key ${conversation}` });
    });
  });

  it('by what the chat of a task began with', async () => {
    await assertKept(async (conversation, n) => {
      const { id } = await post('/async', { model: 'plain', messages: said(conversation, n) });
      const headers = { authorization: `Bearer ${CLIENT_KEY}` };
      await until(async () => {
        const text = await (await fetch(`${gateway.url}/async/${id}`, { headers })).text();
        return text.includes('"COMPLETED"') || undefined;
      });
    });
  });

  it('by user, where only the provider knows what a response follows', async () => {
    for (const provider of [left, right])
      provider.respond = () => APIS.responses?.answer('an answer', false) ?? status(500);
    const turn = async (conversation: number, n: number) => {
      const previous = n > 0 && { previous_response_id: 'resp_of_the_provider' };
      await post('/responses', { model: 'plain', input: `${conversation} ${n}`, ...previous });
    };
    await assertKept(turn, { shares: false });
  });

  for (const model of ['told', 'found']) {
    it(`by the first of a chain of responses, or the conversation (${model})`, async () => {
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
        const first = await askedBy(() => turn(n, 0));
        for (let more = 1; more < TURNS; more++) assert.equal(await askedBy(() => turn(n, more)), first);
      }
    });
  }

  it('until it fails', async () => {
    const ask = () =>
      askedBy(async () => void (await post('/chat/completions', { model: 'plain', messages: said(0, 0) })));
    const first = await ask();
    const [broken, other] = first === 'left' ? [left, right] : [right, left];
    broken.respond = () => status(404);
    const before = other.requests.length;
    await post('/chat/completions', { model: 'plain', messages: said(0, 1) });
    assert.equal(other.requests.length, before + 1);
  });
});
