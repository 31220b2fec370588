import assert from 'node:assert/strict';
import { type ErrorCode, GatewayError } from '../../src/base/errors.ts';
import { errorAnswer } from '../../src/http/errors.ts';
import type { Runs } from '../../src/runs/runs.ts';
import { assertRefused, type Refusal, type SendOptions, send, submit } from '../support/http-client.ts';
import { openGateway, type TestGateway } from '../support/http-gateway.ts';

const ask = { model: 'deep', input: 'hello' };
const chat = { model: 'deep', messages: [{ role: 'user', content: 'hello' }] };

interface Row extends Refusal {
  when: string;
  target: string;
  send?: SendOptions;
  headers?: Record<string, string>;
}

/** One or more rows for every line of the table in docs/api.md, "Errors". */
const ROWS: Row[] = [
  {
    when: 'the body is not JSON',
    target: 'POST /v1/responses',
    send: { raw: '{"model":' },
    status: 400,
    code: 'invalid_json',
  },
  {
    when: 'the body is not an object',
    target: 'POST /v1/async',
    send: { raw: '[1]' },
    status: 400,
    code: 'invalid_json',
  },
  {
    when: 'the body is empty',
    target: 'POST /v1/chat/completions',
    send: { raw: '' },
    status: 400,
    code: 'invalid_json',
  },
  { when: 'there is no body', target: 'POST /v1/chat/completions', status: 400, code: 'invalid_json' },
  {
    when: 'the body is not UTF-8',
    target: 'POST /v1/responses',
    send: { raw: Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) },
    status: 400,
    code: 'invalid_json',
  },
  {
    when: 'the body is nested too deeply',
    target: 'POST /v1/responses',
    send: { raw: `{"model":"deep","input":"a","metadata":${'{"a":'.repeat(300)}1${'}'.repeat(300)}}` },
    status: 400,
    code: 'invalid_json',
  },
  {
    when: 'a field has the wrong type',
    target: 'POST /v1/responses',
    send: {
      body: { model: 'deep', input: [{ role: 'user', content: 'a' }, { role: 'user' }, { role: 7, content: '' }] },
    },
    status: 400,
    code: 'missing_parameter',
    param: 'input[1].content',
  },
  {
    when: 'a nested required field is null',
    target: 'POST /v1/responses',
    send: { body: { model: 'deep', input: [{ role: 'user', content: null }] } },
    status: 400,
    code: 'missing_parameter',
    param: 'input[0].content',
  },
  {
    when: 'the content of a chat message is null',
    target: 'POST /v1/async',
    send: { body: { model: 'deep', messages: [{ role: 'system', content: null }] } },
    status: 400,
    code: 'missing_parameter',
    param: 'messages[0].content',
  },
  {
    when: 'a nested field has a wrong value',
    target: 'POST /v1/responses',
    send: {
      body: {
        model: 'deep',
        input: [
          { role: 'user', content: 'a' },
          { role: 'robot', content: 'b' },
        ],
      },
    },
    status: 400,
    code: 'invalid_parameter',
    param: 'input[1].role',
  },
  {
    when: 'a required field is absent',
    target: 'POST /v1/responses',
    send: { body: { model: 'deep' } },
    status: 400,
    code: 'missing_parameter',
    param: 'input',
  },
  {
    when: 'background is combined with stream: true',
    target: 'POST /v1/responses',
    send: { body: { ...ask, background: true, stream: true } },
    status: 400,
    code: 'conflicting_parameters',
    param: 'background',
  },
  {
    when: 'the model does not declare the endpoint',
    target: 'POST /v1/responses',
    send: { body: { ...ask, model: 'deep-async' } },
    status: 400,
    code: 'unsupported_api',
    param: 'model',
  },
  {
    when: 'a proxy model does not declare the endpoint',
    target: 'POST /v1/responses',
    send: { body: { ...ask, model: 'gpt-chat' } },
    status: 400,
    code: 'unsupported_api',
  },
  {
    when: 'a proxy model does not declare embeddings',
    target: 'POST /v1/embeddings',
    send: { body: { model: 'gpt-chat', input: 'a' } },
    status: 400,
    code: 'unsupported_api',
  },
  {
    when: 'a research model is asked for embeddings',
    target: 'POST /v1/embeddings',
    send: { body: { model: 'deep', input: 'a' } },
    status: 400,
    code: 'unsupported_api',
  },
  {
    when: 'custom tools are given',
    target: 'POST /v1/responses',
    send: { body: { ...ask, tools: [{ type: 'custom', name: 'f' }] } },
    status: 400,
    code: 'unsupported_parameter',
    param: 'tools[0]',
  },
  {
    when: 'several choices are requested',
    target: 'POST /v1/chat/completions',
    send: { body: { ...chat, n: 2 } },
    status: 400,
    code: 'unsupported_parameter',
    param: 'n',
  },
  {
    when: 'there is no key',
    target: 'GET /v1/models',
    send: { key: null },
    status: 401,
    code: 'missing_api_key',
    type: 'authentication_error',
    headers: { 'www-authenticate': 'Bearer' },
  },
  {
    when: 'the key is unknown',
    target: 'GET /v1/models',
    send: { headers: { authorization: 'Bearer sk-nobody' } },
    status: 401,
    code: 'invalid_api_key',
    type: 'authentication_error',
    headers: { 'www-authenticate': 'Bearer' },
  },
  {
    when: 'the scheme is not Bearer',
    target: 'GET /v1/models',
    send: { headers: { authorization: 'Basic c2stYW5uLXNlY3JldA==' } },
    status: 401,
    code: 'invalid_api_key',
  },
  {
    when: 'the key may not attach MCP servers',
    target: 'POST /v1/responses',
    send: { key: 'bob', body: { ...ask, mcp_servers: [{ name: 'm', url: 'https://mcp.example/' }] } },
    status: 403,
    code: 'mcp_servers_not_allowed',
    type: 'permission_error',
  },
  {
    when: 'the key may not attach MCP servers as tools',
    target: 'POST /v1/responses',
    send: {
      key: 'bob',
      body: { ...ask, tools: [{ type: 'mcp', server_label: 'm', server_url: 'https://m.example/' }] },
    },
    status: 403,
    code: 'mcp_servers_not_allowed',
  },
  {
    when: 'there is no such model',
    target: 'POST /v1/responses',
    send: { body: { ...ask, model: 'nope' } },
    status: 404,
    code: 'model_not_found',
    param: 'model',
  },
  {
    when: 'the key may not use the model',
    target: 'POST /v1/chat/completions',
    send: { key: 'ann2', body: { ...chat, model: 'gpt' } },
    status: 404,
    code: 'model_not_found',
  },
  {
    when: 'the model has the name of an Object property',
    target: 'POST /v1/responses',
    send: { body: { ...ask, model: 'constructor' } },
    status: 404,
    code: 'model_not_found',
  },
  { when: 'the path is unknown', target: 'GET /nothing', status: 404, code: 'not_found' },
  { when: 'the path under /v1 is unknown', target: 'GET /v1/nothing', status: 404, code: 'not_found' },
  {
    when: 'the id is unknown',
    target: 'GET /v1/responses/resp_00000000-0000-4000-8000-000000000000',
    status: 404,
    code: 'not_found',
  },
  {
    when: 'the id has the prefix of another endpoint',
    target: 'GET /v1/async/resp_00000000-0000-4000-8000-000000000000',
    status: 404,
    code: 'not_found',
  },
  {
    when: 'the method is not supported',
    target: 'PUT /v1/responses',
    status: 405,
    code: 'method_not_allowed',
    headers: { allow: 'POST, GET, HEAD' },
  },
  {
    when: 'a public page gets a POST',
    target: 'POST /healthz',
    send: { key: null },
    status: 405,
    code: 'method_not_allowed',
    headers: { allow: 'GET, HEAD' },
  },
  {
    when: 'the body is over the limit',
    target: 'POST /v1/responses',
    send: { body: { ...ask, input: 'x'.repeat(20_000) } },
    status: 413,
    code: 'request_too_large',
  },
  {
    when: 'the content type is not JSON',
    target: 'POST /v1/responses',
    send: { raw: '{}', headers: { 'content-type': 'text/plain' } },
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    when: 'the body is compressed',
    target: 'POST /v1/async',
    send: { raw: '{}', headers: { 'content-encoding': 'gzip' } },
    status: 415,
    code: 'unsupported_media_type',
  },
  {
    when: 'the body is in another charset',
    target: 'POST /v1/async',
    send: { raw: '{}', headers: { 'content-type': 'application/json; charset=utf-16' } },
    status: 415,
    code: 'unsupported_media_type',
  },
];

