import assert from 'node:assert/strict';
import { assertRefused, send } from '../support/http-client.ts';
import { openGateway, type TestGateway } from '../support/http-gateway.ts';

describe('a wrong base URL', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  const body = { model: 'deep', messages: [{ role: 'user', content: 'Hi' }] };
  for (const [path, hint] of [
    ['/chat/completions', /base URL end with \/v1/],
    ['/responses', /base URL end with \/v1/],
    ['/models/', /base URL end with \/v1/],
    ['/v1/v1/chat/completions', /\/v1 twice/],
    ['/v1/v1/responses', /\/v1 twice/],
    ['/elsewhere', /nothing at this address: \/elsewhere\."/],
  ] as const) {
    it(`POST ${path}: 404 with a hint`, async () => {
      const answer = await send(gateway, `POST ${path}`, { body });
      assertRefused(answer, { status: 404, code: 'not_found' });
      assert.match(answer.text, hint);
    });
  }
});
