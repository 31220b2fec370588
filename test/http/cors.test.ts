import assert from 'node:assert/strict';
import { open, send } from '../support/http-client.ts';
import { openGateway, type TestGateway } from '../support/http-gateway.ts';

const PAGE = 'https://chat.example';
const preflight = (origin: string) => ({
  key: null,
  headers: {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, content-type, x-stainless-os, idempotency-key',
  },
});

describe('CORS', () => {
  it('is off by default: no CORS headers, and a preflight needs a key', async () => {
    await using gateway = await openGateway();
    const asked = await send(gateway, 'OPTIONS /v1/responses', preflight(PAGE));
    assert.equal(asked.status, 401);
    const answer = await send(gateway, 'GET /v1/models', { headers: { origin: PAGE } });
    for (const { headers } of [asked, answer]) {
      assert.equal(headers.get('access-control-allow-origin'), null);
      assert.equal(headers.get('vary'), null);
    }
  });

  describe('with server.cors_origins', () => {
    let gateway: TestGateway;
    before(async () => {
      gateway = await openGateway({ server: { cors_origins: [PAGE] } });
    });
    after(() => gateway[Symbol.asyncDispose]());

    it('answers a preflight without a key', async () => {
      const { status, headers, text } = await send(gateway, 'OPTIONS /v1/responses/resp_1', preflight(PAGE));
      assert.deepEqual([status, text], [204, '']);
      assert.equal(headers.get('access-control-allow-origin'), PAGE);
      assert.equal(headers.get('vary'), 'Origin');
      assert.equal(headers.get('access-control-allow-methods'), 'GET, HEAD, POST, PUT, PATCH, DELETE');
      assert.match(headers.get('access-control-allow-headers') ?? '', /authorization.*x-stainless-os, idempotency-key/);
    });

    it("lets the page read answers, errors and streams, with the gateway's headers", async () => {
      const from = { headers: { origin: PAGE } };
      const body = { model: 'deep', input: 'hello' };
      for (const answer of [
        await send(gateway, 'GET /v1/models', from),
        await send(gateway, 'GET /v1/models', { ...from, key: null }),
        await send(gateway, 'GET /nowhere', from),
        await send(gateway, 'POST /v1/responses', { ...from, body }),
      ]) {
        assert.equal(answer.headers.get('access-control-allow-origin'), PAGE);
        const exposed = answer.headers.get('access-control-expose-headers')?.split(', ') ?? [];
        for (const name of [
          'x-request-id',
          'x-ratelimit-remaining-requests',
          'openai-poll-after-ms',
          'x-ignored-parameters',
        ])
          assert.ok(exposed.includes(name), name);
      }
    });

    it('gives other origins no access, and sets vary: Origin', async () => {
      const asked = await send(gateway, 'OPTIONS /v1/responses', preflight('https://other.example'));
      assert.equal(asked.status, 401);
      const plain = await send(gateway, 'GET /v1/models');
      for (const { headers } of [asked, plain]) {
        assert.equal(headers.get('access-control-allow-origin'), null);
        assert.equal(headers.get('vary'), 'Origin');
      }
    });
  });

  it('compares origins as browsers write them', async () => {
    const names = ['HTTPS://App.Example:443', 'tauri://LocalHost', 'http://bücher.example'];
    await using gateway = await openGateway({ server: { cors_origins: names } });
    for (const origin of ['https://app.example', 'tauri://localhost', 'http://xn--bcher-kva.example']) {
      const answer = await open(gateway, 'GET /v1/models', { headers: { origin } });
      assert.equal(answer.headers.get('access-control-allow-origin'), origin);
    }
  });

  it('"*" allows every origin', async () => {
    await using gateway = await openGateway({ server: { cors_origins: ['*'] } });
    const answer = await open(gateway, 'GET /v1/models', { headers: { origin: 'null' } });
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    assert.equal((await send(gateway, 'OPTIONS /v1/models', preflight(PAGE))).status, 204);
  });
});
