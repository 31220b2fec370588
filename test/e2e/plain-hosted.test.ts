import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { ResponsesToolRunner } from 'openai/helpers/responses-tool-runner';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { startScriptedMcpServer } from '../support/scripted-mcp-server.ts';
import { type ProviderRequest, type Script, turn } from '../support/scripted-provider.ts';
import { shapes, startScriptedSearch } from '../support/scripted-search.ts';
import { PLAIN, startSdkGateway } from '../support/sdk-gateway.ts';
import { patience } from '../support/time-limit.ts';

const LOOK_UP = {
  type: 'function' as const,
  name: 'look_up',
  parameters: { type: 'object', properties: {} },
  strict: null,
};
const CALL = { id: 'call_f', name: 'look_up', arguments: '{}' };
const SEARCH = { id: 'call_s', name: 'web_search', arguments: '{"queries":["kyoto"]}' };
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };

async function openPlain(respond: (request: ProviderRequest, n: number) => Script) {
  const found = [{ url: 'https://example.org/kyoto', title: 'Kyoto', snippet: 'A city in Japan.' }];
  const search = await startScriptedSearch(() => ({ status: 200, body: shapes.searxng(found) }));
  const mcp = await startScriptedMcpServer({
    tools: { echo: { call: () => ({ content: [{ type: 'text', text: 'again' }] }) } },
  });
  const gateway = await startSdkGateway({
    respond,
    models: { plain: { ...PLAIN, tools: ['web_search', 'execute_python'] } },
    tools: {
      web_search: { provider: 'searxng', url: search.origin },
      fetch_url_content: { allow_private_addresses: true },
    },
    ann: { mcp_servers: true },
    owned: [search, mcp],
  });
  return { ...gateway, search, mcp };
}

/** A model that makes these calls turn by turn, then repeats the last result. */
function calling(...calls: { id: string; name: string; arguments: string }[][]) {
  return ({ body }: ProviderRequest, n: number): Script => {
    const toolCalls = calls[n];
    if (toolCalls) return turn({ text: n === 0 ? 'Let me see. ' : '', toolCalls, usage: USAGE });
    return turn({ text: `Found: ${body.messages?.at(-1)?.content}`, usage: USAGE });
  };
}

const typesOf = ({ output }: OpenAI.Responses.Response) => output.map(({ type }) => type);

