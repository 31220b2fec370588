import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Registry } from 'prom-client';
import supertest from 'supertest';
import { createApps } from '../../src/http/app.ts';
import { modelList, modelObject } from '../../src/protocol/models.ts';
import { routesOf } from '../support/app-routes.ts';
import { assertRefused, open, send, submit } from '../support/http-client.ts';
import { httpConfig, KEYS, openGateway, type TestGateway, until } from '../support/http-gateway.ts';

describe('models, health and documentation pages', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('GET /v1/models lists the models that the key may use', async () => {
    const all = modelList.strict().parse((await send(gateway, 'GET /v1/models')).json);
    assert.deepEqual(
      all.data.map(({ id }) => id),
      ['deep', 'deep-eyes', 'deep-async', 'gpt', 'gpt-chat', 'org/model-1'],
    );
    const some = modelList.parse((await send(gateway, 'GET /v1/models', { key: 'ann2' })).json);
    assert.deepEqual(
      some.data.map(({ id }) => id),
      ['deep'],
    );
  });

  it('GET /v1/models/:id returns a model, even if its name has a slash, plain or encoded', async () => {
    for (const path of ['org/model-1', 'org%2Fmodel-1']) {
      const model = modelObject.strict().parse((await send(gateway, `GET /v1/models/${path}`)).json);
      assert.equal(model.id, 'org/model-1');
    }
    const deep = modelObject.parse((await send(gateway, 'GET /v1/models/deep')).json);
    assert.deepEqual(
      [deep.context_length, deep.max_completion_tokens, deep.supported_apis],
      [10_000, 1000, ['responses', 'async', 'chat_completions']],
    );
    assertRefused(await send(gateway, 'GET /v1/models/nope'), { status: 404, code: 'model_not_found' });
  });

  it('health, readiness, metrics and documentation need no key', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/docs/swagger-ui-bundle.js']) {
      const answer = await send(gateway, `GET ${path}`, { key: null });
      assert.equal(answer.status, 200, path);
      assert.equal((await send(gateway, `HEAD ${path}`, { key: null })).status, 200, path);
    }
  });

  it('/readyz returns 503 with reasons, /healthz stays 200', async () => {
    gateway.readiness({ ready: false, reasons: ['store: disk full'] });
    const answer = await send(gateway, 'GET /readyz', { key: null });
    assert.deepEqual([answer.status, answer.json.reasons], [503, ['store: disk full']]);
    assert.equal((await send(gateway, 'GET /healthz', { key: null })).status, 200);
    gateway.readiness({ ready: true, reasons: [] });
  });

  it('/docs finds its files and the description below the path of a proxy, too', async () => {
    for (const [path, folder] of [
      ['/docs', 'docs/'],
      ['/docs/', ''],
      ['/docs?a=/', 'docs/'],
    ] as const) {
      const { text } = await send(gateway, `GET ${path}`, { key: null });
      assert.deepEqual(
        [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map((match) => match[1]),
        ['swagger-ui.css', 'favicon-32x32.png', 'swagger-ui-bundle.js', 'start.js'].map((file) => folder + file),
        path,
      );
    }
    assert.match((await send(gateway, 'GET /docs/start.js', { key: null })).text, /'\.\.\/openapi\.json'/);
    const description = await send(gateway, 'GET /openapi.json', { key: null });
    assert.deepEqual(description.json.servers, [{ url: './' }]);
  });

  it('/docs loads nothing from other origins, serves only its files, and works over plain HTTP', async () => {
    const answer = await send(gateway, 'GET /docs', { key: null });
    const policy = answer.headers.get('content-security-policy') ?? '';
    assert.match(policy, /script-src 'self'(;|$)/);
    assert.doesNotMatch(policy, /upgrade-insecure-requests|https?:/);
    assert.equal(answer.headers.get('strict-transport-security'), null);
    assert.doesNotMatch(answer.text, /https?:\/\//);
    assert.equal((await send(gateway, 'GET /docs/package.json', { key: null })).status, 404);
    assert.equal((await send(gateway, 'GET /docs/../package.json', { key: null })).status, 404);
    assert.equal((await send(gateway, 'GET /docs/%2e%2e%2fpackage.json', { key: null })).status, 404);
  });

  it('/openapi.json describes every endpoint', async () => {
    const { json } = await send(gateway, 'GET /openapi.json', { key: null });
    const paths = Object.entries(json.paths ?? {}).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const routes = routesOf(gateway.parts)
      .filter((route) => /^\w+ \/(v1|admin)\//.test(route) && !route.startsWith('ALL '))
      .map((route) => route.replace(/[:*](\w+)/g, '{$1}'));
    assert.deepEqual(paths.sort(), routes.sort());
  });

  it("every answer has x-request-id: the client's if it is valid, else a new one", async () => {
    const idOf = async (path: string, sent?: string) => {
      const headers: Record<string, string> = sent === undefined ? {} : { 'x-request-id': sent };
      return (await send(gateway, path, { headers })).headers.get('x-request-id');
    };
    for (const path of ['GET /v1/models', 'GET /nothing', 'GET /healthz', 'PUT /v1/responses']) {
      assert.equal(await idOf(path, 'my-id_1.2:3'), 'my-id_1.2:3');
      assert.match((await idOf(path)) ?? '', /^[0-9a-f-]{36}$/);
    }
    assert.notEqual(await idOf('GET /v1/models', 'with space'), 'with space');
    assert.notEqual(await idOf('GET /v1/models', 'x'.repeat(129)), 'x'.repeat(129));
    const stream = await send(gateway, 'POST /v1/responses', {
      body: { model: 'deep', input: 'a' },
      headers: { 'x-request-id': 'of-a-stream' },
    });
    assert.equal(stream.headers.get('x-request-id'), 'of-a-stream');
  });

  it('no answer has x-powered-by or an ETag', async () => {
    for (const path of ['GET /v1/models', 'GET /nothing', 'GET /healthz']) {
      const { headers } = await send(gateway, path);
      assert.deepEqual([headers.get('x-powered-by'), headers.get('etag')], [null, null]);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
    }
  });

  it('the Bearer scheme is case-insensitive, and extra blanks are ignored', async () => {
    for (const authorization of [`bearer ${KEYS.ann}`, `BEARER  ${KEYS.ann} `]) {
      assert.equal((await send(gateway, 'GET /v1/models', { key: null, headers: { authorization } })).status, 200);
    }
    for (const authorization of [KEYS.ann, `Bearer${KEYS.ann}`, `Bearer ${KEYS.ann} x`, 'Bearer', 'Bearer ']) {
      const answer = await send(gateway, 'GET /v1/models', { key: null, headers: { authorization } });
      assertRefused(answer, { status: 401, code: 'invalid_api_key' });
    }
  });

  it('a key configured by its hash works, and a reload can remove a key', async () => {
    const secret_sha256 = createHash('sha256').update('sk-only-hashed').digest('hex');
    await using own = await openGateway({ keys: [{ id: 'hashed', secret_sha256 }] });
    const headers = { authorization: 'Bearer sk-only-hashed' };
    assert.equal((await send(own, 'GET /v1/models', { key: null, headers })).status, 200);
    const without = httpConfig();
    own.configure({ ...without, keys: without.keys.filter(({ id }) => id !== 'ann') });
    assertRefused(await send(own, 'GET /v1/models'), { status: 401, code: 'invalid_api_key' });
    assert.equal((await send(own, 'GET /v1/models', { key: 'bob' })).status, 200);
  });
});

describe('a second port', () => {
  it('serves everything, the first port only the API; both share metrics', async () => {
    await using gateway = await openGateway();
    const apps = createApps({ ...gateway.parts, registry: new Registry() });
    const api = apps.create({ operator: false });
    await supertest(api).get('/v1/models').set('authorization', `Bearer ${KEYS.ann}`).expect(200);
    await supertest(api).get('/metrics').expect(404);
    await supertest(api).get('/docs').expect(404);
    // The console on the second port is a client of the API on that same port.
    const all = apps.create({ operator: true });
    await supertest(all).get('/v1/models').set('authorization', `Bearer ${KEYS.ann}`).expect(200);
    const { text } = await supertest(all).get('/metrics').expect(200);
    assert.match(text, /route="\/v1\/models",model="",method="GET",status="200"\} 2/);
  });
});

