import assert from 'node:assert/strict';
import OpenAI, { APIError } from 'openai';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { startGateway } from '../../src/server.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import { redisOrSkip } from '../support/redis.ts';
import { json, startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { strictMessages, strictResponses } from '../support/strict-wires.ts';
import { freshDatabase } from '../support/two-instances.ts';

type Input = OpenAI.Responses.ResponseInputItem[];
type Response = OpenAI.Responses.Response;

const TURNS = 3;
const LOOK_UP = {
  type: 'function' as const,
  name: 'look_up',
  description: 'Looks a number up.',
  parameters: { type: 'object', properties: { n: { type: 'integer' } } },
  strict: false,
};

async function gatewayOf({ url, wire, store }: { url: string; wire: string; store?: object }) {
  const config = configSchema.parse({
    server: { port: 0 },
    store: store ?? { url: 'memory:', encryption_keys: ['a key of the operator, long enough'] },
    providers: { strict: { base_url: url, wire, api_key: 'sk-strict', max_retries: 0 } },
    models: {
      plain: {
        kind: 'proxy',
        apis: ['responses'],
        responses: 'gateway',
        routes: [{ provider: 'strict', model: 'm' }],
      },
    },
    keys: ['ann', 'bob'].map((user) => ({ id: user, user, secret: `sk-${user}-0123456789abcdef` })),
  });
  return await startGateway({ config, log: silentLogger, load: IDLE_LOAD });
}

/** Sends a request as a client that keeps the items itself. */
function ask(gateway: { url: string }, input: Input, user = 'ann'): Promise<Response> {
  const apiKey = `sk-${user}-0123456789abcdef`;
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
  const include: OpenAI.Responses.ResponseIncludable[] = ['reasoning.encrypted_content'];
  return client.responses.create({ model: 'plain', input, tools: [LOOK_UP], include, max_output_tokens: 4096 });
}

/** What a client sends with its next turn: all items so far, and the outputs of its functions. */
function next(input: Input, { output }: Response): Input {
  const results = output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: `found ${item.arguments}` }]
      : [],
  );
  return [...input, ...(output as Input), ...results];
}

function thoughtOf({ output }: Response): string {
  const item = output.find(({ type }) => type === 'reasoning');
  assert.ok(item?.type === 'reasoning' && typeof item.encrypted_content === 'string');
  return item.encrypted_content;
}

const START: Input = [{ role: 'user', content: 'What is the answer?' }];

describe('reasoning.encrypted_content of a plain model', () => {
  const servers = [
    ['responses', () => strictResponses(TURNS), '"encrypted_content":'],
    ['messages', () => strictMessages(TURNS, { thinks: 'adaptive' }), '"signature":'],
  ] as const;
  for (const [wire, strict, bound] of servers) {
    it(`brings thoughts back to a ${wire} provider, turn after turn, through any instance`, async () => {
      const server = strict();
      await using provider = await startScriptedProvider({ respond: (request) => server.respond(request) });
      await using first = await gatewayOf({ url: provider.url, wire });
      await using second = await gatewayOf({ url: provider.url, wire });
      let input = START;
      let response: Response | undefined;
      for (let n = 0; n <= TURNS; n += 1) {
        assert.equal(response?.error ?? null, null);
        response = await ask(n % 2 ? second : first, input);
        input = next(input, response);
      }
      assert.equal(response?.output.at(-1)?.type, 'message');
      const last = JSON.stringify(provider.requests.at(-1)?.body);
      assert.equal(last.split(bound).length - 1, TURNS);
      assert.deepEqual(
        server.refusals.filter((text) => !/temperature/.test(text)),
        [],
      );
    });
  }

  it('brings thoughts back as reasoning_content to a chat provider', async () => {
    await using provider = await startScriptedProvider({
      respond: ({ body }) =>
        body.messages?.at(-1)?.role === 'tool'
          ? turn({ text: 'Done.' })
          : turn({
              reasoning: 'I look.',
              text: 'A moment.',
              toolCalls: [{ id: 'call_1', name: 'look_up', arguments: '{"n":1}' }],
            }),
    });
    await using gateway = await gatewayOf({ url: provider.url, wire: 'chat' });
    const response = await ask(gateway, START);
    assert.deepEqual(
      response.output.map(({ type }) => type),
      ['reasoning', 'message', 'function_call'],
    );
    await ask(gateway, next(START, response));
    const [, said] = provider.requests[1]?.body.messages ?? [];
    assert.equal(said?.reasoning_content, 'I look.');
    assert.equal(said?.content, 'A moment.');
    assert.equal(said?.tool_calls?.length, 1);
  });

  it('is refused from another user, altered, or as a compaction, and dropped if another service made it', async () => {
    await using provider = await startScriptedProvider({
      respond: () => turn({ reasoning: 'I think.', text: 'Hello.' }),
    });
    await using gateway = await gatewayOf({ url: provider.url, wire: 'chat' });
    const sealed = thoughtOf(await ask(gateway, START));
    const thought = (encrypted_content: string) => ({
      type: 'reasoning' as const,
      id: 'rs_1',
      summary: [],
      encrypted_content,
    });
    const asks = (text: string, user?: string) =>
      ask(gateway, [...START, thought(text), { role: 'assistant', content: 'Hello.' }, ...START], user);
    await asks(sealed);
    await asks('gAAAAABotherService');
    const refused = (error: unknown) =>
      error instanceof APIError && error.status === 400 && error.param === 'input[1].encrypted_content';
    await assert.rejects(asks(sealed, 'bob'), refused);
    for (const place of [0, 4, 5, 8, 13, 14, 40, sealed.length - 1]) {
      const letter = sealed[place] === 'A' ? 'B' : 'A';
      await assert.rejects(asks(sealed.slice(0, place) + letter + sealed.slice(place + 1)), refused, `${place}`);
    }
    await assert.rejects(
      ask(gateway, [...START, { type: 'compaction', encrypted_content: sealed }]),
      (error) => error instanceof APIError && error.status === 400,
    );
  });

  it('carries a thought that the provider hides, and is absent unless requested', async () => {
    const signed = { type: 'thinking', thinking: '', signature: 'sig' };
    await using provider = await startScriptedProvider({
      respond: () =>
        json({
          type: 'message',
          role: 'assistant',
          content: [signed, { type: 'text', text: 'Hello.' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 1, output_tokens: 1 },
        }),
    });
    await using gateway = await gatewayOf({ url: provider.url, wire: 'messages' });
    const response = await ask(gateway, START);
    assert.deepEqual(
      response.output.map(({ type }) => type),
      ['message', 'reasoning'],
    );
    await ask(gateway, [...next(START, response), ...START]);
    assert.match(JSON.stringify(provider.requests[1]?.body.messages), /"signature":"sig"/);
    const key = { authorization: 'Bearer sk-ann-0123456789abcdef', 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'plain', input: 'Hi' });
    const plain = await fetch(`${gateway.url}/v1/responses`, { method: 'POST', headers: key, body });
    assert.doesNotMatch(await plain.text(), /encrypted_content/);
  });

  it('can be read by every instance over Redis', async function () {
    await using redis = await redisOrSkip(this);
    await using provider = await startScriptedProvider({
      respond: () => turn({ reasoning: 'I think.', text: 'Hello.' }),
    });
    const store = { url: freshDatabase(redis.url, 0) };
    await using first = await gatewayOf({ url: provider.url, wire: 'chat', store });
    await using second = await gatewayOf({ url: provider.url, wire: 'chat', store });
    const response = await ask(first, START);
    assert.equal((await ask(second, [...next(START, response), ...START])).status, 'completed');
  });
});