describe('hosted tools in responses of a plain model', () => {
  it('are called in a loop until the model answers, over a chat-only provider', async () => {
    await using gateway = await openPlain(calling([SEARCH], [{ ...SEARCH, id: 'call_t' }]));
    const response = await gateway.ann.responses.create({
      model: 'plain',
      input: 'Where is Kyoto?',
      tools: [{ type: 'web_search_preview', search_context_size: 'low' }],
      tool_choice: 'required',
    });
    assert.deepEqual(typesOf(response), ['message', 'web_search_call', 'web_search_call', 'message']);
    const [intro, called, , last] = response.output;
    assert.ok(intro?.type === 'message' && intro.status === 'completed');
    assert.ok(called?.type === 'web_search_call' && called.status === 'completed');
    assert.deepEqual(called.action, {
      type: 'search',
      query: 'kyoto',
      queries: ['kyoto'],
      sources: [{ type: 'url', url: 'https://example.org/kyoto' }],
    });
    assert.ok(last?.type === 'message' && last.content[0]?.type === 'output_text');
    assert.match(last.content[0].text, /^Found: .*A city in Japan/s);
    assert.equal(response.usage?.output_tokens, 60);
    const bodies = gateway.provider.requests.map(({ body }) => body);
    assert.deepEqual(
      bodies.map(({ tool_choice }) => tool_choice),
      ['required', undefined, undefined],
    );
    assert.deepEqual(
      bodies[2]?.messages?.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'assistant', 'tool'],
    );
    // Each request starts with the one before, so the provider can cache the prefix.
    assert.deepEqual(bodies[2]?.messages?.slice(0, 3), bodies[1]?.messages);
  });

  it('are announced in reasoning if the answer is JSON, so that the SDK can parse the messages', async () => {
    const said: string[] = [];
    const model = (request: ProviderRequest, n: number) => {
      const last = request.body.messages?.at(-1);
      if (last?.role === 'user' && n < 4) {
        return turn({ reasoning: n === 2 ? 'Hm.' : '', text: said[n] ?? '', toolCalls: [n === 2 ? CALL : SEARCH] });
      }
      return turn({ text: said[n] ?? '{"city":"Kyoto"}' });
    };
    await using gateway = await openPlain(model);
    const { ann } = gateway;
    said.push(' Let me\nsee.', '{"city":"Kyoto"}');
    const format = zodTextFormat(z.object({ city: z.string() }), 'place');
    const asks = {
      model: 'plain',
      input: 'Where?',
      text: { format },
      tools: [{ type: 'web_search' as const }, LOOK_UP],
    };
    const found = await ann.responses.parse(asks);
    assert.deepEqual(typesOf(found), ['reasoning', 'web_search_call', 'message']);
    assert.deepEqual(found.output_parsed, { city: 'Kyoto' });
    const [thought] = found.output;
    assert.ok(thought?.type === 'reasoning' && thought.content?.[0]?.text === ' Let me\nsee.');
    said.push('I ask.');
    const called = await ann.responses.stream(asks).finalResponse();
    assert.deepEqual([typesOf(called), called.output_parsed], [['reasoning', 'function_call'], null]);
    const [both] = called.output;
    assert.ok(both?.type === 'reasoning' && both.content?.[0]?.text === 'Hm.\n\nI ask.');
    // A model that answers in prose all the same is shown as it is.
    gateway.provider.respond = () => turn({ text: 'I do not know. {}' });
    const prose = await ann.responses.create(asks);
    assert.equal(prose.output_text, 'I do not know. {}');
    // A long text is no note before calls.
    const long = 'I know a lot. '.repeat(1000);
    gateway.provider.respond = ({ body }) =>
      turn(body.messages?.at(-1)?.role === 'user' ? { text: long, toolCalls: [CALL] } : {});
    const told = await ann.responses.create(asks);
    assert.deepEqual([typesOf(told), told.output_text], [['message', 'function_call'], long]);
  });

  it('a call of a tool that nobody offered is refused, since no client could answer it', async () => {
    const unknown = { id: 'call_u', name: 'open_url', arguments: '{"url":"https://example.org/"}' };
    for (const tools of [[{ type: 'web_search' as const }], [LOOK_UP]]) {
      await using gateway = await openPlain(calling([unknown]));
      const response = await gateway.ann.responses.create({ model: 'plain', input: 'Where?', tools });
      assert.deepEqual([response.status, typesOf(response)], ['completed', ['message', 'message']]);
      const name = tools[0] === LOOK_UP ? 'look_up' : 'web_search';
      assert.equal(
        response.output_text,
        `Let me see. Found: There is no tool named open_url. Available tools: ${name}.`,
      );
    }
    // A model that goes on calling it is told three times; then the client has to know.
    await using stubborn = await openPlain(() => turn({ toolCalls: [unknown] }));
    const last = await stubborn.ann.responses.create({ model: 'plain', input: 'Where?', tools: [LOOK_UP] });
    assert.deepEqual(
      [last.status, typesOf(last), stubborn.provider.requests.length],
      ['completed', ['function_call'], 4],
    );
  });

  it('are not called with arguments beyond the bounds of research, which are not sent back either', async () => {
    const texts = [`{"queries":["${'x'.repeat(500_000)}"]}`, `{"queries":[${'[],'.repeat(6_000)}[]]}`];
    for (const written of texts) {
      await using gateway = await openPlain(calling([{ ...SEARCH, arguments: written }]));
      const tools = [{ type: 'web_search' as const }];
      const response = await gateway.ann.responses.create({ model: 'plain', input: 'Where?', tools });
      assert.deepEqual([response.status, typesOf(response)], ['completed', ['message', 'message']]);
      assert.match(response.output_text, /Found: .*arguments are too long/);
      assert.ok((gateway.provider.requests[1]?.bytes.length ?? 0) < 10_000);
    }
  });

  it('are streamed with OpenAI’s events, and a follow-up sees their results', async () => {
    await using gateway = await openPlain(calling([SEARCH]));
    const stream = await gateway.ann.responses.create({
      model: 'plain',
      input: 'Where?',
      tools: [{ type: 'web_search' }],
      stream: true,
    });
    const types: string[] = [];
    let id = '';
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id;
      if (event.type !== 'response.output_text.delta') types.push(event.type);
    }
    assert.deepEqual(types.slice(2), [
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.web_search_call.in_progress',
      'response.web_search_call.searching',
      'response.web_search_call.completed',
      'response.output_item.done',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    await gateway.ann.responses.create({ model: 'plain', previous_response_id: id, input: 'And?' });
    assert.deepEqual(
      gateway.provider.requests[2]?.body.messages?.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'assistant', 'user'],
    );
    assert.equal(gateway.provider.requests[2]?.body.tools, undefined);
  });

  it('run before a function call of the same turn ends the response', async () => {
    await using gateway = await openPlain(calling([{ id: 'call_f', name: 'look_up', arguments: '{}' }, SEARCH]));
    const tools: OpenAI.Responses.Tool[] = [LOOK_UP, { type: 'web_search' }];
    const first = await gateway.ann.responses.create({ model: 'plain', input: 'Where?', tools });
    assert.deepEqual(typesOf(first), ['message', 'web_search_call', 'function_call']);
    assert.equal(gateway.search.requests.length, 1);
    assert.equal(gateway.provider.requests.length, 1);
    const output = { type: 'function_call_output' as const, call_id: 'call_f', output: 'here' };
    const second = await gateway.ann.responses.create({
      model: 'plain',
      previous_response_id: first.id,
      input: [output],
      tools,
    });
    assert.equal(second.output_text, 'Found: here');
    assert.deepEqual(
      gateway.provider.requests[1]?.body.messages?.map(({ role, tool_calls, tool_call_id }) => [
        role,
        tool_calls?.[0].id ?? tool_call_id,
      ]),
      [
        ['user', undefined],
        ['assistant', 'call_s'],
        ['tool', 'call_s'],
        ['assistant', 'call_f'],
        ['tool', 'call_f'],
      ],
    );
  });

  it('are limited by max_tool_calls and max_output_tokens', async () => {
    await using gateway = await openPlain(calling([SEARCH, { ...SEARCH, id: 'call_t' }], [SEARCH]));
    const ask = { model: 'plain', input: 'Where?', tools: [{ type: 'web_search' as const }] };
    const bounded = await gateway.ann.responses.create({ ...ask, max_tool_calls: 1 });
    assert.deepEqual(typesOf(bounded), ['message', 'web_search_call', 'message']);
    assert.equal(gateway.search.requests.length, 1);
    assert.match(gateway.provider.requests[1]?.body.messages?.at(-1)?.content, /limit of 1 tool calls/);
    assert.equal(bounded.max_tool_calls, 1);

    await using other = await openPlain(calling([SEARCH]));
    const short = await other.ann.responses.create({ ...ask, max_output_tokens: 20 });
    assert.equal(short.status, 'incomplete');
    assert.deepEqual(short.incomplete_details, { reason: 'max_output_tokens' });
    assert.equal(other.provider.requests.length, 1);
  });

  it('can come from an MCP server of the request, if the key may attach one', async () => {
    await using gateway = await openPlain(calling([{ id: 'call_m', name: 'desk.echo', arguments: '{"a":1}' }]));
    const server = { type: 'mcp' as const, server_label: 'desk', server_url: gateway.mcp.url };
    const tools = [
      { ...server, headers: { authorization: 'Bearer sk-of-the-client-1' }, require_approval: 'never' as const },
    ];
    const response = await gateway.ann.responses.create({
      model: 'plain',
      input: 'Say.',
      tools,
      tool_choice: { type: 'mcp', server_label: 'desk', name: 'echo' },
    });
    assert.deepEqual(typesOf(response), ['mcp_list_tools', 'message', 'mcp_call', 'message']);
    assert.equal(response.output_text.includes('Found: again'), true);
    assert.ok(!JSON.stringify(response).includes('sk-of-the-client-1'));
    await assert.rejects(gateway.bob.responses.create({ model: 'plain', input: 'Say.', tools }), {
      status: 403,
      code: 'mcp_servers_not_allowed',
    });
  });

  it('add a warning if an MCP server cannot be reached', async () => {
    await using gateway = await openPlain(() => turn({ text: 'Yes.' }));
    const tools = [{ type: 'mcp' as const, server_label: 'gone', server_url: 'http://127.0.0.1:9/mcp' }];
    const response: object = await gateway.ann.responses.create({ model: 'plain', input: 'Hi', tools });
    assert.ok('warnings' in response && Array.isArray(response.warnings));
    assert.deepEqual(
      response.warnings.map(({ code }) => code),
      ['mcp_server_unavailable'],
    );
  });

  it('follow tool_choice, which is rejected if it names a missing tool', async () => {
    await using gateway = await openPlain(() => turn({ text: 'Yes.' }));
    const tools: OpenAI.Responses.Tool[] = [
      LOOK_UP,
      { type: 'web_search' },
      { type: 'code_interpreter', container: { type: 'auto' } },
    ];
    const ask = { model: 'plain', input: 'Hi', tools };
    const choices: OpenAI.Responses.ResponseCreateParams['tool_choice'][] = [
      { type: 'code_interpreter' },
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] },
      'none',
    ];
    for (const tool_choice of choices) {
      const response = await gateway.ann.responses.create({ ...ask, tool_choice });
      assert.deepEqual(response.tools.slice(1), tools.slice(1));
    }
    assert.deepEqual(
      gateway.provider.requests.map(({ body }) => [body.tools?.map((tool) => tool.function.name), body.tool_choice]),
      [
        [['look_up', 'web_search', 'execute_python'], { type: 'function', function: { name: 'execute_python' } }],
        [['web_search'], 'required'],
        [['look_up'], 'none'],
      ],
    );
    const refused: [Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>, RegExp][] = [
      [{ tools: [LOOK_UP], tool_choice: { type: 'web_search_preview' } }, /no web_search tool/],
      [{ tools: [{ ...LOOK_UP, name: 'web_search' }, { type: 'web_search' }] }, /another tool/],
    ];
    for (const [body, message] of refused) {
      await assert.rejects(
        gateway.ann.responses.create({ model: 'plain', input: 'Hi', ...body }),
        (error: Error & { status: number }) => error.status === 400 && message.test(error.message),
      );
    }
  });

  it('are not called with tool_choice: none, even if the model calls them', async () => {
    await using gateway = await openPlain(() => turn({ text: 'No need.', toolCalls: [SEARCH] }));
    const ask = { model: 'plain', input: 'Hi', tools: [LOOK_UP, { type: 'web_search' as const }] };
    const { output } = await gateway.ann.responses.create({ ...ask, tool_choice: 'none' });
    assert.deepEqual(
      output.map(({ type }) => type),
      ['message'],
    );
  });

  it('are not called forever', async function () {
    // A hundred turns.
    this.timeout(patience(30));
    await using gateway = await openPlain(() => turn({ toolCalls: [SEARCH] }));
    const ask = { model: 'plain', input: 'Hi', tools: [{ type: 'web_search' as const }] };
    const { status, error, output } = await gateway.ann.responses.create(ask);
    assert.deepEqual([status, error?.code, output.length], ['failed', 'upstream_error', 100]);
    assert.match(error?.message ?? '', /none may be called/);
    const before = gateway.provider.requests.length;
    const bounded = await gateway.ann.responses.create({ ...ask, max_tool_calls: 1 });
    assert.deepEqual([bounded.status, bounded.output.length], ['failed', 1]);
    const choicesSent = gateway.provider.requests.slice(before).map(({ body }) => body.tool_choice ?? 'auto');
    assert.deepEqual(choicesSent.slice(0, 5), ['auto', 'auto', 'auto', 'auto', 'none']);
    assert.ok(choicesSent.length < 12, `${choicesSent.length} turns`);
  });
});

