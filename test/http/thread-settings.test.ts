import assert from 'node:assert/strict';
import { z } from 'zod';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { type Gateway, startGateway } from '../../src/server.ts';
import { assertRefused, type Received, send } from '../support/http-client.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import {
  type ProviderRequest,
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
  turn,
} from '../support/scripted-provider.ts';

/**
 * Input items that set tools, effort or format for everything after them (docs/api.md, "Tools and settings in the
 * input"): Codex sends all of its tools like this; AI SDK and LangChain the effort and format of answers.
 */

const tool = (name: string, more: object = {}) => ({
  type: 'function',
  name,
  description: `It is ${name}.`,
  parameters: { type: 'object', properties: {} },
  strict: false,
  ...more,
});
const additional = (...tools: object[]) => ({ type: 'additional_tools', role: 'developer', tools });
const said = (content: string) => ({ role: 'user', content });

/** Calls the tool that the messages ask for, if it is offered. */
function callsRequestedTool({ body }: ProviderRequest): Script {
  const asked = /CALL ([\w.]+)/.exec(JSON.stringify(body.messages))?.[1];
  const isAnswered = body.messages?.some(({ role }) => role === 'tool');
  const call = offered(body.tools).find((name) => name.replace('__', '.') === asked);
  if (!call || isAnswered) return turn({ text: '{"said": "Done."}', usage: null });
  return turn({ toolCalls: [{ name: call, arguments: { input: 'some text' } }] });
}

// biome-ignore lint/suspicious/noExplicitAny: whatever was sent
function offered(tools: any[] | undefined): string[] {
  return (tools ?? []).map((one) => one.function.name);
}

const items = z.object({
  // biome-ignore lint/suspicious/noExplicitAny: whatever came
  output: z.array(z.custom<any>()),
});
const counted = z.object({ input_tokens: z.int() });

