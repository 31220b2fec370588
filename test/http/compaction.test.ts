import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { type CompactedResponse, compactedResponseObject } from '../../src/protocol/compaction.ts';
import { assertRefused, type Received, type SendOptions, send } from '../support/http-client.ts';
import { openGateway } from '../support/http-gateway.ts';
import { openResearchGateway, type ResearchGateway } from '../support/research-gateway.ts';

const SUMMARY = 'The user builds a boat of oak; the keel is 4.20 m long.';
const COMPACTING = 'Write the compacted conversation now.';
const usage = { prompt_tokens: 900, completion_tokens: 100 };

describe('POST /v1/responses/compact', () => {
  let gateway: ResearchGateway;
  before(async () => {
    gateway = await openResearchGateway({
      model: ({ text }) =>
        text.includes('Call measure.')
          ? { toolCalls: [{ id: 'call_m', name: 'measure', arguments: '{}' }], usage }
          : { text: text.includes(COMPACTING) ? SUMMARY : 'Ready.', usage },
      deep: { routes: [{ provider: 'scripted', model: 'scripted', price: { input: 1, output: 10 } }] },
    });
  });
  after(() => gateway[Symbol.asyncDispose]());

  const compact = (body: object, options: SendOptions = {}) =>
    send(gateway, 'POST /v1/responses/compact', { body: { model: 'deep', ...body }, ...options });
  const compacted = async (body: object): Promise<CompactedResponse> => parsed(await compact(body));

  it("returns the user's messages and an encrypted compaction item", async () => {
    const input = [
      { role: 'user', content: 'I build a boat.' },
      { role: 'assistant', content: 'Of what?' },
      { type: 'function_call', call_id: 'c1', name: 'measure', arguments: '{"part":"keel"}' },
      { type: 'function_call_output', call_id: 'c1', output: '4.20 m' },
      { role: 'user', content: [{ type: 'input_text', text: 'Of oak.' }] },
    ];
    const answer = await compacted({ input, instructions: 'Speak as a carpenter.' });
    assert.match(answer.id, /^resp_/);
    assert.deepEqual(
      answer.output.map((item) => (item.type === 'message' ? item.content[0] : item.type)),
      [{ type: 'input_text', text: 'I build a boat.' }, { type: 'input_text', text: 'Of oak.' }, 'compaction'],
    );
    assert.doesNotMatch(JSON.stringify(answer), /keel|oak;/);
    const { input_tokens, output_tokens, total_tokens, cost } = answer.usage;
    assert.deepEqual([input_tokens, output_tokens, total_tokens], [900, 100, 1000]);
    assert.ok(cost && cost.total > 0);
    const asked = gateway.seen.at(-1)?.messages ?? [];
    assert.match(asked[0]?.content ?? '', /Speak as a carpenter/);
    const thread = asked.slice(1, -1).map(({ content }) => content);
    assert.equal(thread.length, 4);
    assert.match(thread.join('\n'), /I build a boat.*Of what.*measure.*4\.20 m.*Of oak/s);
  });

  it('returns an item that later inputs accept, even another compaction', async () => {
    const first = await compacted({ input: 'I build a boat.' });
    await gateway.respond({ input: [...first.output, { role: 'user', content: 'How long is the keel?' }] });
    assert.ok(gateway.seen.some(({ text }) => text.includes(SUMMARY) && text.includes('How long is the keel?')));
    const second = await compacted({ input: [...first.output, { role: 'user', content: 'And the mast?' }] });
    assert.equal(second.output.filter(({ type }) => type === 'compaction').length, 1);
    assert.ok(gateway.seen.at(-1)?.text.includes(SUMMARY));
    const messages = [{ role: 'user', content: 'Hello' }];
    assert.equal((await send(gateway, 'POST /v1/chat/completions', { body: { model: 'deep', messages } })).status, 200);
  });

  it('compacts the thread of previous_response_id', async () => {
    const { id } = await gateway.respond({ input: 'I like larch better.' });
    const answer = await compacted({ previous_response_id: id });
    assert.equal(answer.output.length, 2);
    assert.match(gateway.seen.at(-1)?.text ?? '', /I like larch better/);
  });

  it('returns an item that a conversation can hold', async () => {
    const { output } = await compacted({ input: 'I build a boat.' });
    const { json } = await send(gateway, 'POST /v1/conversations', { body: { items: output } });
    await gateway.respond({ input: 'Of which wood?', conversation: json.id });
    assert.ok(gateway.seen.some(({ text }) => text.includes(SUMMARY) && text.includes('Of which wood?')));
  });

  it('refuses items of another user, altered items and invalid ones', async () => {
    const { output } = await compacted({ input: 'I build a boat.' });
    const item = output.at(-1);
    assert.ok(item?.type === 'compaction');
    const ask = (encrypted_content: unknown, key: 'ann' | 'bob') =>
      send(gateway, 'POST /v1/responses', {
        key,
        body: {
          model: 'deep',
          stream: false,
          input: [
            { role: 'user', content: 'Hello' },
            { type: 'compaction', id: item.id, encrypted_content },
          ],
        },
      });
    const refused = { status: 400, code: 'invalid_parameter', param: 'input[1].encrypted_content' };
    assert.equal((await ask(item.encrypted_content, 'ann')).status, 200);
    assertRefused(await ask(item.encrypted_content, 'bob'), refused);
    const { length } = item.encrypted_content;
    for (const place of [0, 6, 14, 40, length - 1]) {
      const letter = item.encrypted_content[place] === 'A' ? 'B' : 'A';
      const changed = item.encrypted_content.slice(0, place) + letter + item.encrypted_content.slice(place + 1);
      assertRefused(await ask(changed, 'ann'), refused);
    }
    assertRefused(await ask('nothing', 'ann'), refused);
    assertRefused(await ask('', 'ann'), refused);
  });

  it('refuses altered items of a thread of which the research uses only its calls', async () => {
    const { output } = await compacted({ input: 'I build a boat.' });
    const item = output.at(-1);
    assert.ok(item?.type === 'compaction');
    const encrypted_content = `${item.encrypted_content.slice(0, -3)}~~~`;
    const tools = [{ type: 'function', name: 'measure', parameters: { type: 'object', properties: {} } }];
    const stopped = await gateway.respond({ input: 'Call measure.', tools });
    const call = stopped.output.at(-1);
    assert.ok(call?.type === 'function_call');
    const answered = { type: 'function_call_output', call_id: call.call_id, output: '4.20 m' };
    const question = { role: 'user', content: 'How long is the keel?' };
    const thought = { type: 'reasoning', summary: [], encrypted_content };
    const refused = { status: 400, code: 'invalid_parameter', param: 'input[1].encrypted_content' };
    for (const body of [
      { input: [question, thought, call, answered] },
      { input: [question, { type: 'compaction', encrypted_content }, call, answered] },
      { input: [answered, thought], previous_response_id: stopped.id },
      { input: [question, thought, { ...call, call_id: 'c1' }, { ...answered, call_id: 'c1' }], store: false },
    ]) {
      const asked = { model: 'deep', stream: false, tools, ...body };
      assertRefused(await send(gateway, 'POST /v1/responses', { body: asked }), refused);
    }
  });

  it('names missing and unknown parameters', async () => {
    const missing = await send(gateway, 'POST /v1/responses/compact', { body: { input: 'Hello' } });
    assertRefused(missing, { status: 400, code: 'missing_parameter', param: 'model' });
    assertRefused(await compact({}), { status: 400, code: 'missing_parameter', param: 'input' });
    assertRefused(await compact({ model: 'nope', input: 'a' }), { status: 404, code: 'model_not_found' });
    const unknown = await compact({ previous_response_id: 'resp_1' });
    assertRefused(unknown, { status: 404, code: 'not_found', param: 'previous_response_id' });
  });
});

