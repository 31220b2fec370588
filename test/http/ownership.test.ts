import assert from 'node:assert/strict';
import { routesOf } from '../support/app-routes.ts';
import { assertRefused, ended, type SendOptions, send, submit } from '../support/http-client.ts';
import { KEYS, openGateway, type TestGateway } from '../support/http-gateway.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';

/** The ids of ann's things, which bob must not see. */
interface Things {
  file: string;
  store: string;
  batch: string;
  response: string;
  task: string;
  message: string;
  conversation: string;
  item: string;
}

type Check = (gateway: TestGateway, things: Things) => Promise<void>;

const asBob = (target: (things: Things) => string, options: SendOptions = {}): Check => {
  return async (gateway, things) => {
    const answer = await send(gateway, target(things), { key: 'bob', ...options });
    assertRefused(answer, { status: 404, code: 'not_found' });
  };
};

const asBobWith = (request: (things: Things) => [target: string, body: object]): Check => {
  return async (gateway, things) => {
    const [target, body] = request(things);
    assertRefused(await send(gateway, target, { key: 'bob', body }), { status: 404, code: 'not_found' });
  };
};

/** Bob's list must contain nothing of ann's. */
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

/** The route takes no id and returns nothing that belongs to a user. */
const NOTHING_OWNED = 'nothing owned';