describe('the tool runner of the official SDK, which refuses every item that is not as OpenAI has it', () => {
  it('runs functions beside searches, a program with an error and calls that it approves', async function () {
    // Python starts.
    this.timeout(patience(30));
    const calls = [
      SEARCH,
      { id: 'call_p', name: 'execute_python', arguments: '{"code":"1/0"}' },
      { id: 'call_l', name: 'look_up', arguments: '{}' },
      { id: 'call_e', name: 'wiki__echo', arguments: '{}' },
    ];
    await using gateway = await openPlain((request, n) => calling(...calls.map((call) => [call]))(request, n % 5));
    const runner = new ResponsesToolRunner({ functions: [{ tool: LOOK_UP, execute: () => 'seen' }] });
    const tools: OpenAI.Responses.Tool[] = [
      { type: 'web_search' },
      { type: 'code_interpreter', container: { type: 'auto' } },
      { type: 'mcp', server_label: 'wiki', server_url: gateway.mcp.url, require_approval: 'always' },
    ];
    for (const options of [{ stream: false }, { stream: true, eager: true }]) {
      const asked: string[] = [];
      const approveMcp = ({ name }: { name: string }) => asked.push(name) > 0;
      const request = { model: 'plain', input: 'Go.', tools, include: ['reasoning.encrypted_content' as const] };
      const response = await runner.run(gateway.ann, request, { ...options, approveMcp });
      assert.deepEqual([response.status, response.output_text, asked], ['completed', 'Found: again', ['echo']]);
    }
  });
});