describe('the error table of docs/api.md, "Errors"', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway({ server: { body_limit: '16kb' }, limits: { requests_per_minute: 1 } });
  });
  after(() => gateway[Symbol.asyncDispose]());

  for (const { when, target, send: options = {}, headers = {}, ...expected } of ROWS) {
    it(`${expected.status} ${expected.code}: ${when}`, async () => {
      const answer = await send(gateway, target, options);
      assertRefused(answer, expected);
      for (const [name, value] of Object.entries(headers)) assert.equal(answer.headers.get(name), value, name);
    });
  }

  it('422 idempotency_key_reused: the same key with another body', async () => {
    const headers = { 'idempotency-key': 'twice' };
    await send(gateway, 'POST /v1/async', { body: chat, headers });
    const other = await send(gateway, 'POST /v1/async', { body: { ...chat, max_tokens: 5 }, headers });
    assertRefused(other, { status: 422, code: 'idempotency_key_reused', type: 'invalid_request_error' });
  });

  it('429 rate_limit_exceeded: has retry-after in seconds and retry-after-ms', async () => {
    const options: SendOptions = { key: 'limited', body: { ...ask, background: true } };
    assert.equal((await send(gateway, 'POST /v1/responses', options)).status, 200);
    const refused = await send(gateway, 'POST /v1/responses', options);
    assertRefused(refused, { status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_error', param: null });
    const seconds = Number(refused.headers.get('retry-after'));
    const ms = Number(refused.headers.get('retry-after-ms'));
    assert.ok(seconds >= 1 && seconds <= 60 && ms > 0 && Math.ceil(ms / 1000) === seconds, `${seconds} s, ${ms} ms`);
  });

  it('401 missing_api_key: also for unknown paths and methods', async () => {
    assertRefused(await send(gateway, 'GET /v1/nothing', { key: null }), { status: 401, code: 'missing_api_key' });
    assertRefused(await send(gateway, 'PUT /v1/responses', { key: null }), { status: 401, code: 'missing_api_key' });
  });
});

