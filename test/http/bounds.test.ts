import assert from 'node:assert/strict';
import { assertRefused, send } from '../support/http-client.ts';
import { openGateway, type TestGateway } from '../support/http-gateway.ts';

type Case = [fields: object, param: string, code?: string];

const INVALID = 'invalid_parameter';
const UNSUPPORTED = 'unsupported_parameter';
const MISSING = 'missing_parameter';
const server = (fields: object) => [{ name: 'm', url: 'https://mcp.example/', ...fields }];
const mcpTool = (fields: object) => [{ type: 'mcp', server_label: 'm', server_url: 'https://m.example/', ...fields }];
const say = (content: unknown) => [{ role: 'user', content }];
const KIB8 = 'x'.repeat(8192);
const KIB16 = 16_384 - '{"a":""}'.length;

/**
 * Bounds that Responses, Async and chat completions share (docs/api.md, "POST /v1/responses" and "Chat completions").
 */
const SHARED: { good: object[]; bad: Case[] } = {
  good: [
    { temperature: 0 },
    { temperature: 2 },
    { top_p: 0 },
    { top_p: 1 },
    { max_tool_calls: 1 },
    { metadata: {} },
    { metadata: { a: 'x'.repeat(KIB16) } },
    { tool_choice: 'auto' },
    { tool_choice: 'none' },
    { tools: [] },
    { mcp_servers: [] },
    { mcp_servers: server({ headers: { 'x-a': KIB8 } }) },
    { mcp_servers: server({ headers: { 'x-a': 'b' }, access_token: 't', allowed_tools: ['a'] }) },
    { mcp_servers: server({ oauth: { client_id: 'a', client_secret: 'b' } }) },
    { temperature: null, top_p: null, metadata: null, tools: null, mcp_servers: null, tool_choice: null },
    { stream: false },
  ],
  bad: [
    [{ temperature: -0.1 }, 'temperature'],
    [{ temperature: 2.1 }, 'temperature'],
    [{ temperature: '1' }, 'temperature'],
    [{ top_p: -0.1 }, 'top_p'],
    [{ top_p: 1.1 }, 'top_p'],
    [{ max_tool_calls: 0 }, 'max_tool_calls'],
    [{ max_tool_calls: 1.5 }, 'max_tool_calls'],
    [{ metadata: 'a' }, 'metadata'],
    [{ metadata: ['a'] }, 'metadata'],
    [{ metadata: { a: 'x'.repeat(KIB16 + 1) } }, 'metadata'],
    [{ stream: 'yes' }, 'stream'],
    [{ stream: 1 }, 'stream'],
    [{ tool_choice: 'required' }, 'tool_choice', UNSUPPORTED],
    [{ tool_choice: { type: 'function', name: 'f' } }, 'tool_choice', UNSUPPORTED],
    [{ tools: 'web_search' }, 'tools'],
    [{ tools: [{ type: 'mcp', server_label: 'm' }] }, 'tools[0].server_url', MISSING],
    [{ tools: mcpTool({ server_url: 'ftp://m.example/' }) }, 'tools[0].server_url'],
    [{ tools: [{ type: 'mcp', server_label: 'm', connector_id: 'c' }] }, 'tools[0].connector_id', UNSUPPORTED],
    [{ tools: [{ type: 'mcp', server_label: 'm', tunnel_id: 't' }] }, 'tools[0].tunnel_id', UNSUPPORTED],
    [{ tools: Array.from({ length: 65 }, () => ({ type: 'web_search' })) }, 'tools'],
    [{ mcp_servers: {} }, 'mcp_servers'],
    [{ mcp_servers: [{ url: 'https://mcp.example/' }] }, 'mcp_servers[0].name', MISSING],
    [{ mcp_servers: [{ name: 'm' }] }, 'mcp_servers[0].url', MISSING],
    [{ mcp_servers: server({ name: 'a b' }) }, 'mcp_servers[0].name'],
    [{ mcp_servers: server({ name: 'x'.repeat(65) }) }, 'mcp_servers[0].name'],
    [{ mcp_servers: server({ url: 'file:///etc/passwd' }) }, 'mcp_servers[0].url'],
    [{ mcp_servers: server({ headers: { a: 1 } }) }, 'mcp_servers[0].headers.a'],
    [{ mcp_servers: server({ headers: { a: `${KIB8}x` } }) }, 'mcp_servers[0].headers.a'],
    [{ mcp_servers: server({ headers: { a: KIB8, b: 'x' } }) }, 'mcp_servers[0].headers'],
    [{ mcp_servers: server({ access_token: `${KIB8}x` }) }, 'mcp_servers[0].access_token'],
    [
      { mcp_servers: server({ oauth: { client_id: 'a', client_secret: `${KIB8}x` } }) },
      'mcp_servers[0].oauth.client_secret',
    ],
    [{ mcp_servers: server({ url: `https://mcp.example/?key=${'x'.repeat(8192)}` }) }, 'mcp_servers[0].url'],
    [{ mcp_servers: [...server({}), ...server({})] }, 'mcp_servers[1]'],
    [{ mcp_servers: Array.from({ length: 33 }, (_, n) => server({ name: `m${n}` })[0]) }, 'mcp_servers'],
  ],
};