/** For every route, checks that nobody sees another user's things (promise 7). */
const OWNERSHIP: Record<string, Check[] | typeof NOTHING_OWNED> = {
  'POST /v1/responses': [
    async (gateway, { response, message, conversation }) => {
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
      const joining = await send(gateway, 'POST /v1/responses', { key: 'bob', body: { ...ask, conversation } });
      assertRefused(joining, { status: 404, code: 'not_found', param: 'conversation' });
      const ofInput = [
        { role: 'user', content: 'a' },
        { type: 'item_reference', id: message.replace(/o\d+$/, 'i0') },
      ];
      const inputItem = await send(gateway, 'POST /v1/responses', { key: 'bob', body: { ...ask, input: ofInput } });
      assertRefused(inputItem, { status: 404, code: 'not_found', param: 'input[1].id' });
    },
  ],
  'POST /v1/responses/compact': [
    async (gateway, { response, message }) => {
      const body = { model: 'deep', previous_response_id: response };
      const previous = await send(gateway, 'POST /v1/responses/compact', { key: 'bob', body });
      assertRefused(previous, { status: 404, code: 'not_found', param: 'previous_response_id' });
      const input = [
        { role: 'user', content: 'a' },
        { type: 'item_reference', id: message },
      ];
      const answer = await send(gateway, 'POST /v1/responses/compact', { key: 'bob', body: { model: 'deep', input } });
      assertRefused(answer, { status: 404, code: 'not_found', param: 'input[1].id' });
    },
  ],
  'POST /v1/responses/input_tokens': [
    async (gateway, { response, conversation }) => {
      const path = 'POST /v1/responses/input_tokens';
      for (const [field, id] of Object.entries({ previous_response_id: response, conversation })) {
        const answer = await send(gateway, path, { key: 'bob', body: { model: 'deep', [field]: id } });
        assertRefused(answer, { status: 404, code: 'not_found', param: field });
      }
    },
  ],
  'POST /v1/conversations': [
    async (gateway, { message }) => {
      const items = [{ type: 'item_reference', id: message }];
      const answer = await send(gateway, 'POST /v1/conversations', { key: 'bob', body: { items } });
      assertRefused(answer, { status: 404, code: 'not_found' });
    },
  ],
  'GET /v1/conversations/:id': [asBob(({ conversation }) => `GET /v1/conversations/${conversation}`)],
  'POST /v1/conversations/:id': [
    asBob(({ conversation }) => `POST /v1/conversations/${conversation}`, { body: { metadata: {} } }),
  ],
  'DELETE /v1/conversations/:id': [asBob(({ conversation }) => `DELETE /v1/conversations/${conversation}`)],
  'GET /v1/conversations/:id/items': [asBob(({ conversation }) => `GET /v1/conversations/${conversation}/items`)],
  'POST /v1/conversations/:id/items': [
    asBob(({ conversation }) => `POST /v1/conversations/${conversation}/items`, {
      body: { items: [{ role: 'user', content: 'of bob' }] },
    }),
  ],
  'GET /v1/conversations/:id/items/:item': [
    asBob(({ conversation, item }) => `GET /v1/conversations/${conversation}/items/${item}`),
  ],
  'DELETE /v1/conversations/:id/items/:item': [
    asBob(({ conversation, item }) => `DELETE /v1/conversations/${conversation}/items/${item}`),
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
  'GET /v1/responses/:id/timeline': [asBob(({ response }) => `GET /v1/responses/${response}/timeline`)],
  'GET /v1/responses/:id/report': [
    asBob(({ response }) => `GET /v1/responses/${response}/report`),
    asBob(({ response }) => `GET /v1/responses/${response}/report?format=html`),
  ],
  'GET /v1/responses/:id/input_items': [asBob(({ response }) => `GET /v1/responses/${response}/input_items`)],
  'POST /v1/async': [
    async (gateway, { message }) => {
      // Chat messages cannot reference items.
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
  // Its tools are tested in test/e2e/mcp-endpoint.test.ts.
  'POST /mcp': NOTHING_OWNED,
  'POST /v1/files': NOTHING_OWNED,
  'GET /v1/files': [
    async (gateway, { file }) => {
      const answer = await send(gateway, 'GET /v1/files', { key: 'bob' });
      assert.deepEqual(answer.json.data, []);
      const after = await send(gateway, `GET /v1/files?after=${file}`, { key: 'bob' });
      assertRefused(after, { status: 400, code: 'invalid_parameter', param: 'after' });
    },
  ],
  'GET /v1/files/:id': [asBob(({ file }) => `GET /v1/files/${file}`)],
  'GET /v1/files/:id/content': [asBob(({ file }) => `GET /v1/files/${file}/content`)],
  'DELETE /v1/files/:id': [asBob(({ file }) => `DELETE /v1/files/${file}`)],
  'POST /v1/vector_stores': [asBobWith(({ file }) => ['POST /v1/vector_stores', { file_ids: [file] }])],
  'GET /v1/vector_stores': [
    async (gateway, { store }) => {
      const answer = await send(gateway, 'GET /v1/vector_stores', { key: 'bob' });
      assert.deepEqual(answer.json.data, []);
      const after = await send(gateway, `GET /v1/vector_stores?after=${store}`, { key: 'bob' });
      assertRefused(after, { status: 400, code: 'invalid_parameter', param: 'after' });
    },
  ],
  'GET /v1/vector_stores/:id': [asBob(({ store }) => `GET /v1/vector_stores/${store}`)],
  'POST /v1/vector_stores/:id': [asBobWith(({ store }) => [`POST /v1/vector_stores/${store}`, { name: 'of bob' }])],
  'DELETE /v1/vector_stores/:id': [asBob(({ store }) => `DELETE /v1/vector_stores/${store}`)],
  'POST /v1/vector_stores/:id/search': [
    asBobWith(({ store }) => [`POST /v1/vector_stores/${store}/search`, { query: 'secret' }]),
  ],
  'POST /v1/vector_stores/:id/files': [
    asBobWith(({ store, file }) => [`POST /v1/vector_stores/${store}/files`, { file_id: file }]),
  ],
  'GET /v1/vector_stores/:id/files': [asBob(({ store }) => `GET /v1/vector_stores/${store}/files`)],
  'GET /v1/vector_stores/:id/files/:file': [asBob(({ store, file }) => `GET /v1/vector_stores/${store}/files/${file}`)],
  'POST /v1/vector_stores/:id/files/:file': [
    asBobWith(({ store, file }) => [`POST /v1/vector_stores/${store}/files/${file}`, { attributes: {} }]),
  ],
  'DELETE /v1/vector_stores/:id/files/:file': [
    asBob(({ store, file }) => `DELETE /v1/vector_stores/${store}/files/${file}`),
  ],
  'GET /v1/vector_stores/:id/files/:file/content': [
    asBob(({ store, file }) => `GET /v1/vector_stores/${store}/files/${file}/content`),
  ],
  'POST /v1/vector_stores/:id/file_batches': [
    asBobWith(({ store, file }) => [`POST /v1/vector_stores/${store}/file_batches`, { file_ids: [file] }]),
  ],
  'GET /v1/vector_stores/:id/file_batches/:batch': [
    asBob(({ store, batch }) => `GET /v1/vector_stores/${store}/file_batches/${batch}`),
  ],
  'POST /v1/vector_stores/:id/file_batches/:batch/cancel': [
    asBob(({ store, batch }) => `POST /v1/vector_stores/${store}/file_batches/${batch}/cancel`),
  ],
  'GET /v1/vector_stores/:id/file_batches/:batch/files': [
    asBob(({ store, batch }) => `GET /v1/vector_stores/${store}/file_batches/${batch}/files`),
  ],
  'GET /v1/webhook_deliveries': [
    asBob(({ response }) => `GET /v1/webhook_deliveries?run=${response}`),
    asBob(({ task }) => `GET /v1/webhook_deliveries?run=${task}`),
  ],
  'POST /v1/webhook_deliveries/:id/redeliver': [
    asBob(({ response }) => `POST /v1/webhook_deliveries/whd_${response}_request/redeliver`),
    asBob(({ task }) => `POST /v1/webhook_deliveries/whd_${task}_key/redeliver`),
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
  // For admins, who see all users; others get 404 (test/http/admin-keys.test.ts).
  'GET /admin/overview': NOTHING_OWNED,
  'GET /admin/usage': NOTHING_OWNED,
  'GET /admin/audit': NOTHING_OWNED,
  'GET /admin/config': NOTHING_OWNED,
  // Admins see only their own user's turns (turn-prompt.test.ts); bob, no admin, gets 404.
  'GET /admin/responses/:id/turns/:turn': [asBob(({ response }) => `GET /admin/responses/${response}/turns/1`)],
  'GET /admin/keys': NOTHING_OWNED,
  'POST /admin/keys': NOTHING_OWNED,
  'GET /admin/keys/:id': NOTHING_OWNED,
  'PATCH /admin/keys/:id': NOTHING_OWNED,
  'DELETE /admin/keys/:id': NOTHING_OWNED,
  'POST /admin/keys/:id/rotate': NOTHING_OWNED,
  'GET /admin/keys/:id/explain': NOTHING_OWNED,
  'GET /healthz': NOTHING_OWNED,
  'GET /readyz': NOTHING_OWNED,
  'GET /metrics': NOTHING_OWNED,
  'GET /openapi.json': NOTHING_OWNED,
};

function ownership(name: string, over: () => object): void {
  describe(`ownership: ${name}`, () => {
    let gateway: TestGateway;
    let things: Things;
    before(async () => {
      gateway = await openGateway({ store: over() });
      const response = await submit(gateway, 'a secret of ann');
      const { output } = await ended(gateway, response);
      const body = { model: 'deep', messages: [{ role: 'user', content: 'another secret of ann' }] };
      const task = await send(gateway, 'POST /v1/async', { body });
      const items = [{ role: 'user', content: 'a third secret of ann' }];
      const created = await send(gateway, 'POST /v1/conversations', { body: { items } });
      const conversation = String(created.json.id);
      const listed = await send(gateway, `GET /v1/conversations/${conversation}/items`);
      const item = String(listed.json.first_id);
      const form = new FormData();
      form.set('purpose', 'user_data');
      form.set('file', new Blob(['a fourth secret of ann']), 'secret.txt');
      const uploaded = await fetch(`${gateway.url}/v1/files`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEYS.ann}` },
        body: form,
      });
      const file = String(JSON.parse(await uploaded.text()).id);
      const made = await send(gateway, 'POST /v1/vector_stores', { body: {} });
      const store = String(made.json.id);
      const filled = await send(gateway, `POST /v1/vector_stores/${store}/file_batches`, {
        body: { file_ids: [file] },
      });
      const batch = String(filled.json.id);
      things = {
        store,
        batch,
        file,
        response,
        task: String(task.json.id),
        message: output.at(-1)?.id ?? '',
        conversation,
        item,
      };
    });
    after(() => gateway[Symbol.asyncDispose]());

    it('is checked for every route of the app', () => {
      assert.deepEqual(routesOf(gateway.parts).sort(), Object.keys(OWNERSHIP).sort());
    });

    for (const [route, checks] of Object.entries(OWNERSHIP)) {
      if (checks === NOTHING_OWNED) continue;
      it(`hides things of other users: ${route}`, async () => {
        for (const check of checks) await check(gateway, things);
      });
    }

    it("leaves all of ann's things intact", async () => {
      const response = await send(gateway, `GET /v1/responses/${things.response}`);
      assert.equal(response.json.status, 'completed');
      assert.equal((await send(gateway, `GET /v1/async/${things.task}`)).status, 200);
      const { text } = await send(gateway, `GET /v1/conversations/${things.conversation}/items`);
      assert.match(text, /a third secret of ann/);
      assert.doesNotMatch(text, /of bob/);
    });
  });
}

ownership('SQLite', () => ({ url: 'memory:' }));

describe('on Redis', () => {
  let redis: RedisServer;
  before(async function () {
    redis = await redisOrSkip(this);
  });
  after(() => redis?.[Symbol.asyncDispose]());
  ownership('Redis', () => ({ url: redis.url }));
});