describe('compactions', () => {
  it('of a proxy model are made and read by the gateway, with tool calls as text', async () => {
    await using gateway = await openResearchGateway({
      model: ({ text }) => ({ text: text.includes(COMPACTING) ? SUMMARY : 'Ready.', usage }),
      models: { plain: { kind: 'proxy', apis: ['responses'], routes: [{ provider: 'scripted', model: 'scripted' }] } },
    });
    const input = [
      { role: 'user', content: 'I build a boat.' },
      { type: 'function_call', call_id: 'c1', name: 'measure', arguments: '{"part":"keel"}' },
      { type: 'function_call_output', call_id: 'c1', output: '4.20 m' },
    ];
    const { output } = parsed(await send(gateway, 'POST /v1/responses/compact', { body: { model: 'plain', input } }));
    const asked = gateway.provider.requests.at(-1)?.body.messages ?? [];
    assert.deepEqual(
      asked.slice(1, -1).map(({ role, tool_calls }) => [role, tool_calls]),
      [
        ['user', undefined],
        ['assistant', undefined],
        ['user', undefined],
      ],
    );
    assert.match(JSON.stringify(asked), /measure.*keel.*4\.20 m/);
    const next = { model: 'plain', input: [...output, { role: 'user', content: 'And the mast?' }] };
    const answer = await send(gateway, 'POST /v1/responses', { body: next });
    assert.equal(answer.status, 200, answer.text);
    assert.ok(gateway.seen.at(-1)?.text.includes(SUMMARY));
    // Tool calls and outputs can be compacted without a user message.
    const outputs = await send(gateway, 'POST /v1/responses/compact', {
      body: { model: 'plain', input: input.slice(1) },
    });
    assert.deepEqual(
      parsed(outputs).output.map(({ type }) => type),
      ['compaction'],
    );
    const before = { model: 'plain', previous_response_id: answer.json.id };
    parsed(await send(gateway, 'POST /v1/responses/compact', { body: before }));
    assert.match(gateway.seen.at(-1)?.text ?? '', /And the mast/);
    const counted = await send(gateway, 'POST /v1/responses/input_tokens', { body: before });
    assert.ok(Number(counted.json.input_tokens) > 20, counted.text);
    const foreign = await send(gateway, 'POST /v1/responses', { key: 'bob', body: next });
    assertRefused(foreign, { status: 400, code: 'invalid_parameter', param: 'input[1].encrypted_content' });
  });

  it('count against limits like any call', async () => {
    await using gateway = await openResearchGateway({
      model: () => ({ text: SUMMARY, usage }),
      limits: { tokens_per_day: 1500 },
      deep: { max_completion_tokens: 400 },
    });
    const body = { model: 'deep', input: 'I build a boat.' };
    // A call that is alone may exceed the last tokens of the day.
    for (let n = 0; n < 2; n++) parsed(await send(gateway, 'POST /v1/responses/compact', { body }));
    const third = await send(gateway, 'POST /v1/responses/compact', { body });
    assertRefused(third, { status: 429, code: 'quota_exceeded' });
  });

  it('without text or their end are a provider failure', async () => {
    for (const answer of [{ text: '' }, { text: ' ' }, { text: SUMMARY, finish: 'length' }]) {
      await using gateway = await openResearchGateway({ model: () => answer });
      const failed = await send(gateway, 'POST /v1/responses/compact', { body: { model: 'deep', input: 'a' } });
      assertRefused(failed, { status: 502, code: 'upstream_error' });
    }
  });

  it('are read by instances with the same encryption key, and by no other', async () => {
    const model = () => ({ text: SUMMARY });
    const key = 'a key of the operator, 32 characters or more';
    await using one = await openResearchGateway({ model, store: { encryption_keys: [key] } });
    await using two = await openResearchGateway({ model, store: { encryption_keys: [`${key} or another`, key] } });
    await using other = await openResearchGateway({ model });
    const { output } = parsed(await send(one, 'POST /v1/responses/compact', { body: { model: 'deep', input: 'a' } }));
    const input = [...output, { role: 'user', content: 'Hello' }];
    await two.respond({ input });
    const refused = await send(other, 'POST /v1/responses', { body: { model: 'deep', stream: false, input } });
    assertRefused(refused, { status: 400, code: 'invalid_parameter', param: 'input[1].encrypted_content' });
  });
});

