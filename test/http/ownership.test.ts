import assert from 'node:assert/strict';
import { routesOf } from '../support/app-routes.ts';
import { assertRefused, ended, type SendOptions, send, submit } from '../support/http-client.ts';
import { openGateway, type TestGateway } from '../support/http-gateway.ts';

/** What belongs to ann, and bob must not see. */
interface Things {
  response: string;
  task: string;
  message: string;
}

type Check = (gateway: TestGateway, things: Things) => Promise<void>;

const asBob = (target: (things: Things) => string, options: SendOptions = {}): Check => {
  return async (gateway, things) => {
    const answer = await send(gateway, target(things), { key: 'bob', ...options });
    assertRefused(answer, { status: 404, code: 'not_found' });
  };
};

/** A list that must hold nothing of ann's. */
const bobLists = (target: string): Check => {
  return async (gateway, { response, task }) => {
    const answer = await send(gateway, target, { key: 'bob' });
    assert.equal(answer.status, 200);
    assert.ok(!answer.text.includes(response) && !answer.text.includes(task), answer.text);
    const cursor = target.includes('async') ? task : response;
    const after = await send(gateway, `${target}?after=${cursor}`, { key: 'bob' });
    assertRefused(after, { status: 400, code: 'invalid_parameter', param: 'after' });
  };
};

/** The route takes no id and gives nothing that belongs to a user. */
const NOTHING_OWNED = 'nothing owned';

/** For every route what shows that nobody sees another user's things (promise 7). */
const OWNERSHIP: Record<string, Check[] | typeof NOTHING_OWNED> = {
  'POST /v1/responses': [
    async (gateway, { response, message }) => {
      const ask = { model: 'deep', input: 'hello' };
      const previous = await send(gateway, 'POST /v1/responses', {
        key: 'bob',
        body: { ...ask, previous_response_id: response },
      });
      assertRefused(previous, { status: 404, code: 'not_found', param: 'previous_response_id' });
      const input = [
        { role: 'user', content: 'a' },
        { type: 'item_reference', id: message },
      ];
      const reference = await send(gateway, 'POST /v1/responses', { key: 'bob', body: { ...ask, input } });
      assertRefused(reference, { status: 404, code: 'not_found', param: 'input[1].id' });
      const ofInput = [
        { role: 'user', content: 'a' },
        { type: 'item_reference', id: message.replace(/o\d+$/, 'i0') },
      ];
      const inputItem = await send(gateway, 'POST /v1/responses', { key: 'bob', body: { ...ask, input: ofInput } });
      assertRefused(inputItem, { status: 404, code: 'not_found', param: 'input[1].id' });
    },
  ],
  'GET /v1/responses': [bobLists('GET /v1/responses')],
  'GET /v1/responses/:id': [
    asBob(({ response }) => `GET /v1/responses/${response}`),
    asBob(({ response }) => `GET /v1/responses/${response}?stream=true`),
    asBob(({ response }) => `GET /v1/responses/${response}?stream=true&after=1`),
    asBob(({ task }) => `GET /v1/responses/${task.replace('task_', 'resp_')}`),
  ],
  'DELETE /v1/responses/:id': [asBob(({ response }) => `DELETE /v1/responses/${response}`)],
  'POST /v1/responses/:id/cancel': [asBob(({ response }) => `POST /v1/responses/${response}/cancel`)],
  'GET /v1/responses/:id/report': [
    asBob(({ response }) => `GET /v1/responses/${response}/report`),
    asBob(({ response }) => `GET /v1/responses/${response}/report?format=html`),
  ],
  'GET /v1/responses/:id/input_items': [asBob(({ response }) => `GET /v1/responses/${response}/input_items`)],
  'POST /v1/async': [
    async (gateway, { message }) => {
      // Chat messages refer to nothing: an item reference is no message.
      const messages = [
        { role: 'user', content: 'a' },
        { type: 'item_reference', id: message },
      ];
      const answer = await send(gateway, 'POST /v1/async', { key: 'bob', body: { model: 'deep', messages } });
      assert.equal(answer.status, 400);
    },
  ],
  'GET /v1/async': [bobLists('GET /v1/async')],
  'GET /v1/async/:id': [
    asBob(({ task }) => `GET /v1/async/${task}`),
    asBob(({ response }) => `GET /v1/async/${response.replace('resp_', 'task_')}`),
  ],
  'DELETE /v1/async/:id': [asBob(({ task }) => `DELETE /v1/async/${task}`)],
  'POST /v1/async/:id/cancel': [asBob(({ task }) => `POST /v1/async/${task}/cancel`)],
  'POST /v1/chat/completions': NOTHING_OWNED,
  'GET /v1/models': [
    async (gateway) => {
      const { text } = await send(gateway, 'GET /v1/models', { key: 'ann2' });
      assert.match(text, /"deep"/);
      assert.doesNotMatch(text, /"gpt"/);
    },
  ],
  'GET /v1/models/*id': [
    async (gateway) => {
      const answer = await send(gateway, 'GET /v1/models/gpt', { key: 'ann2' });
      assertRefused(answer, { status: 404, code: 'model_not_found' });
    },
  ],
  'ALL /v1/*rest': [
    async (gateway) => {
      const body = { model: 'gpt', input: 'a' };
      const answer = await send(gateway, 'POST /v1/embeddings', { key: 'ann2', body });
      assertRefused(answer, { status: 404, code: 'model_not_found' });
    },
  ],
  'GET /admin/overview': NOTHING_OWNED,
  'GET /healthz': NOTHING_OWNED,
  'GET /readyz': NOTHING_OWNED,
  'GET /metrics': NOTHING_OWNED,
  'GET /openapi.json': NOTHING_OWNED,
};

describe("nobody sees another user's things", () => {
  let gateway: TestGateway;
  let things: Things;
  before(async () => {
    gateway = await openGateway();
    const response = await submit(gateway, 'a secret of ann');
    const { output } = await ended(gateway, response);
    const body = { model: 'deep', messages: [{ role: 'user', content: 'another secret of ann' }] };
    const task = await send(gateway, 'POST /v1/async', { body });
    things = { response, task: String(task.json.id), message: output.at(-1)?.id ?? '' };
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('every route of the app has its ownership test here', () => {
    assert.deepEqual(routesOf(gateway.parts).sort(), Object.keys(OWNERSHIP).sort());
  });

  for (const [route, checks] of Object.entries(OWNERSHIP)) {
    if (checks === NOTHING_OWNED) continue;
    it(route, async () => {
      for (const check of checks) await check(gateway, things);
    });
  }

  it('after all of this, ann still has everything', async () => {
    const response = await send(gateway, `GET /v1/responses/${things.response}`);
    assert.equal(response.json.status, 'completed');
    assert.equal((await send(gateway, `GET /v1/async/${things.task}`)).status, 200);
  });
});
