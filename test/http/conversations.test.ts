import assert from 'node:assert/strict';
import { isObject } from '../../src/base/json.ts';
import { conversationObject } from '../../src/protocol/conversations.ts';
import {
  assertRefused,
  ended,
  eventsIn,
  open,
  type Received,
  responseIn,
  send,
  submit,
} from '../support/http-client.ts';
import { openGateway, type TestGateway } from '../support/http-gateway.ts';

const user = (content: string) => ({ role: 'user', content });
const asked = (input: unknown) => ({ model: 'deep', stream: false, input });
const ask = (conversation: unknown, input: unknown, fields = {}) => ({
  body: { model: 'deep', stream: false, conversation, input, ...fields },
});

describe('/v1/conversations', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const create = async (items: unknown[] = [], metadata = {}) => {
    const { json } = await send(gateway, 'POST /v1/conversations', { body: { items, metadata } });
    return conversationObject.strict().parse(json).id;
  };
  /** Roles or types, and texts, in the order of the conversation. */
  const itemsOf = async (id: string) => {
    const answer = await send(gateway, `GET /v1/conversations/${id}/items?order=asc&limit=100`);
    return dataOf(answer).map((item) => `${item.role ?? item.type}: ${textOf(item)}`);
  };

  it('creates, reads, updates and deletes conversations', async () => {
    const id = await create([user('Hello'), { role: 'assistant', content: 'Hi' }], { team: 'a' });
    assert.match(id, /^conv_[0-9a-f-]{36}$/);
    const { json } = await send(gateway, `GET /v1/conversations/${id}`);
    assert.deepEqual([json.object, json.metadata], ['conversation', { team: 'a' }]);
    const changed = await send(gateway, `POST /v1/conversations/${id}`, { body: { metadata: { team: 'b' } } });
    assert.deepEqual(changed.json, { ...json, metadata: { team: 'b' } });
    assert.deepEqual((await send(gateway, `GET /v1/conversations/${id}`)).json.metadata, { team: 'b' });
    const cleared = await send(gateway, `POST /v1/conversations/${id}`, { body: { metadata: null } });
    assert.deepEqual(cleared.json, { ...json, metadata: {} });
    const removed = await send(gateway, `DELETE /v1/conversations/${id}`);
    assert.deepEqual(removed.json, { id, object: 'conversation.deleted', deleted: true });
    assertRefused(await send(gateway, `GET /v1/conversations/${id}`), { status: 404, code: 'not_found' });
    assertRefused(await send(gateway, 'POST /v1/responses', ask(id, 'Hello')), {
      status: 404,
      code: 'not_found',
      param: 'conversation',
    });
  });

  it('needs no items and no metadata', async () => {
    for (const options of [{ body: {} }, {}]) {
      const answer = await send(gateway, 'POST /v1/conversations', options);
      assert.deepEqual([answer.status, answer.json.metadata], [200, {}]);
    }
  });

  it("adds up to 20 items at a time, lists them in OpenAI's form, and deletes them", async () => {
    const id = await create();
    const items = [
      user('Hello'),
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }], id: 'msg_of_the_client' },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}', id: 'fc_1' },
      { type: 'function_call_output', call_id: 'c1', output: 'seen' },
    ];
    const added = await send(gateway, `POST /v1/conversations/${id}/items`, { body: { items } });
    const data = dataOf(added);
    assert.deepEqual([added.json.object, added.json.has_more], ['list', false]);
    assert.deepEqual(
      data.map((item) => [item.type, item.role, item.status, item.content]),
      [
        ['message', 'user', 'completed', [{ type: 'input_text', text: 'Hello' }]],
        ['message', 'assistant', 'completed', [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }]],
        ['function_call', undefined, 'completed', undefined],
        ['function_call_output', undefined, 'completed', undefined],
      ],
    );
    assert.equal(new Set(data.map((item) => item.id)).size, 4);
    const path = `/v1/conversations/${id}/items`;
    const newest = await send(gateway, `GET ${path}?limit=3`);
    assert.deepEqual(dataOf(newest), data.slice(1).toReversed());
    assert.equal(newest.json.has_more, true);
    const rest = await send(gateway, `GET ${path}?limit=3&after=${newest.json.last_id}`);
    assert.deepEqual([dataOf(rest), rest.json.has_more], [[data[0]], false]);
    assert.deepEqual((await send(gateway, `GET ${path}/${data[2]?.id}`)).json, data[2]);
    const removed = await send(gateway, `DELETE ${path}/${data[2]?.id}`);
    assert.deepEqual([removed.json.id, removed.json.object], [id, 'conversation']);
    assertRefused(await send(gateway, `GET ${path}/${data[2]?.id}`), { status: 404, code: 'not_found' });
    assertRefused(await send(gateway, `DELETE ${path}/${data[2]?.id}`), { status: 404, code: 'not_found' });
    assert.equal(dataOf(await send(gateway, `GET ${path}`)).length, 3);
  });

  it('refuses invalid items and parameters, naming the field', async () => {
    const id = await create();
    const post = (body: unknown) => send(gateway, `POST /v1/conversations/${id}/items`, { body });
    const twentyOne = Array.from({ length: 21 }, () => user('x'));
    assertRefused(await post({ items: twentyOne }), { status: 400, code: 'invalid_parameter', param: 'items' });
    assertRefused(await post({ items: [] }), { status: 400, code: 'invalid_parameter', param: 'items' });
    assertRefused(await post({}), { status: 400, code: 'missing_parameter', param: 'items' });
    assertRefused(await post({ items: [{ type: 'nonsense' }] }), {
      status: 400,
      code: 'invalid_parameter',
      param: 'items[0].type',
    });
    assertRefused(await send(gateway, `POST /v1/conversations/${id}`, { body: {} }), {
      status: 400,
      code: 'missing_parameter',
      param: 'metadata',
    });
    const after = await send(gateway, `GET /v1/conversations/${id}/items?after=nothing`);
    assertRefused(after, { status: 400, code: 'invalid_parameter', param: 'after' });
  });

  it("appends each response's input and output, which the next response reads", async () => {
    const id = await create([user('My name is Ann.')]);
    const first = responseIn(await send(gateway, 'POST /v1/responses', ask(id, 'one')));
    assert.deepEqual(first.conversation, { id });
    assert.deepEqual(await itemsOf(id), [
      'user: My name is Ann.',
      'user: one',
      'reasoning: Let me think.',
      'assistant: You said: one',
    ]);
    const streamed = await send(gateway, 'POST /v1/responses', ask({ id }, [user('two')], { stream: true }));
    assert.equal(eventsIn(streamed).at(-1)?.type, 'response.completed');
    const background = responseIn(await send(gateway, 'POST /v1/responses', ask(id, 'three', { background: true })));
    assert.equal((await ended(gateway, background.id)).status, 'completed');
    assert.equal((await itemsOf(id)).length, 10);
    const run = await gateway.runs.find({ user: 'ann', keyId: 'ann' }, 'responses', background.id);
    const { history } = JSON.parse(run.request).request;
    assert.deepEqual(
      history.map((message: { content: { text: string }[] }) => message.content[0]?.text),
      ['My name is Ann.', 'one', 'You said: one', 'two', 'You said: two'],
    );
  });

  it('keeps a copy of a referenced item, whose response may be deleted', async () => {
    const { id: earlier, output } = responseIn(await send(gateway, 'POST /v1/responses', { body: asked('Before') }));
    const reference = { id: output.at(-1)?.id };
    const answer = textOf({ ...output.at(-1) });
    const id = await create([reference, { type: 'item_reference', ...reference }]);
    responseIn(await send(gateway, 'POST /v1/responses', ask(id, [reference, user('One')])));
    await send(gateway, `DELETE /v1/responses/${earlier}`);
    responseIn(await send(gateway, 'POST /v1/responses', ask(id, 'Two')));
    const messages = (await itemsOf(id)).filter((item) => /^(user|assistant)/.test(item));
    assert.deepEqual(messages.slice(0, 4), [...Array(3).fill(`assistant: ${answer}`), 'user: One']);
  });

  it('keeps the items of a deleted response, and none of one that failed or was cancelled', async () => {
    const id = await create();
    const kept = responseIn(await send(gateway, 'POST /v1/responses', ask(id, 'kept')));
    await send(gateway, `DELETE /v1/responses/${kept.id}`);
    await send(gateway, 'POST /v1/responses', ask(id, 'fail'));
    const cancelled = await submit(gateway, 'wait', { conversation: id });
    await send(gateway, `POST /v1/responses/${cancelled}/cancel`);
    const removed = await submit(gateway, 'wait', { conversation: id });
    await send(gateway, `DELETE /v1/responses/${removed}`);
    assert.deepEqual(await itemsOf(id), ['user: kept', 'reasoning: Let me think.', 'assistant: You said: kept']);
    responseIn(await send(gateway, 'POST /v1/responses', ask(id, 'free again')));
  });

  it('lets one response at a time write to a conversation', async () => {
    const id = await create();
    const running = await submit(gateway, 'wait', { conversation: id });
    const locked = { status: 400, code: 'conversation_locked', param: 'conversation' };
    assertRefused(await send(gateway, 'POST /v1/responses', ask(id, 'too early')), locked);
    assert.equal((await itemsOf(id)).length, 0);
    await gateway.release();
    await ended(gateway, running);
    const both = await Promise.all([1, 2, 3].map((n) => send(gateway, 'POST /v1/responses', ask(id, `n ${n}`))));
    const won = both.filter(({ status }) => status === 200);
    assert.ok(won.length >= 1);
    for (const answer of both) if (answer.status !== 200) assertRefused(answer, locked);
    assert.equal((await itemsOf(id)).length, 3 + 3 * won.length);
  });

  it('refuses conversation together with previous_response_id', async () => {
    const id = await create();
    const previous = responseIn(await send(gateway, 'POST /v1/responses', ask(id, 'one')));
    const answer = await send(gateway, 'POST /v1/responses', ask(id, 'two', { previous_response_id: previous.id }));
    assertRefused(answer, { status: 400, code: 'conflicting_parameters', param: 'conversation' });
  });

  it('releases the conversation after an idempotent replay', async () => {
    const id = await create();
    const key = { 'idempotency-key': `conversation ${id}` };
    const first = await send(gateway, 'POST /v1/responses', { ...ask(id, 'once'), headers: key });
    const again = await send(gateway, 'POST /v1/responses', { ...ask(id, 'once'), headers: key });
    assert.deepEqual([again.json.id, again.headers.get('idempotent-replayed')], [first.json.id, 'true']);
    assert.equal((await itemsOf(id)).length, 3);
    responseIn(await send(gateway, 'POST /v1/responses', ask(id, 'next')));
  });

  it('releases the conversation after a replay that only the store notices', async () => {
    const id = await create();
    const headers = { 'idempotency-key': `raced ${id}` };
    const first = await send(gateway, 'POST /v1/responses', { ...ask(id, 'once'), headers });
    const { runs } = gateway.storage;
    const findKey = runs.findKey.bind(runs);
    // As if another instance had got the same request at the same time.
    Object.assign(runs, { findKey: async () => undefined });
    const again = await send(gateway, 'POST /v1/responses', { ...ask(id, 'once'), headers });
    Object.assign(runs, { findKey });
    assert.equal(again.json.id, first.json.id);
    responseIn(await send(gateway, 'POST /v1/responses', ask(id, 'next')));
  });

  it("refuses a conversation beyond the model's context length", async () => {
    const id = await create(Array.from({ length: 10 }, () => user('x'.repeat(10_000))));
    const answer = await send(gateway, 'POST /v1/responses', ask(id, 'short'));
    assertRefused(answer, { status: 400, code: 'context_length_exceeded', param: 'conversation' });
  });

  it('answers unknown ids with 404 and other methods with 405', async () => {
    const id = await create();
    assertRefused(await send(gateway, 'GET /v1/conversations/resp_1'), { status: 404, code: 'not_found' });
    assertRefused(await send(gateway, 'GET /v1/conversations'), { status: 405, code: 'method_not_allowed' });
    const deleting = await open(gateway, `DELETE /v1/conversations/${id}/items`);
    assert.deepEqual([deleting.status, deleting.headers.get('allow')], [405, 'GET, POST, HEAD']);
    await deleting.body?.cancel();
  });
});

function dataOf({ json }: Received): Record<string, unknown>[] {
  assert.ok(Array.isArray(json.data), JSON.stringify(json));
  return json.data;
}

function textOf({ content }: Record<string, unknown>): string {
  const [part]: unknown[] = Array.isArray(content) ? content : [];
  return isObject(part) ? String(part.text) : '';
}