describe('input items with tools and settings', () => {
  let provider: ScriptedProvider;
  let gateway: Gateway;

  before(async () => {
    provider = await startScriptedProvider({ respond: callsRequestedTool });
    const routes = [{ provider: 'only', model: 'm' }];
    const config = configSchema.parse({
      server: { port: 0 },
      store: { url: 'memory:' },
      providers: { only: { base_url: provider.url, max_retries: 0 } },
      models: {
        plain: { kind: 'proxy', apis: ['responses'], routes },
        deep: { kind: 'research', profile: 'openai', routes, research: { effort: 'low', tools: ['execute_python'] } },
      },
      keys: [{ id: 'ann', secret: 'sk-ann-secret', mcp_servers: true }],
    });
    gateway = await startGateway({ config, log: silentLogger, load: IDLE_LOAD });
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
  });

  const post = (body: object, path = '/v1/responses') =>
    send(gateway, `POST ${path}`, { body: { model: 'plain', ...body } });
  const respond = async (body: object) => {
    const answer = await post(body);
    assert.equal(answer.status, 200, answer.text);
    return answer;
  };
  const sent = () => provider.requests.at(-1)?.body ?? {};
  const outputOf = ({ json }: Received) => items.parse(json).output;

  it("offer tools in addition to the request's, in this response and those that follow it", async () => {
    const first = await respond({ tools: [tool('own')], input: [additional(tool('f'), tool('g')), said('Hi')] });
    assert.deepEqual(offered(sent().tools), ['own', 'f', 'g']);
    const second = await respond({ previous_response_id: first.json.id, input: 'And then?' });
    assert.deepEqual(offered(sent().tools), ['f', 'g']);
    const changed = additional(tool('g', { description: 'Another one.' }), tool('h'));
    const third = await respond({ previous_response_id: second.json.id, input: [changed, said('CALL h')] });
    assert.deepEqual(offered(sent().tools), ['f', 'g', 'h']);
    assert.equal(sent().tools?.[1].function.description, 'Another one.');
    assert.deepEqual(
      outputOf(third).map(({ type, name }) => [type, name]),
      [['function_call', 'h']],
    );
    // A repeated tool is offered once, even if the input is sent as a whole.
    await respond({ input: [additional(tool('f')), said('Hi'), additional(tool('f')), said('And then?')] });
    assert.deepEqual(offered(sent().tools), ['f']);
  });

  it('offer tools in a conversation, which tool_choice may name', async () => {
    const created = await post({ model: undefined, items: [additional(tool('f'))] }, '/v1/conversations');
    await respond({ conversation: created.json.id, input: 'Hi', tool_choice: { type: 'function', name: 'f' } });
    assert.deepEqual(sent().tool_choice, { type: 'function', function: { name: 'f' } });
    // New input is not required.
    await respond({ conversation: created.json.id });
    assert.deepEqual(offered(sent().tools), ['f']);
  });

  it('offer custom tools in a namespace, which are called and answered with both names', async () => {
    const tools = [
      { type: 'namespace', name: 'functions', description: '', tools: [{ type: 'custom', name: 'exec' }] },
    ];
    const first = await respond({ input: [additional(...tools), said('CALL functions.exec')] });
    const [call] = outputOf(first);
    const { type, name, namespace, input, call_id } = call;
    assert.deepEqual([type, name, namespace, input], ['custom_tool_call', 'exec', 'functions', 'some text']);
    const output = { type: 'custom_tool_call_output', call_id, output: 'It ran.' };
    const thread = [additional(...tools), said('CALL functions.exec'), call, output];
    for (const body of [{ previous_response_id: first.json.id, input: [output] }, { input: thread }]) {
      await respond(body);
      const [asked, answered] = sent().messages?.slice(-2) ?? [];
      assert.match(asked.tool_calls[0].function.name, /^functions.*exec$/);
      assert.equal(answered.content, 'It ran.');
    }
    for (const choice of [{ name: 'exec' }, { name: 'functions.exec' }, { name: 'exec', namespace: 'functions' }]) {
      const body = { tools, input: 'Hi', tool_choice: { type: 'custom', ...choice } };
      assert.deepEqual((await respond(body)).json.tool_choice, body.tool_choice);
      assert.match(Object(sent().tool_choice).function.name, /^functions.*exec$/);
    }
  });

  it('offer functions to research models, and count as input tokens', async () => {
    const input = [additional(tool('ask_desk')), said('CALL ask_desk')];
    const answer = await respond({ model: 'deep', input });
    assert.deepEqual(
      outputOf(answer).map(({ type, name }) => [type, name]),
      [['function_call', 'ask_desk']],
    );
    const first = await respond({ input: [additional(tool('late_desk')), said('Hi')] });
    const next = await respond({ model: 'deep', previous_response_id: first.json.id, input: 'CALL late_desk' });
    assert.equal(outputOf(next).at(-1).name, 'late_desk');
    assertRefused(await post({ model: 'deep', input: [additional({ type: 'custom', name: 'c' }), said('Hi')] }), {
      status: 400,
      code: 'unsupported_parameter',
      param: 'tools',
    });
    const count = async (input: object[]) =>
      counted.parse((await post({ input }, '/v1/responses/input_tokens')).json).input_tokens;
    assert.ok((await count(input)) > (await count([said('CALL ask_desk')])) + 20);
  });

  it('are counted by input_tokens just as usage reports them', async () => {
    const group = (...tools: object[]) => ({ type: 'namespace', name: 'n', description: 'Some.', tools });
    const form = { type: 'json_schema', name: 'said', schema: { type: 'object', properties: { said: {} } } };
    const opening = [additional(tool('f'), tool('g'), group(tool('a'))), said('Hi')];
    const first = await respond({ input: opening });
    const items = [{ type: 'configuration_update', text: { format: form } }, ...opening];
    const thread = await send(gateway, 'POST /v1/conversations', { body: { items } });
    for (const body of [
      { input: opening, tools: [tool('f'), tool('own'), group(tool('a'), tool('b'))] },
      { input: [additional(tool('g'), tool('h')), said('Go on')], previous_response_id: first.json.id },
      { input: 'Go on', tools: [tool('f')], instructions: 'Be brief.', previous_response_id: first.json.id },
      { input: [said('Go on')], conversation: thread.json.id },
      { input: 'Go on', text: { format: form } },
    ]) {
      const count = counted.parse((await post(body, '/v1/responses/input_tokens')).json);
      const { usage } = z.object({ usage: counted }).parse((await respond(body)).json);
      assert.deepEqual(count, usage, JSON.stringify(body));
    }
    const count = async (body: object) =>
      counted.parse((await post({ model: 'deep', ...body }, '/v1/responses/input_tokens')).json).input_tokens;
    const alone = await count({ input: 'Go on' });
    assert.ok((await count({ input: 'Go on', previous_response_id: first.json.id })) > alone + 60);
  });

  it('list ignored tool fields by position, and refuse tools that cannot be offered', async () => {
    const more = { async: true, allowed_callers: ['direct'], output_schema: {} };
    const group = { type: 'namespace', name: 'n', description: '', tools: [tool('f', more)] };
    const { headers } = await respond({
      tools: [tool('g', more)],
      input: [additional(group, { type: 'web_search' }), said('Hi')],
    });
    const names = ['async', 'allowed_callers', 'output_schema'];
    assert.deepEqual(
      headers.get('x-ignored-parameters')?.split(', ').toSorted(),
      [
        ...names.map((name) => `input[0].tools[0].tools[0].${name}`),
        'input[0].tools[1]',
        ...names.map((name) => `tools[0].${name}`),
      ].toSorted(),
    );
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' };
    const server = { type: 'mcp', server_label: 'desk', server_url: 'https://desk.example', authorization: 'secret' };
    for (const [one, param] of [
      [{ type: 'custom', name: 'c', format }, 'input[0].tools[0].format'],
      [{ ...group, tools: [{ type: 'custom', name: 'c', format }] }, 'input[0].tools[0].tools[0].format'],
      [server, 'input[0].tools[0].type'],
    ] as const) {
      const refused = await post({ input: [additional(one), said('Hi')] });
      assertRefused(refused, { status: 400, code: 'unsupported_parameter', param });
    }
  });

  it('change reasoning effort and text format until they are changed again', async () => {
    const update = (more: object) => ({ type: 'configuration_update', ...more });
    const asked = { reasoning: { effort: 'low' } };
    const first = await respond({ ...asked, input: [update({ reasoning: { effort: 'high' } }), said('Hi')] });
    assert.equal(sent().reasoning_effort, 'high');
    // The response shows the settings of the request.
    assert.deepEqual(first.json.reasoning, { effort: 'low', summary: null });
    const form = update({ text: { format: { type: 'json_object' } } });
    const second = await respond({ ...asked, previous_response_id: first.json.id, input: [form, said('Hi')] });
    assert.deepEqual([sent().reasoning_effort, sent().response_format], ['high', { type: 'json_object' }]);
    const last = [update({ reasoning: { effort: 'medium' }, text: { format: { type: 'text' } } }), said('Hi')];
    await respond({ ...asked, previous_response_id: second.json.id, input: last });
    assert.deepEqual([sent().reasoning_effort, sent().response_format], ['medium', undefined]);
    const answer = await respond({ model: 'deep', input: [form, said('Hi')] });
    assert.deepEqual(JSON.parse(`${answer.json.output_text}`), { said: 'Done.' });
    for (const model of ['deep', 'plain']) {
      const refused = { status: 400, code: 'invalid_parameter', param: 'input[0].reasoning.effort' };
      assertRefused(await post({ model, input: [update({ reasoning: { effort: 'utmost' } }), said('Hi')] }), refused);
    }
  });

  it('offer the tools that a client-side tool_search found', async () => {
    const search = { type: 'tool_search', execution: 'client', description: 'Finds tools.' };
    const first = await respond({ tools: [search], input: 'CALL tool_search' });
    assert.equal(first.headers.get('x-ignored-parameters'), null);
    assert.equal(sent().tools?.[0].function.description, 'Finds tools.');
    const [call] = outputOf(first);
    const { type, execution, arguments: args, call_id } = call;
    assert.deepEqual([type, execution, args], ['tool_search_call', 'client', { input: 'some text' }]);
    const group = { type: 'namespace', name: 'crm', description: '', tools: [tool('find', { defer_loading: true })] };
    const found = { type: 'tool_search_output', call_id, execution: 'client', tools: [group] };
    const second = await respond({ tools: [search], previous_response_id: first.json.id, input: [found] });
    assert.match(sent().messages?.at(-1).content, /crm/);
    assert.match(offered(sent().tools).join(), /^tool_search,crm.*find$/);
    await respond({ tools: [search], previous_response_id: second.json.id, input: 'Hi' });
    assert.match(offered(sent().tools).join(), /^tool_search,crm.*find$/);
    const thread = [said('CALL tool_search'), call, found, said('Go on.')];
    await respond({ tools: [search], input: thread });
    assert.match(offered(sent().tools).join(), /^tool_search,crm.*find$/);
    const refused = await post({ model: 'deep', tools: [search], input: 'Hi' });
    assertRefused(refused, { status: 400, code: 'unsupported_parameter', param: 'tools' });
  });

  it('are limited in number, in an input, a chain and a conversation', async () => {
    const some = (from: string) => Array.from({ length: 120 }, (_, n) => tool(`${from}${n}`));
    const many = (from: string) => Array.from({ length: 8 }, (_, n) => additional(...some(`${from}${n}_`)));
    const refusal = { status: 400, code: 'invalid_parameter' };
    const first = await respond({ input: [...many('a'), said('Hi')] });
    assertRefused(await post({ input: [...many('a'), ...many('b'), said('Hi')] }), { ...refusal, param: 'input' });
    const next = { previous_response_id: first.json.id, input: [...many('b'), said('Hi')] };
    for (const model of ['plain', 'deep'])
      assertRefused(await post({ ...next, model }), { ...refusal, param: 'input' });
    const { json } = await post({ model: undefined, items: many('a') }, '/v1/conversations');
    await post({ model: undefined, items: many('b') }, `/v1/conversations/${json.id}/items`);
    for (const model of ['plain', 'deep']) {
      const refused = await post({ model, conversation: json.id, input: 'Hi' });
      assertRefused(refused, { ...refusal, param: 'conversation' });
    }
    // The limit is checked before anything expensive: the unknown file is not looked up.
    const input = [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-none' }] }];
    for (const model of ['plain', 'deep']) {
      const refused = await post({ model, conversation: json.id, input }, '/v1/responses/input_tokens');
      assertRefused(refused, { ...refusal, param: 'conversation' });
    }
  });

  it('are stored without calling the model if prompt_cache_options.prewarm is set', async () => {
    const before = provider.requests.length;
    const input = [additional(tool('f')), said('A long text.')];
    const first = await respond({ input, prompt_cache_options: { prewarm: true } });
    assert.deepEqual([first.json.status, first.json.output], ['completed', []]);
    assert.equal(provider.requests.length, before);
    await respond({ previous_response_id: first.json.id, input: 'Hi' });
    assert.deepEqual(
      [sent().messages?.map(({ content }) => content), offered(sent().tools)],
      [['A long text.', 'Hi'], ['f']],
    );
  });

  it('show the model what agents and programs of other services did', async () => {
    const encrypted = (text: string) => ({ type: 'encrypted_content', encrypted_content: text });
    await respond({
      input: [
        {
          type: 'agent_message',
          author: '/root',
          recipient: '/a',
          content: [
            { type: 'input_text', text: 'Task:' },
            encrypted('Count the sheep.'),
            encrypted('gAAAAABnot_to-read=='),
          ],
        },
        { type: 'program', id: 'p', call_id: 'c', code: 'count()', fingerprint: 'f' },
        { type: 'program_output', id: 'o', call_id: 'c', result: '42', status: 'completed' },
        { type: 'computer_call', id: 'cu', call_id: 'd', action: { type: 'wait' }, status: 'completed' },
        { type: 'computer_call_output', call_id: 'd', output: { type: 'computer_screenshot', image_url: 'data:,x' } },
        said('Go on.'),
      ],
    });
    const text = JSON.stringify(sent().messages);
    assert.match(text, /Message from \/root to \/a:.*Task:.*Count the sheep\..*count\(\).*42.*wait.*Go on\./s);
    assert.doesNotMatch(text, /data:|gAAAA|encrypted/);
  });
});