describe('metrics and access log', () => {
  it('count requests by route pattern, with unknown models as one', async () => {
    await using gateway = await openGateway();
    for (let n = 0; n < 20; n++) {
      await send(gateway, 'POST /v1/responses', { body: { model: `invented-${n}`, input: 'a' } });
      await send(gateway, `GET /v1/responses/resp_${n}`);
      await send(gateway, `GET /v1/invented/${n}`);
      await send(gateway, `GET /invented/${n}`);
    }
    await submit(gateway, 'hello');
    const { text } = await send(gateway, 'GET /metrics', { key: null });
    assert.doesNotMatch(text, /invented|resp_/);
    assert.match(
      text,
      /gateway_http_requests_total\{route="\/v1\/responses",model="unknown",method="POST",status="404"\} 20/,
    );
    assert.match(
      text,
      /gateway_http_requests_total\{route="\/v1\/responses",model="deep",method="POST",status="200"\} 1/,
    );
    assert.match(text, /gateway_http_requests_total\{route="\/v1\/responses\/:id",.*status="404"\} 20/);
    assert.match(text, /gateway_http_refused_total\{code="model_not_found"\} 20/);
    assert.match(text, /gateway_runs_open\{state="in_progress"\} \d/);
  });

  it('count open streams and client disconnects', async () => {
    await using gateway = await openGateway();
    const metric = async (name: string) => {
      const { text } = await send(gateway, 'GET /metrics', { key: null });
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
    };
    const leave = new AbortController();
    const body = { model: 'deep', input: 'wait' };
    await open(gateway, 'POST /v1/responses', { body, signal: leave.signal });
    assert.equal(await metric('gateway_sse_streams'), 1);
    leave.abort();
    await until(async () => ((await metric('gateway_sse_streams')) === 0 ? true : undefined));
    assert.equal(await metric('gateway_http_clients_left_total'), 1);
  });

  it('log one line per request, without secrets, queries or bodies', async () => {
    await using gateway = await openGateway();
    await send(gateway, 'POST /v1/responses?api_key=sk-in-the-query', {
      body: { model: 'deep', input: 'canary in the prompt', stream: false, metadata: { note: 'canary in metadata' } },
    });
    const [ended] = gateway.lines.filter(({ msg }) => msg === 'run ended');
    await send(gateway, 'GET /v1/nothing?token=sk-in-the-query', {
      headers: { authorization: 'Bearer sk-canary-key' },
    });
    const lines = gateway.lines.filter(({ msg }) => msg === 'request');
    assert.equal(lines.length, 2);
    const [first] = lines;
    assert.deepEqual(
      [first?.method, first?.path, first?.route, first?.status, first?.key, first?.model],
      ['POST', '/v1/responses', '/v1/responses', 200, 'ann', 'deep'],
    );
    assert.ok(ended?.run !== undefined && ended.run === first?.run, 'both lines have the id of the run');
    assert.doesNotMatch(JSON.stringify(gateway.lines), /canary|sk-/);
  });

  it('log the x-forwarded-for address only behind a trusted proxy', async () => {
    const addressIn = async (trust_proxy: string[]) => {
      await using gateway = await openGateway({ server: { trust_proxy } });
      await send(gateway, 'GET /healthz', { headers: { 'x-forwarded-for': '203.0.113.7' } });
      return gateway.lines.find(({ msg }) => msg === 'request')?.ip;
    };
    assert.equal(await addressIn(['127.0.0.1']), '203.0.113.7');
    assert.equal(await addressIn([]), '127.0.0.1');
  });
});