const RESPONSES: typeof SHARED = {
  good: [
    { max_output_tokens: 1 },
    { max_output_tokens: 1000 },
    { background: false },
    { instructions: '' },
    ...['none', 'minimal', 'low', 'medium', 'high', 'xhigh'].map((effort) => ({ reasoning: { effort } })),
    { reasoning: {} },
    { reasoning: { effort: null, summary: 'auto' } },
    { text: { format: { type: 'text' } } },
    { text: { format: { type: 'json_object' } } },
    { text: { format: { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: true } } },
    { tools: [{ type: 'web_search' }, { type: 'web_search_preview' }, { type: 'web_search_preview_2025_03_11' }] },
    { tools: mcpTool({}) },
    { tools: mcpTool({ require_approval: null }) },
    { tools: mcpTool({ authorization: 't', allowed_tools: { tool_names: ['a'] }, require_approval: 'never' }) },
    { input: say([{ type: 'text', text: 'a' }]) },
    { input: say(parts(1000)) },
    { input: say('a'.repeat(80_000)) },
    { input: [{ type: null, role: 'user', content: 'a' }] },
    { prompt: null, conversation: null },
  ],
  bad: [
    [{ model: undefined }, 'model', MISSING],
    [{ model: null }, 'model', MISSING],
    [{ model: '' }, 'model'],
    [{ model: 7 }, 'model'],
    [{ input: undefined }, 'input', MISSING],
    [{ input: null }, 'input', MISSING],
    [{ input: '' }, 'input'],
    [{ input: [] }, 'input'],
    [{ input: 7 }, 'input'],
    [{ input: {} }, 'input'],
    [{ input: ['a'] }, 'input[0]'],
    [{ input: [{ role: 'assistant', content: 'a' }] }, 'input'],
    [{ input: say('  ') }, 'input'],
    [{ input: say([]) }, 'input'],
    [{ input: [{ role: 'user' }] }, 'input[0].content', MISSING],
    [{ input: [{ content: 'a' }] }, 'input[0].role', MISSING],
    [{ input: [{ role: 'robot', content: 'a' }] }, 'input[0].role'],
    [{ input: [{ type: 'video', role: 'user', content: 'a' }] }, 'input[0].type'],
    [{ input: say([{ type: 'input_image', image_url: 'http://a.example/a.png' }]) }, 'input[0].content[0].image_url'],
    [{ input: say([{ type: 'input_image', image_url: 'file:///etc/passwd' }]) }, 'input[0].content[0].image_url'],
    [{ input: say([{ type: 'input_image', image_url: 'data:' }]) }, 'input[0].content[0].image_url'],
    [{ input: say([{ type: 'input_audio' }]) }, 'input[0].content[0].input_audio', MISSING],
    [{ input: say([{ text: 'a' }]) }, 'input[0].content[0].type', MISSING],
    [{ input: say([{ type: 'input_text' }]) }, 'input[0].content[0].text', MISSING],
    [{ input: say([{ type: 'input_text', text: 7 }]) }, 'input[0].content[0].text'],
    [{ input: [...say('a'), { type: 'item_reference' }] }, 'input[1].id', MISSING],
    [{ input: [...say('a'), { type: 'function_call', arguments: '{}' }] }, 'input[1].name', MISSING],
    [{ input: [...say('a'), { type: 'telepathy_call' }] }, 'input[1].type'],
    [{ input: [...say('a'), { type: 'mcp_call', name: 7 }] }, 'input[1].name'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }, 'input'],
    [{ input: Array.from({ length: 10_001 }, () => say('a')[0]) }, 'input'],
    [{ input: say(parts(1001)) }, 'input[0].content'],
    [{ input: Array.from({ length: 11 }, () => say(parts(910))[0]) }, 'input'],
    [{ input: say('a'.repeat(80_001)) }, 'input', 'context_length_exceeded'],
    [{ instructions: 'a'.repeat(80_001) }, 'input', 'context_length_exceeded'],
    [{ max_output_tokens: 0 }, 'max_output_tokens'],
    [{ max_output_tokens: -1 }, 'max_output_tokens'],
    [{ max_output_tokens: 1.5 }, 'max_output_tokens'],
    [{ max_output_tokens: '100' }, 'max_output_tokens'],
    [{ max_output_tokens: 1001 }, 'max_output_tokens'],
    [{ background: 'yes' }, 'background'],
    [{ instructions: 7 }, 'instructions'],
    [{ previous_response_id: '' }, 'previous_response_id'],
    [{ previous_response_id: 7 }, 'previous_response_id'],
    [{ reasoning: 'high' }, 'reasoning'],
    [{ reasoning: { effort: 'extreme' } }, 'reasoning.effort'],
    [{ text: { format: { type: 'xml' } } }, 'text.format.type'],
    [{ text: { format: { type: 'json_schema' } } }, 'text.format.schema', MISSING],
    [{ text: { format: { type: 'json_schema', schema: 'a' } } }, 'text.format.schema'],
    [{ tools: [{}] }, 'tools[0].type', MISSING],
    [{ tools: [{ type: 'computer' }] }, 'tools[0].type'],
    [{ tools: [{ type: 'custom', name: 'c' }] }, 'tools[0]', UNSUPPORTED],
    [{ prompt: { id: 'p' } }, 'prompt', UNSUPPORTED],
    [{ prompt: { id: 'p' }, input: undefined }, 'prompt', UNSUPPORTED],
  ],
};

