import assert from 'node:assert/strict';
import { send } from '../support/http-client.ts';
import { KEYS, openGateway, type TestGateway } from '../support/http-gateway.ts';

const nested = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
const mcp = (fields: object) => ({
  tools: [{ type: 'mcp', server_label: 'a', server_url: 'https://mcp.example/', ...fields }],
});
const SECRET = 'sk-secret-of-a-server';

describe('hostile values in requests', () => {
  let gateway: TestGateway;
  before(async () => {
    const routes = [{ provider: 'demo', model: 'demo' }];
    gateway = await openGateway({
      models: { made: { kind: 'proxy', apis: ['responses'], responses: 'gateway', routes } },
    });
  });
  after(() => gateway[Symbol.asyncDispose]());

  const ask = (fields: object | string) =>
    send(gateway, 'POST /v1/responses', {
      raw:
        typeof fields === 'string' ? fields : JSON.stringify({ model: 'deep', input: 'a', stream: false, ...fields }),
      headers: { 'content-type': 'application/json' },
    });
  const problem = (json: Record<string, unknown>) => {
    const { error } = json as { error?: { code?: string; param?: string | null; message?: string } };
    return { code: error?.code, param: error?.param, message: error?.message ?? '' };
  };

  it('treat prototype names like any other name, and pollute nothing', async () => {
    const polluting = '"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}';
    const { status, text } = await ask(
      `{"model":"deep","input":"a","stream":false,${polluting},"metadata":{${polluting},"toString":"x"}}`,
    );
    assert.equal(status, 200, text);
    assert.match(text, /"toString":"x"/);
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}',
    );
    assert.equal((await ask({ text: { format: { type: 'json_schema', name: 'a', schema } } })).status, 200);
    for (const [fields, param] of [
      [{ model: '__proto__' }, 'model'],
      [{ model: 'constructor' }, 'model'],
      [{ tools: [{ type: '__proto__' }] }, 'tools[0].type'],
      [{ tools: [{ type: 'constructor' }] }, 'tools[0].type'],
      [{ input: [{ role: 'constructor', content: 'a' }] }, 'input[0].role'],
      [{ input: [{ type: '__proto__' }] }, 'input[0].type'],
      [{ reasoning: { effort: 'constructor' } }, 'reasoning.effort'],
      [{ text: { format: { type: 'toString' } } }, 'text.format.type'],
      [{ tools: [{ type: { toString: 1 } }] }, 'tools[0].type'],
      [{ input: [{ type: { toString: 1 } }] }, 'input[0].type'],
      [{ input: [{ role: 'user', content: [{ type: { toString: 1 } }] }] }, 'input[0].content[0].type'],
    ] as const) {
      const { status, json } = await ask(fields);
      assert.ok(status === 400 || status === 404, JSON.stringify(json));
      assert.equal(problem(json).param, param);
    }
    assert.equal(Reflect.get({}, 'polluted'), undefined);
    assert.equal(Reflect.get([], 'polluted'), undefined);
  });

  for (const name of ['__proto__', 'constructor', 'toString']) {
    it(`keep a client's entry named ${name} or refuse it by name, wherever clients name entries`, async () => {
      const map = `{"${name}":"kept"}`;
      const post = (path: string, body: string) =>
        send(gateway, `POST ${path}`, { raw: body, headers: { 'content-type': 'application/json' } });
      const { json: store } = await post('/v1/vector_stores', '{}');
      const form = new FormData();
      form.append('purpose', 'assistants');
      form.append('file', new File(['One two three.'], 'a.txt'));
      const headers = { authorization: `Bearer ${KEYS.ann}` };
      const uploaded = await fetch(`${gateway.url}/v1/files`, { method: 'POST', body: form, headers });
      const { id: file } = (await uploaded.json()) as { id: string };
      const mcpTool = '"type":"mcp","server_label":"a","server_url":"https://mcp.example/"';
      const research = '"model":"deep","stream":false,"background":true';
      const places: [path: string, body: string, param: string, shows: boolean][] = [
        ['/v1/responses', `{${research},"input":"a","metadata":${map}}`, 'metadata', true],
        ['/v1/responses', `{"model":"made","input":"a","metadata":${map}}`, 'metadata', true],
        ['/v1/conversations', `{"metadata":${map}}`, 'metadata', true],
        ['/v1/vector_stores', `{"metadata":${map}}`, 'metadata', true],
        [`/v1/vector_stores/${store.id}/files`, `{"file_id":"${file}","attributes":${map}}`, 'attributes', true],
        [
          '/v1/responses',
          `{${research},"input":"a","tools":[{${mcpTool},"headers":${map}}]}`,
          'tools[0].headers',
          false,
        ],
        [
          '/v1/responses',
          `{${research},"input":"a","mcp_servers":[{"name":"a","url":"https://mcp.example/","headers":${map}}]}`,
          'mcp_servers[0].headers',
          false,
        ],
      ];
      for (const [path, body, param, shows] of places) {
        const { status, json, text } = await post(path, body);
        if (status === 400) assert.equal(problem(json).param, `${param}.${name}`, body);
        else assert.ok(status < 300 && (!shows || text.includes(map)), `${body}: ${status} ${text}`);
        const { id } = json;
        if (status >= 300 || path.endsWith('/files') || !shows) continue;
        assert.ok((await send(gateway, `GET ${path}/${id}`)).text.includes(map), `GET ${path}: ${body}`);
      }
      const { status, json } = await post(`/v1/vector_stores/${store.id}`, `{"metadata":${map}}`);
      assert.ok(status === 200 || problem(json).param === `metadata.${name}`, JSON.stringify(json));
    });
  }

  it('refuse numbers out of range, naming the field', async () => {
    for (const [name, value] of [
      ['max_output_tokens', '1e400'],
      ['max_output_tokens', '-0'],
      ['max_output_tokens', '1.5'],
      ['max_output_tokens', '9007199254740993'],
      ['max_tool_calls', '1e308'],
      ['temperature', '1e308'],
      ['top_p', '-1e-320'],
      ['max_cost', '1e999'],
    ] as const) {
      const { status, json } = await ask(`{"model":"deep","input":"a","${name}":${value}}`);
      assert.deepEqual([status, problem(json).param], [400, name], `${name}: ${value}`);
    }
    for (const model of ['deep', 'made']) {
      const { json } = await ask(`{"model":"${model}","input":"a","metadata":{"k":12345678901234567890}}`);
      assert.equal(problem(json).param, 'metadata.k', model);
    }
  });

  it('answer deeply nested arrays with 200 or 400 in any field', async () => {
    for (const name of ['input', 'tools', 'metadata', 'text', 'reasoning', 'mcp_servers', 'unknown', 'tool_choice']) {
      const { status, text } = await ask({ [name]: nested(250) });
      assert.ok(status === 400 || status === 200, `${name}: ${status} ${text}`);
    }
  });

  it('encode and bound values that are copied into headers and errors', async () => {
    const fields = Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`f${n}`, 1]));
    const { headers } = await ask({ ...fields, 'x\r\nset-cookie: a=b': 1, ['y'.repeat(50_000)]: 1 });
    const ignored = headers.get('x-ignored-parameters') ?? '';
    assert.ok(ignored.length > 100 && ignored.length < 8192, `${ignored.length} characters`);
    assert.equal(headers.get('set-cookie'), null);
    for (const model of ['deep\r\nx: 1', '\u001b[31m"}{"level":60', '\ud800', 'm'.repeat(100_000)]) {
      const { status, text } = await ask({ model });
      assert.equal(status, 404);
      assert.ok(text.length < 2000, `${text.length} characters`);
    }
    const { headers: named } = await send(gateway, 'GET /v1/models', { headers: { 'x-request-id': 'a"}{"b' } });
    assert.match(named.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
  });

  it('answer malformed ids with 404, and malformed queries with 400', async () => {
    for (const id of ['resp_%00', 'resp_*', 'resp_%25', '__proto__', 'resp_%2e%2e%2f', `resp_${'a'.repeat(5000)}`]) {
      for (const target of [
        `GET /v1/responses/${id}`,
        `DELETE /v1/responses/${id}`,
        `GET /v1/responses/${id}/report`,
      ]) {
        assert.equal((await send(gateway, target)).status, 404, target);
      }
      assert.equal((await send(gateway, `GET /v1/responses?after=${id}`)).status, 400, id);
    }
    for (const query of ['limit=1e1', 'limit=0x10', 'limit=-0', 'limit=1&limit=2', 'order=__proto__', 'status=%27'])
      assert.equal((await send(gateway, `GET /v1/responses?${query}`)).status, 400, query);
  });

  it('refuse MCP credentials that no header can carry, without quoting them', async () => {
    for (const [fields, param] of [
      [{ authorization: `${SECRET}\r\nx: 1` }, 'tools[0].authorization'],
      [{ authorization: `${SECRET}\u0001` }, 'tools[0].authorization'],
      [{ headers: { 'x-key': `${SECRET}\nx: 1` } }, 'tools[0].headers.x-key'],
      [{ headers: { [`${SECRET}:`]: 'x' } }, 'tools[0].headers'],
      [{ server_url: `https://user:${SECRET}@mcp.example/` }, 'tools[0].server_url'],
      [{ server_url: 'file:///etc/passwd' }, 'tools[0].server_url'],
    ] as const) {
      const { status, json } = await ask(mcp(fields));
      const { code, param: named, message } = problem(json);
      assert.deepEqual([status, code], [400, 'invalid_parameter'], message);
      assert.ok(named?.startsWith(param), `${named}`);
      assert.ok(!message.slice(message.indexOf(': ')).includes(SECRET), message);
    }
    assert.equal((await ask(mcp({ authorization: ` ${SECRET}\n`, headers: { 'X-Ok': 'ä b' } }))).status, 200);
  });

  it('cause no internal failure and log no secret', () => {
    assert.deepEqual(
      gateway.lines.filter(({ msg }) => msg === 'a request failed'),
      [],
    );
    assert.ok(!JSON.stringify(gateway.lines).includes(SECRET));
  });
});
