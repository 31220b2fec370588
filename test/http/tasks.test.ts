import assert from 'node:assert/strict';
import { chatCompletion } from '../../src/protocol/chat.ts';
import { task, taskEntry } from '../../src/protocol/tasks.ts';
import { assertRefused, type SendOptions, send } from '../support/http-client.ts';
import { openGateway, type TestGateway, until } from '../support/http-gateway.ts';

const bodyOf = (content: string, fields: object = {}) => ({
  model: 'deep',
  messages: [{ role: 'user', content }],
  ...fields,
});

describe('/v1/async', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const create = async (content: string, options: SendOptions = {}) => {
    const answer = await send(gateway, 'POST /v1/async', { body: bodyOf(content), ...options });
    assert.equal(answer.status, 201, answer.text);
    return String(answer.json.id);
  };
  const get = async (id: string) => task.strict().parse((await send(gateway, `GET /v1/async/${id}`)).json);
  const ended = (id: string) =>
    until(async () => {
      const found = await get(id);
      return found.status === 'CREATED' || found.status === 'IN_PROGRESS' ? undefined : found;
    });

  it('answers 201 with id, status CREATED, created_at and model', async () => {
    const { status, json } = await send(gateway, 'POST /v1/async', { body: bodyOf('hello') });
    assert.equal(status, 201);
    assert.match(String(json.id), /^task_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.match(String(json.created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(Object.keys(json), ['id', 'status', 'created_at', 'model']);
    assert.deepEqual([json.status, json.model], ['CREATED', 'deep']);
  });

  it('ignores stream', async () => {
    const id = await create('hello', { body: bodyOf('hello', { stream: true }) });
    assert.equal((await ended(id)).status, 'COMPLETED');
  });

  it('returns a completed task with the chat completion and its times', async () => {
    const done = await ended(await create('hello'));
    assert.equal(done.status, 'COMPLETED');
    assert.equal(chatCompletion.parse(done.result).choices[0]?.message.content, 'You said: hello');
    assert.ok(done.started_at && done.completed_at && !done.cancelled_at);
  });

  it('returns a failed task with its error and no result', async () => {
    const failed = await ended(await create('fail'));
    assert.equal(failed.status, 'FAILED');
    assert.equal(failed.error?.code, 'upstream_error');
    assert.equal(failed.result, undefined);
  });

  it("runs a proxy model's task as one call with the body unchanged", async () => {
    const raw = '{"model":"gpt","messages":[{"role":"user","content":"a"}],"seed":12345678901234567890}';
    const answer = await send(gateway, 'POST /v1/async', { raw });
    assert.equal(answer.status, 201, answer.text);
    const id = String(answer.json.id);
    assert.equal((await ended(id)).status, 'COMPLETED');
    const { text } = await send(gateway, `GET /v1/async/${id}`);
    assert.ok(text.includes(`"result":{"echo":${raw}}`), text);
    const other = `GET /v1/responses/${id.replace('task_', 'resp_')}`;
    assertRefused(await send(gateway, other), { status: 404, code: 'not_found' });
  });

  for (const [messages, code] of [
    [undefined, 'missing_parameter'],
    [null, 'missing_parameter'],
    [[], 'invalid_parameter'],
    ['hello', 'invalid_parameter'],
  ] as const) {
    it(`refuses messages: ${JSON.stringify(messages)} for both kinds of model`, async () => {
      for (const model of ['deep', 'gpt']) {
        const answer = await send(gateway, 'POST /v1/async', { body: { model, messages } });
        assertRefused(answer, { status: 400, code, param: 'messages' });
      }
    });
  }

  it('cancels a running task, and returns the same answer when repeated', async () => {
    const id = await create('wait');
    const first = await send(gateway, `POST /v1/async/${id}/cancel`);
    const cancelled = taskEntry.parse(first.json);
    assert.equal(cancelled.status, 'CANCELLED');
    assert.ok(cancelled.cancelled_at);
    assert.equal((await send(gateway, `POST /v1/async/${id}/cancel`)).text, first.text);
    assert.equal((await get(id)).status, 'CANCELLED');
  });

  it('leaves an ended task unchanged when it is cancelled', async () => {
    for (const [content, status] of [
      ['hello', 'COMPLETED'],
      ['fail', 'FAILED'],
    ] as const) {
      const id = await create(content);
      await ended(id);
      const answer = await send(gateway, `POST /v1/async/${id}/cancel`);
      assert.deepEqual([answer.status, answer.json.status], [200, status]);
    }
  });

  it('finds a response by its task_ id', async () => {
    const body = { model: 'deep', input: 'hello', stream: false };
    const response = await send(gateway, 'POST /v1/responses', { body });
    const found = await get(String(response.json.id).replace('resp_', 'task_'));
    assert.equal(found.status, 'COMPLETED');
  });

  it('deletes a task', async () => {
    const id = await create('wait');
    assert.deepEqual((await send(gateway, `DELETE /v1/async/${id}`)).json, { id, deleted: true });
    assertRefused(await send(gateway, `GET /v1/async/${id}`), { status: 404, code: 'not_found' });
  });
});

describe('GET /v1/async', () => {
  let gateway: TestGateway;
  const ids: string[] = [];
  before(async () => {
    gateway = await openGateway();
    for (let n = 0; n < 12; n++) {
      const { json } = await send(gateway, 'POST /v1/async', { body: bodyOf(n === 5 ? 'fail' : `task ${n}`) });
      ids.unshift(String(json.id));
    }
    await send(gateway, 'POST /v1/async', { key: 'bob', body: bodyOf('of somebody else') });
    await send(gateway, 'POST /v1/responses', { body: { model: 'deep', input: 'no task', stream: false } });
  });
  after(() => gateway[Symbol.asyncDispose]());

  const list = async (query: string) => {
    const { json, status } = await send(gateway, `GET /v1/async${query}`);
    assert.equal(status, 200);
    const tasks = taskEntry.strict().array().parse(json.tasks);
    return { ids: tasks.map(({ id }) => id), more: json.has_more, keys: Object.keys(json) };
  };

  it("lists the user's tasks, newest first", async () => {
    assert.deepEqual(await list(''), { ids, more: false, keys: ['tasks', 'has_more'] });
  });

  it('pages and filters by status', async () => {
    assert.deepEqual(await list('?limit=5'), { ids: ids.slice(0, 5), more: true, keys: ['tasks', 'has_more'] });
    assert.deepEqual((await list(`?limit=1000&after=${ids[4]}`)).ids, ids.slice(5));
    const failed = await until(async () => {
      const found = await list('?status=FAILED');
      return found.ids.length > 0 ? found.ids : undefined;
    });
    assert.deepEqual(failed, [ids[6]]);
  });

  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['status=completed', 'status'],
    ['after=task_00000000-0000-4000-8000-000000000000', 'after'],
  ] as const) {
    it(`refuses ${query}`, async () => {
      assertRefused(await send(gateway, `GET /v1/async?${query}`), { status: 400, code: 'invalid_parameter', param });
    });
  }
});