const CHAT: typeof SHARED = {
  good: [
    { max_tokens: 1000 },
    { max_completion_tokens: 1000 },
    { n: 1 },
    { functions: [] },
    { reasoning_effort: 'minimal' },
    { reasoning: { effort: 'high', summary: 'auto', exclude: false } },
    { reasoning: { effort: null } },
    { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } },
    { messages: [{ role: 'developer', content: 'b' }, ...say([{ type: 'text', text: 'a' }])] },
    { messages: [...say('a'), { role: 'assistant', content: 'b' }, ...say('c')] },
    { messages: say('a'), tools: [{ type: 'function', function: { name: 'f' } }] },
    { messages: say('a'), tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'none' },
    { messages: say('a'), functions: [{ name: 'f' }], function_call: 'none' },
  ],
  bad: [
    [{ messages: undefined }, 'messages', MISSING],
    [{ messages: null }, 'messages', MISSING],
    [{ messages: [] }, 'messages'],
    [{ messages: 'a' }, 'messages'],
    [{ messages: [{ role: 'system', content: 'a' }] }, 'messages'],
    [{ messages: [{ role: 'tool', tool_call_id: 'c', content: 'a' }] }, 'messages'],
    [{ messages: [{ role: 'robot', content: 'a' }] }, 'messages[0].role'],
    [{ messages: say([{ type: 'image_url', image_url: { url: 'https://a.example/' } }]) }, 'messages'],
    [
      {
        messages: say([
          { type: 'text', text: 'a' },
          { type: 'image_url', image_url: { url: 'https://a.example/' } },
        ]),
      },
      'messages[0].content[1]',
      UNSUPPORTED,
    ],
    [
      { messages: [...say('a'), { role: 'assistant', content: '', tool_calls: [{ id: 'c' }] }] },
      'messages[1].tool_calls[0].function',
      MISSING,
    ],
    [{ messages: say(parts(1001)) }, 'messages[0].content'],
    [{ messages: say('a'.repeat(80_001)) }, 'messages', 'context_length_exceeded'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ max_tokens: 1001 }, 'max_tokens'],
    [{ max_completion_tokens: 0 }, 'max_completion_tokens'],
    [{ max_completion_tokens: 1001 }, 'max_completion_tokens'],
    [{ n: 2 }, 'n', UNSUPPORTED],
    [{ n: 0 }, 'n'],
    [{ n: 'one' }, 'n'],
    [{ tools: [{ type: 'function', function: { name: 'a b' } }] }, 'tools[0].function.name'],
    [{ tools: [{}] }, 'tools[0].function', MISSING],
    [{ functions: [{ name: 'f' }] }, 'functions', UNSUPPORTED],
    [{ function_call: 'auto' }, 'function_call', UNSUPPORTED],
    [{ audio: { voice: 'a' } }, 'audio', UNSUPPORTED],
    [{ reasoning_effort: 'extreme' }, 'reasoning_effort'],
    [{ reasoning: { effort: 'extreme' } }, 'reasoning.effort'],
    [{ response_format: { type: 'xml' } }, 'response_format.type'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema', MISSING],
  ],
};

