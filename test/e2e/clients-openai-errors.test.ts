import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { KEY, limitedKey, MODEL, narrowKey, QUESTION, spentKey } from '../support/client-gateway.ts';
import { forEachMajor, type Major, type Sdk, thrownAs } from '../support/openai-majors.ts';
import { refusedUrl } from '../support/scripted-provider.ts';

const RESEARCH = { model: MODEL.research, input: QUESTION };

interface Refusal {
  what: string;
  /** The class that the SDK throws. */
  type: keyof Sdk & `${string}Error`;
  /** Fields of the thrown error. */
  fields: { status: number; code: string; type: string; param?: string };
  call(client: OpenAI, major: Major): Promise<unknown>;
}

const functionTool = { type: 'function' as const, name: 'weather', parameters: {}, strict: false };
const mcpTool = { type: 'mcp' as const, server_label: 'docs', server_url: 'https://mcp.example/mcp' };
const invalid = { status: 400, type: 'invalid_request_error' };
const unknown = { status: 404, type: 'invalid_request_error' };

const REFUSALS: Refusal[] = [
  {
    what: 'a wrong key',
    type: 'AuthenticationError',
    fields: { status: 401, code: 'invalid_api_key', type: 'authentication_error' },
    call: (_, major) => major.client({ apiKey: 'sk-wrong' }).models.list(),
  },
  {
    what: 'no key',
    type: 'AuthenticationError',
    fields: { status: 401, code: 'missing_api_key', type: 'authentication_error' },
    call: (client) => client.models.list({ headers: { Authorization: null } }),
  },
  {
    what: 'a value out of range',
    type: 'BadRequestError',
    fields: { ...invalid, code: 'invalid_parameter', param: 'temperature' },
    call: (client) => client.responses.create({ ...RESEARCH, temperature: 3 }),
  },
  {
    what: 'a missing field',
    type: 'BadRequestError',
    fields: { ...invalid, code: 'missing_parameter', param: 'input' },
    call: (client) => client.responses.create({ model: MODEL.research }),
  },
  {
    what: 'an invalid request with stream: true',
    type: 'BadRequestError',
    fields: { ...invalid, code: 'invalid_parameter', param: 'input' },
    call: (client) => client.responses.create({ ...RESEARCH, input: '', stream: true }),
  },
  {
    what: 'a function with the name of a tool that the gateway runs',
    type: 'BadRequestError',
    fields: { ...invalid, code: 'invalid_parameter', param: 'tools' },
    call: (client) => client.responses.create({ ...RESEARCH, tools: [{ ...functionTool, name: 'web_search' }] }),
  },
  {
    what: 'background together with stream',
    type: 'BadRequestError',
    fields: { ...invalid, code: 'conflicting_parameters', param: 'background' },
    call: (client) => client.responses.create({ ...RESEARCH, background: true, stream: true }),
  },
  {
    what: 'a model that does not support this API',
    type: 'BadRequestError',
    fields: { ...invalid, code: 'unsupported_api', param: 'model' },
    call: (client) => client.responses.create({ ...RESEARCH, model: MODEL.asyncOnly }),
  },
  {
    what: 'MCP servers from a key that may not attach them',
    type: 'PermissionDeniedError',
    fields: { status: 403, code: 'mcp_servers_not_allowed', type: 'permission_error' },
    call: (client) => client.responses.create({ ...RESEARCH, tools: [mcpTool] }),
  },
  {
    what: 'an unknown model',
    type: 'NotFoundError',
    fields: { ...unknown, code: 'model_not_found' },
    call: (client) =>
      client.chat.completions.create({ model: 'gpt-none', messages: [{ role: 'user', content: 'Hi' }] }),
  },
  {
    what: 'an unknown response',
    type: 'NotFoundError',
    fields: { ...unknown, code: 'not_found' },
    call: (client) => client.responses.retrieve('resp_00000000-0000-4000-8000-000000000000'),
  },
  {
    what: 'the stream of an unknown response',
    type: 'NotFoundError',
    fields: { ...unknown, code: 'not_found' },
    call: (client) => client.responses.retrieve('resp_00000000-0000-4000-8000-000000000000', { stream: true }),
  },
  {
    what: 'an endpoint that does not exist',
    type: 'NotFoundError',
    fields: { ...unknown, code: 'not_found' },
    call: (client) => client.batches.list(),
  },
  {
    what: 'a body that is too large',
    type: 'APIError',
    fields: { status: 413, code: 'request_too_large', type: 'invalid_request_error' },
    call: (client) => client.responses.create({ ...RESEARCH, input: 'x'.repeat(100_000) }),
  },
  {
    what: 'an Idempotency-Key with another body',
    type: 'UnprocessableEntityError',
    fields: { status: 422, code: 'idempotency_key_reused', type: 'invalid_request_error' },
    async call(client, { name }) {
      const headers = { 'Idempotency-Key': `reused-${name}` };
      await client.responses.create(RESEARCH, { headers });
      await client.responses.create({ ...RESEARCH, input: 'Something else.' }, { headers });
    },
  },
  {
    what: 'a request over the rate limit',
    type: 'RateLimitError',
    fields: { status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_error' },
    async call(_, major) {
      const client = major.client({ apiKey: limitedKey(major.name) });
      await client.responses.create(RESEARCH);
      await client.responses.create(RESEARCH);
    },
  },
  {
    what: 'a chat completion whose provider fails',
    type: 'InternalServerError',
    fields: { status: 502, code: 'upstream_error', type: 'api_error' },
    call: (client) =>
      client.chat.completions.create({ model: MODEL.broken, messages: [{ role: 'user', content: QUESTION }] }),
  },
];

/** Attempts that a client makes: `fetch` for its options. `after` may change what the client gets to see of one. */
function recordAttempts(after: (response: Response, attempt: number) => unknown = () => undefined) {
  const attempts: { retry: string | null; status: number }[] = [];
  return {
    attempts,
    async fetch(...[url, init]: Parameters<typeof fetch>): Promise<Response> {
      const response = await fetch(url, init);
      attempts.push({ retry: new Headers(init?.headers).get('x-stainless-retry-count'), status: response.status });
      await after(response, attempts.length);
      return response;
    },
  };
}

forEachMajor('the official SDK: errors', (major) => {
  for (const { what, type, fields, call } of REFUSALS) {
    it(`${what}: ${type}`, async () => {
      await assert.rejects(call(major.client(), major), thrownAs(major.sdk[type], fields));
    });
  }

  it('an unreachable gateway: APIConnectionError', async () => {
    const client = major.client({ baseURL: await refusedUrl() });
    await assert.rejects(client.models.list(), major.sdk.APIConnectionError);
  });

  it('a call that exceeds its timeout: APIConnectionTimeoutError, and the call to the provider is aborted', async () => {
    const messages = [{ role: 'user' as const, content: QUESTION }];
    const call = major.client().chat.completions.create({ model: MODEL.slow, messages }, { timeout: 100 });
    await assert.rejects(call, major.sdk.APIConnectionTimeoutError);
    await major.gateway.provider.waitForActive(0);
  });
});

forEachMajor('the official SDK: retries', (major) => {
  it('a retry after a lost response gets the same run', async () => {
    const { attempts, fetch } = recordAttempts((_, attempt) => {
      if (attempt === 1) throw new TypeError('the connection was lost');
    });
    const body = { ...RESEARCH, metadata: { lost: major.name } };
    const response = await major.client({ fetch, maxRetries: 1 }).responses.create(body);
    assert.deepEqual(attempts, [
      { retry: '0', status: 200 },
      { retry: '1', status: 200 },
    ]);
    const listed = await major.client().get<{ data: OpenAI.Responses.Response[] }>('/responses');
    assert.deepEqual(
      listed.data.filter(({ metadata }) => metadata?.lost === major.name).map(({ id }) => id),
      [response.id],
    );
  });

  it('the same Idempotency-Key gets the same run', async () => {
    const options = { headers: { 'Idempotency-Key': `same-${major.name}` } };
    const first = await major.client().responses.create(RESEARCH, options);
    const { data, response } = await major.client().responses.create(RESEARCH, options).withResponse();
    assert.equal(data.id, first.id);
    assert.equal(response.headers.get('idempotent-replayed'), 'true');
  });

  it('a failed provider is retried', async () => {
    const { attempts, fetch } = recordAttempts();
    const messages = [{ role: 'user' as const, content: QUESTION }];
    const client = major.client({ fetch, maxRetries: 1 });
    await assert.rejects(client.chat.completions.create({ model: MODEL.broken, messages }));
    assert.deepEqual(attempts, [
      { retry: '0', status: 502 },
      { retry: '1', status: 502 },
    ]);
  });

  it('a spent quota is not retried', async () => {
    const { attempts, fetch } = recordAttempts();
    const client = major.client({ fetch, maxRetries: 2, apiKey: spentKey(major.name) });
    await client.responses.create(RESEARCH);
    await assert.rejects(client.responses.create(RESEARCH), { status: 429, code: 'quota_exceeded' });
    assert.deepEqual(
      attempts.map(({ status }) => status),
      [200, 429],
    );
  });

  // It takes the two seconds that Retry-After names; the majors between do the same.
  const waits = major.number === 4 || major.number === 7 ? it : undefined;
  waits?.('a key at its limit of concurrent runs waits as Retry-After says, and then gets its place', async () => {
    const { attempts, fetch } = recordAttempts(async (response) => {
      if (response.status !== 429) return;
      assert.ok(Number(response.headers.get('retry-after-ms')) > 0);
      await other.responses.cancel(running.id);
    });
    const other = major.client({ apiKey: narrowKey(major.name) });
    const running = await other.responses.create({ ...RESEARCH, model: MODEL.slow, background: true });
    const client = major.client({ fetch, maxRetries: 1, apiKey: narrowKey(major.name) });
    const response = await client.responses.create(RESEARCH);
    assert.equal(response.status, 'completed');
    assert.deepEqual(
      attempts.map(({ status }) => status),
      [429, 200],
    );
  });

  it('a key with mcp_servers may attach MCP servers', async () => {
    const client = major.client({ apiKey: KEY.mcp });
    const response = await client.responses.create({ ...RESEARCH, tools: [mcpTool, { type: 'web_search_preview' }] });
    assert.equal(response.status, 'completed');
  });
});