describe('POST /v1/responses/input_tokens', () => {
  const count = async (gateway: { url: string }, body: object) => {
    const answer = await send(gateway, 'POST /v1/responses/input_tokens', { body: { model: 'deep', ...body } });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(Object.keys(answer.json), ['object', 'input_tokens', 'estimated']);
    assert.deepEqual([answer.json.object, answer.json.estimated], ['response.input_tokens', true]);
    return Number(answer.json.input_tokens);
  };

  it('estimates input, instructions, tools, and the earlier thread', async () => {
    await using gateway = await openGateway();
    const short = await count(gateway, { input: 'Hello there.' });
    assert.ok(short > 1 && short < 30, `${short}`);
    const long = await count(gateway, { input: 'Hello there. '.repeat(100) });
    assert.ok(long > 200 && long < 1000, `${long}`);
    assert.ok((await count(gateway, { input: 'Hello there.', instructions: 'Be brief. '.repeat(20) })) > short + 20);
    const tools = [
      { type: 'function', name: 'look', parameters: { type: 'object', properties: { at: { type: 'string' } } } },
    ];
    assert.ok((await count(gateway, { input: 'Hello there.', tools })) > short + 10);
    const before = { model: 'deep', stream: false, input: 'word '.repeat(200) };
    const response = await send(gateway, 'POST /v1/responses', { body: before });
    assert.ok((await count(gateway, { input: 'Hello there.', previous_response_id: response.json.id })) > short + 200);
    const items = [{ role: 'user', content: 'word '.repeat(200) }];
    const conversation = await send(gateway, 'POST /v1/conversations', { body: { items } });
    assert.ok((await count(gateway, { conversation: conversation.json.id })) > 200);
    assert.equal(await count(gateway, {}), 0);
  });

  it('refuses invalid requests', async () => {
    await using gateway = await openGateway();
    const refused = async (body: object) => await send(gateway, 'POST /v1/responses/input_tokens', { body });
    assertRefused(await refused({ input: 'a' }), { status: 400, code: 'missing_parameter', param: 'model' });
    assertRefused(await refused({ model: 'deep', input: 7 }), {
      status: 400,
      code: 'invalid_parameter',
      param: 'input',
    });
    const both = { model: 'deep', conversation: 'conv_1', previous_response_id: 'resp_1' };
    assertRefused(await refused(both), { status: 400, code: 'conflicting_parameters', param: 'conversation' });
  });

  it('forwards to the provider of a model with native Responses', async () => {
    await using gateway = await openGateway();
    await send(gateway, 'POST /v1/responses/input_tokens', { body: { model: 'gpt', input: 'hello' } });
    assert.deepEqual(
      gateway.calls.map(({ request }) => [request.api, request.path]),
      [['responses/input_tokens', '/responses/input_tokens']],
    );
  });
});

function parsed(answer: Received): CompactedResponse {
  assert.equal(answer.status, 200, answer.text);
  assert.ok(isObject(answer.json));
  return compactedResponseObject.strict().parse(answer.json);
}