const ENDPOINTS = [
  { target: 'POST /v1/responses', base: { model: 'deep', input: 'hello', background: true }, own: RESPONSES, ok: 200 },
  { target: 'POST /v1/async', base: { model: 'deep', messages: say('hello') }, own: CHAT, ok: 201 },
  { target: 'POST /v1/chat/completions', base: { model: 'deep', messages: say('hello') }, own: CHAT, ok: 200 },
];

describe('field bounds', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway();
  });
  after(() => gateway[Symbol.asyncDispose]());

  for (const { target, base, own, ok } of ENDPOINTS) {
    describe(target, () => {
      for (const fields of [...SHARED.good, ...own.good]) {
        it(`takes ${show(fields)}`, async () => {
          const answer = await send(gateway, target, { body: { ...base, ...fields } });
          assert.equal(answer.status, ok, answer.text);
        });
      }
      for (const [fields, param, code = INVALID] of [...SHARED.bad, ...own.bad]) {
        it(`refuses ${show(fields)}`, async () => {
          const answer = await send(gateway, target, { body: { ...base, ...fields } });
          assertRefused(answer, { status: 400, code, param });
          assert.ok(Buffer.byteLength(answer.text) < 1000, 'the message repeats no input');
        });
      }
    });
  }

  for (const [what, value] of [
    ['values', '1,'.repeat(1_000_001)],
    ['objects and lists', '{},'.repeat(100_001)],
    ['members of objects', `{${'"a":1,'.repeat(200_001)}"b":2},`],
  ] as const) {
    it(`refuses a body with too many ${what} before parsing it, on every endpoint`, async () => {
      for (const [target, model] of [
        ['POST /v1/responses', 'deep'],
        ['POST /v1/chat/completions', 'gpt'],
        ['POST /v1/embeddings', 'gpt'],
      ] as const) {
        const answer = await send(gateway, target, { raw: `{"model":"${model}","input":[${value}1]}` });
        assertRefused(answer, { status: 400, code: 'invalid_json' });
        assert.match(answer.text, new RegExp(`more than \\d+ ${what}`));
      }
    });
  }

  it('refuses a body of more than 1 000 fields', async () => {
    const raw = (count: number) =>
      `{"model":"gpt","input":"a"${Array.from({ length: count - 2 }, (_, at) => `,"f${at}":1`).join('')}}`;
    const over = await send(gateway, 'POST /v1/embeddings', { raw: raw(1001) });
    assertRefused(over, { status: 400, code: 'invalid_json' });
    assert.equal((await send(gateway, 'POST /v1/embeddings', { raw: raw(1000) })).status, 200);
  });

  it('takes a body of exactly server.body_limit, and not one byte more', async () => {
    await using small = await openGateway({ server: { body_limit: 2000 } });
    const body = (length: number) => {
      const frame = JSON.stringify({ model: 'deep', input: '', background: true });
      return frame.replace('"input":""', `"input":"${'x'.repeat(length - frame.length)}"`);
    };
    assert.equal((await send(small, 'POST /v1/responses', { raw: body(2000) })).status, 200);
    const over = await send(small, 'POST /v1/responses', { raw: body(2001) });
    assertRefused(over, { status: 413, code: 'request_too_large' });
  });
});

function parts(count: number): object[] {
  return Array.from({ length: count }, () => ({ type: 'text', text: 'a' }));
}

function show(fields: object): string {
  return JSON.stringify(fields, (_key, value) => (value === undefined ? 'absent' : value)).slice(0, 90);
}