describe('internal failures', () => {
  const failing = (code: ErrorCode, retryAfterMs?: number) => (runs: Runs) =>
    replaced(runs, {
      submit: async () => {
        throw new GatewayError(code, 'No.', retryAfterMs === undefined ? {} : { retryAfterMs });
      },
    });

  const TABLE: [ErrorCode, number, string, string | null][] = [
    ['overloaded', 503, '1', 'true'],
    ['store_unavailable', 503, '1', null],
    ['shutting_down', 503, '1', null],
    ['upstream_error', 502, '', null],
    ['upstream_timeout', 504, '', 'true'],
    ['internal_error', 500, '', null],
  ];
  for (const [code, status, retryAfter, shouldRetry] of TABLE) {
    it(`${status} ${code}`, async () => {
      await using gateway = await openGateway({ wrapRuns: failing(code) });
      const answer = await send(gateway, 'POST /v1/responses', { body: ask });
      assertRefused(answer, { status, code, type: 'api_error' });
      assert.equal(answer.headers.get('retry-after') ?? '', retryAfter);
      assert.equal(answer.headers.get('x-should-retry'), shouldRetry);
    });
  }

  it('500 internal_error: the cause is logged but not shown', async () => {
    const wrapRuns = (runs: Runs) =>
      replaced(runs, {
        list: async () => {
          throw new Error('SELECT secret FROM /var/lib/gateway');
        },
      });
    await using gateway = await openGateway({ wrapRuns });
    const answer = await send(gateway, 'GET /v1/responses');
    assertRefused(answer, { status: 500, code: 'internal_error' });
    assert.doesNotMatch(answer.text, /secret|SELECT/);
    assert.ok(
      gateway.lines.some((line) => JSON.stringify(line).includes('SELECT secret')),
      'the log has the cause',
    );
  });

  it('503 shutting_down: once the gateway stops, also for proxy models', async () => {
    await using gateway = await openGateway();
    gateway.stop();
    for (const [target, body] of [
      ['POST /v1/responses', ask],
      ['POST /v1/async', chat],
      ['POST /v1/chat/completions', chat],
      ['POST /v1/chat/completions', { ...chat, model: 'gpt' }],
      ['POST /v1/embeddings', { model: 'gpt', input: 'a' }],
    ] as const) {
      assertRefused(await send(gateway, target, { body }), { status: 503, code: 'shutting_down' });
    }
    assert.equal(gateway.calls.length, 0);
  });

  it('429 of every kind: x-should-retry is false if the wait exceeds a minute', () => {
    const quota = errorAnswer(new GatewayError('quota_exceeded', 'No.', { retryAfterMs: 3_600_000 }));
    assert.equal(quota.status, 429);
    assert.deepEqual(
      [quota.headers['retry-after'], quota.headers['retry-after-ms'], quota.headers['x-should-retry']],
      ['3600', '3600000', 'false'],
    );
    const rate = errorAnswer(new GatewayError('rate_limit_exceeded', 'No.', { retryAfterMs: 60_001 }));
    assert.equal(rate.headers['x-should-retry'], 'false');
    const short = errorAnswer(new GatewayError('concurrency_limit_exceeded', 'No.', { retryAfterMs: 60_000 }));
    assert.deepEqual([short.status, short.headers['x-should-retry']], [429, undefined]);
  });
});

describe('ids of other users', () => {
  it('are answered exactly like unknown ids', async () => {
    await using gateway = await openGateway();
    const id = await submit(gateway, 'hello');
    const foreign = await send(gateway, `GET /v1/responses/${id}`, { key: 'bob' });
    const unknown = await send(gateway, 'GET /v1/responses/resp_00000000-0000-4000-8000-000000000000');
    const shape = (answer: { text: string }) => answer.text.replace(/resp_[0-9a-f-]+/g, 'resp_');
    assert.equal(shape(foreign), shape(unknown));
    assert.equal(foreign.status, 404);
  });
});

/** `runs` with some of its methods replaced. */
function replaced(runs: Runs, methods: Partial<Runs>): Runs {
  return new Proxy(runs, {
    get(target, name) {
      const method: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof method === 'function' ? method.bind(target) : method;
    },
  });
}
