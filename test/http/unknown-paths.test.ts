import assert from 'node:assert/strict';
import { assertRefused, send } from '../support/http-client.ts';
import { openGateway, type TestGateway } from '../support/http-gateway.ts';

const SOME = '00000000-0000-4000-8000-000000000000';

describe('a path below a known resource', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  for (const target of [
    'POST /v1/responses/compaction',
    'POST /v1/async/batch',
    'POST /v1/models/no-such-model',
    'POST /v1/chat/completions/validate',
    `POST /v1/responses/resp_${SOME}/compact`,
    `POST /v1/async/task_${SOME}/result`,
  ]) {
    it(`${target}: 404, naming the path`, async () => {
      for (const body of [{ model: 'deep', input: 'hello' }, {}, { model: 'no such model' }]) {
        const answer = await send(gateway, target, { body });
        assertRefused(answer, { status: 404, code: 'not_found' });
        assert.ok(answer.text.includes(String(target.split(' ')[1])), answer.text);
        assert.equal(answer.headers.get('allow'), null);
      }
    });
  }

  for (const [target, allow] of [
    [`POST /v1/responses/resp_${SOME}`, 'GET, DELETE, HEAD'],
    [`PUT /v1/async/task_${SOME}`, 'GET, DELETE, HEAD'],
    ['POST /v1/models/deep', 'GET, HEAD'],
    ['PUT /v1/responses/compact', 'POST'],
    ['GET /v1/responses/input_tokens', 'POST'],
    ['DELETE /v1/models', 'GET, HEAD'],
    [`GET /v1/responses/resp_${SOME}/cancel`, 'POST'],
  ] as const) {
    it(`${target}: 405 with an allow header`, async () => {
      const answer = await send(gateway, target, target.startsWith('GET') ? {} : { body: { model: 'deep' } });
      assertRefused(answer, { status: 405, code: 'method_not_allowed' });
      assert.equal(answer.headers.get('allow'), allow);
    });
  }

  it('POST /v1/responses/compact: forwarded if the model declares the Responses API', async () => {
    gateway.calls.length = 0;
    const answer = await send(gateway, 'POST /v1/responses/compact', { body: { model: 'gpt', input: 'hello' } });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      gateway.calls.map(({ request }) => [request.api, request.path]),
      [['responses/compact', '/responses/compact']],
    );
  });

  it('an id with a wrong prefix: 404, naming the right prefix', async () => {
    for (const [target, prefix] of [
      ['GET /v1/responses/nope', 'resp_'],
      [`GET /v1/responses/task_${SOME}`, 'resp_'],
      ['GET /v1/async/nope', 'task_'],
    ] as const) {
      const answer = await send(gateway, target);
      assertRefused(answer, { status: 404, code: 'not_found' });
      assert.ok(answer.text.includes(`begin with ${prefix}`), answer.text);
    }
  });
});
