import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { responseObject } from '../../src/protocol/response.ts';
import { startGateway } from '../../src/server.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import { startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

/**
 * `docs/responses-api.md`: the outcome of every parameter, tool and input item of the Responses API in the types of the
 * official SDK. `WRITE_TABLES=1` rewrites the tables.
 */

const PAGE = new URL('../../docs/responses-api.md', import.meta.url);
const TYPES = readFileSync(
  new URL('../../node_modules/openai/resources/responses/responses.d.ts', import.meta.url),
  'utf8',
);
const KEY = 'sk-table-0123456789abcdef';

type Body = Record<string, unknown>;
/** Objects that requests refer to. */
interface Given {
  /** The id of a vector store. */
  store: string;
  response: string;
  /** The id of an output item of `response`. */
  item: string;
  /** An item that `POST /v1/responses/compact` returned. */
  compaction: Body;
  conversation: string;
}

const PARAMETERS: Record<string, (given: Given) => Body> = {
  access_programs: () => ({ access_programs: ['a'] }),
  background: () => ({ background: true }),
  background_options: () => ({ background: true, background_options: { completion_window: '2h' } }),
  context_management: () => ({ context_management: [{ type: 'compaction', compact_threshold: 50_000 }] }),
  conversation: ({ conversation }) => ({ conversation }),
  image: () => ({ image: { detail: 'auto' } }),
  include: () => ({ include: ['reasoning.encrypted_content'] }),
  input: () => ({ input: [{ role: 'user', content: 'Hello' }] }),
  instructions: () => ({ instructions: 'Be short.' }),
  max_output_tokens: () => ({ max_output_tokens: 500 }),
  max_tool_calls: () => ({ max_tool_calls: 3 }),
  metadata: () => ({ metadata: { a: 'b' } }),
  model: () => ({}),
  moderation: () => ({ moderation: { model: 'm' } }),
  parallel_tool_calls: () => ({ parallel_tool_calls: false }),
  previous_response_id: ({ response }) => ({ previous_response_id: response }),
  prompt: () => ({ prompt: { id: 'pmpt_1' } }),
  prompt_cache_key: () => ({ prompt_cache_key: 'a' }),
  prompt_cache_options: () => ({ prompt_cache_options: { ttl: '1h' } }),
  prompt_cache_retention: () => ({ prompt_cache_retention: '24h' }),
  reasoning: () => ({ reasoning: { effort: 'low', summary: 'auto' } }),
  safety_identifier: () => ({ safety_identifier: 'a' }),
  service_tier: () => ({ service_tier: 'flex' }),
  store: () => ({ store: false }),
  stream: () => ({ stream: true }),
  stream_options: () => ({ stream: true, stream_options: { include_obfuscation: false } }),
  temperature: () => ({ temperature: 0.2 }),
  text: () => ({ text: { format: { type: 'json_object' } } }),
  tool_choice: () => ({ tool_choice: 'auto' }),
  tools: () => ({ tools: [{ type: 'web_search' }] }),
  top_logprobs: () => ({ top_logprobs: 2 }),
  top_p: () => ({ top_p: 0.5 }),
  truncation: () => ({ truncation: 'auto' }),
  user: () => ({ user: 'a' }),
};

const FUNCTION = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false };
const TOOLS: Record<string, Body> = {
  FunctionTool: FUNCTION,
  FileSearchTool: { type: 'file_search', vector_store_ids: ['vs_1'] },
  ComputerTool: { type: 'computer' },
  ComputerUsePreviewTool: { type: 'computer_use_preview', display_height: 1, display_width: 1, environment: 'linux' },
  WebSearchTool: { type: 'web_search' },
  'Tool.Mcp': { type: 'mcp', server_label: 'desk', server_url: 'https://desk.example/mcp', require_approval: 'never' },
  'Tool.CodeInterpreter': { type: 'code_interpreter', container: { type: 'auto' } },
  'Tool.ProgrammaticToolCalling': { type: 'programmatic_tool_calling' },
  'Tool.ImageGeneration': { type: 'image_generation' },
  'Tool.LocalShell': { type: 'local_shell' },
  FunctionShellTool: { type: 'shell' },
  CustomTool: { type: 'custom', name: 'c' },
  NamespaceTool: { type: 'namespace', name: 'n', description: '', tools: [FUNCTION] },
  ToolSearchTool: { type: 'tool_search' },
  WebSearchPreviewTool: { type: 'web_search_preview' },
  ApplyPatchTool: { type: 'apply_patch' },
};

const call = { call_id: 'call_1', name: 'f', arguments: '{}', status: 'completed' };
const ASKED = { type: 'mcp_approval_request', id: 'm', server_label: 'desk', name: 'a', arguments: '{}' };
const ANSWERED = { type: 'mcp_approval_response', approval_request_id: 'm' };
const ITEMS: Record<string, (given: Given) => Body[]> = {
  EasyInputMessage: () => [{ role: 'user', content: 'a' }],
  'ResponseInputItem.Message': () => [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }], status: 'completed' },
  ],
  ResponseOutputMessage: () => [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'a', annotations: [] }],
    },
  ],
  ResponseFileSearchToolCall: () => [{ type: 'file_search_call', id: 'fs_1', queries: ['a'], status: 'completed' }],
  ResponseComputerToolCall: () => [
    { type: 'computer_call', id: 'cu_1', call_id: 'c', action: { type: 'wait' }, pending_safety_checks: [] },
  ],
  'ResponseInputItem.ComputerCallOutput': () => [
    {
      type: 'computer_call_output',
      call_id: 'c',
      output: { type: 'computer_screenshot', image_url: 'https://a.example/b' },
    },
  ],
  ResponseFunctionWebSearch: () => [
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'a' } },
  ],
  ResponseFunctionToolCall: () => [
    { type: 'function_call', ...call },
    { type: 'function_call_output', call_id: 'call_1', output: 'b' },
  ],
  'ResponseInputItem.FunctionCallOutput': () => [{ type: 'function_call_output', call_id: 'call_1', output: 'b' }],
  'ResponseInputItem.ToolSearchCall': () => [{ type: 'tool_search_call', arguments: {} }],
  ResponseToolSearchOutputItemParam: () => [{ type: 'tool_search_output', tools: [] }],
  'ResponseInputItem.AdditionalTools': () => [{ type: 'additional_tools', role: 'developer', tools: [FUNCTION] }],
  ResponseConfigurationUpdateItemParam: () => [{ type: 'configuration_update', reasoning: { effort: 'high' } }],
  ResponseReasoningItem: () => [{ type: 'reasoning', id: 'rs_1', summary: [] }],
  ResponseCompactionItemParam: ({ compaction }) => [compaction],
  'ResponseInputItem.ImageGenerationCall': () => [
    { type: 'image_generation_call', id: 'ig_1', result: null, status: 'completed' },
  ],
  ResponseCodeInterpreterToolCall: () => [
    { type: 'code_interpreter_call', id: 'ci_1', code: '1', container_id: 'c', outputs: [], status: 'completed' },
  ],
  'ResponseInputItem.LocalShellCall': () => [
    {
      type: 'local_shell_call',
      id: 'l',
      call_id: 'c',
      action: { type: 'exec', command: ['ls'], env: {} },
      status: 'completed',
    },
    { type: 'local_shell_call_output', id: 'l', output: 'b' },
  ],
  'ResponseInputItem.LocalShellCallOutput': () => [{ type: 'local_shell_call_output', id: 'c', output: 'b' }],
  'ResponseInputItem.ShellCall': () => [
    { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } },
    { type: 'shell_call_output', call_id: 'c', output: [] },
  ],
  'ResponseInputItem.ShellCallOutput': () => [{ type: 'shell_call_output', call_id: 'c', output: [] }],
  'ResponseInputItem.ApplyPatchCall': () => [
    { type: 'apply_patch_call', call_id: 'c', status: 'completed', operation: { type: 'delete_file', path: 'a' } },
    { type: 'apply_patch_call_output', call_id: 'c', status: 'completed' },
  ],
  'ResponseInputItem.ApplyPatchCallOutput': () => [
    { type: 'apply_patch_call_output', call_id: 'c', status: 'completed', output: 'b' },
  ],
  'ResponseInputItem.McpListTools': () => [{ type: 'mcp_list_tools', id: 'm', server_label: 'desk', tools: [] }],
  'ResponseInputItem.McpApprovalRequest': () => [ASKED, { ...ANSWERED, approve: false }],
  // The table names the first item; the two belong together.
  'ResponseInputItem.McpApprovalResponse': () => [{ ...ANSWERED, approve: false }, ASKED],
  'ResponseInputItem.McpCall': () => [
    { type: 'mcp_call', id: 'm', server_label: 'desk', name: 'a', arguments: '{}', output: 'b' },
  ],
  ResponseCustomToolCallOutput: () => [{ type: 'custom_tool_call_output', call_id: 'c', output: 'b' }],
  ResponseCustomToolCall: () => [
    { type: 'custom_tool_call', call_id: 'c', name: 'a', input: 'b' },
    { type: 'custom_tool_call_output', call_id: 'c', output: 'b' },
  ],
  'ResponseInputItem.CompactionTrigger': () => [{ type: 'compaction_trigger' }],
  'ResponseInputItem.ItemReference': ({ item }) => [{ type: 'item_reference', id: item }],
  'ResponseInputItem.Program': () => [{ type: 'program', id: 'p', call_id: 'c', code: 'a', fingerprint: 'f' }],
  'ResponseInputItem.ProgramOutput': () => [
    { type: 'program_output', id: 'p', call_id: 'c', result: 'b', status: 'completed' },
  ],
};

/** The request parameters that the SDK lists. */
function parametersOfSdk(): string[] {
  const [, body = ''] = /export interface ResponseCreateParamsBase \{([\s\S]*?)\n\}/.exec(TYPES) ?? [];
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name = '']) => name);
}
/** The fields that every response has, by the SDK's types. */
function fieldsOfSdk(): string[] {
  const [, body = ''] = /export interface Response \{([\s\S]*?)\n\}/.exec(TYPES) ?? [];
  return [...body.matchAll(/^ {4}(\w+):/gm)].map(([, name = '']) => name);
}
function unionOfSdk(name: string): string[] {
  const [, members = ''] = new RegExp(`export type ${name} = ([^;]+);`).exec(TYPES) ?? [];
  return members.split(' | ');
}

/** Makes file_search name an existing vector store. */
function withStore(tool: Body | undefined, store: string): Body | undefined {
  return tool?.type === 'file_search' ? { ...tool, vector_store_ids: [store] } : tool;
}

const MODELS = ['plain', 'deep'] as const;

async function openGateway() {
  const stack = new AsyncDisposableStack();
  const provider = stack.use(await startScriptedProvider({ respond: () => turn({ text: '{"said": "Hello."}' }) }));
  const routes = [{ provider: 'only', model: 'm' }];
  const config = configSchema.parse({
    server: { port: 0 },
    store: { url: 'memory:' },
    providers: { only: { base_url: provider.url } },
    models: {
      plain: { kind: 'proxy', apis: ['responses'], routes, tools: ['web_search', 'execute_python'] },
      deep: { kind: 'research', profile: 'openai', routes, research: { tools: ['web_search', 'execute_python'] } },
    },
    tools: { web_search: { provider: 'searxng', url: 'http://127.0.0.1:9' } },
    keys: [{ id: 'ann', secret: KEY, mcp_servers: true }],
  });
  const gateway = stack.use(await startGateway({ config, log: silentLogger, load: IDLE_LOAD }));
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const post = (path: string, body: object) =>
    fetch(gateway.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const made = async <S extends z.ZodType>(schema: S, path: string, body: object) =>
    schema.parse(await (await post(path, body)).json());
  const withOutput = z.object({ id: z.string(), output: z.array(z.looseObject({ type: z.string(), id: z.string() })) });
  const given = async (model: string): Promise<Given> => {
    const response = await made(withOutput, '/v1/responses', { model, input: 'Hello' });
    const compacted = await made(
      z.object({ output: z.array(z.looseObject({ type: z.string() })) }),
      '/v1/responses/compact',
      { model, input: 'Hello' },
    );
    return {
      store: (await made(z.object({ id: z.string() }), '/v1/vector_stores', {})).id,
      response: response.id,
      item: response.output.findLast(({ type }) => type === 'message')?.id ?? '',
      compaction: compacted.output.find(({ type }) => type === 'compaction') ?? {},
      conversation: (await made(z.object({ id: z.string() }), '/v1/conversations', {})).id,
    };
  };
  /** The outcome of a request. `places` matches the part in question in `x-ignored-parameters`. */
  const outcome = async (body: object, places: RegExp): Promise<string> => {
    const answer = await post('/v1/responses', body);
    const text = await answer.text();
    if (!answer.ok) {
      const { error } = z.object({ error: z.object({ code: z.string().nullable() }) }).parse(JSON.parse(text));
      return `refused: \`${error.code}\``;
    }
    return places.test(answer.headers.get('x-ignored-parameters') ?? '') ? 'ignored' : 'works';
  };
  return { given, outcome, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function rowsOf(
  names: readonly string[],
  bodyOf: (name: string, given: Given) => Body,
  placeOf: (name: string) => RegExp,
) {
  await using gateway = await openGateway();
  const given = { plain: await gateway.given('plain'), deep: await gateway.given('deep') };
  const rows: string[] = [];
  for (const name of names) {
    const cells: string[] = [];
    for (const model of MODELS) {
      const body = { model, input: 'Say it as JSON.', ...bodyOf(name, given[model]) };
      cells.push(await gateway.outcome(body, placeOf(name)));
    }
    rows.push(`| ${[shown(name), ...cells].join(' | ')} |`);
  }
  return rows;
}

function shown(name: string): string {
  const tool = TOOLS[name];
  const item = ITEMS[name]?.({
    store: '',
    response: '',
    item: '',
    compaction: { type: 'compaction' },
    conversation: '',
  })[0];
  const type = tool?.type ?? (item && `${item.type ?? 'message'}${item.role ? ` (${item.role})` : ''}`);
  return `\`${type ?? name}\``;
}

/** Compares a table of the page with the outcomes, or writes it. */
function compareTable(heading: string, rows: readonly string[]): void {
  const page = readFileSync(PAGE, 'utf8');
  const head = ['| | plain model | research model |', '| --- | --- | --- |'];
  const table = [...head, ...new Set(rows)].join('\n');
  const place = new RegExp(`(## ${heading}\\n\\n)(?:\\|[^\\n]*\\n)*\\n?`);
  const written = page.replace(place, (_, title: string) => `${title}${table}\n\n`);
  if (process.env.WRITE_TABLES === '1') writeFileSync(PAGE, written);
  else assert.equal(page, written, 'WRITE_TABLES=1 writes the tables anew');
}

it('the response object has every field that the SDK requires', () => {
  const missing = fieldsOfSdk().filter((name) => !(name in responseObject.shape));
  assert.ok(fieldsOfSdk().length > 10);
  assert.deepEqual(missing, []);
});

describe('the tables of docs/responses-api.md', function () {
  // Each cell takes at least one request.
  this.timeout(patience(30));

  it('match the outcome of every parameter', async () => {
    assert.deepEqual(Object.keys(PARAMETERS).toSorted(), parametersOfSdk().toSorted());
    const rows = await rowsOf(
      Object.keys(PARAMETERS),
      (name, given) => PARAMETERS[name]?.(given) ?? {},
      (name) => new RegExp(`(?:^|, )${name}\\b`),
    );
    compareTable('Parameters', rows);
  });

  it('match the outcome of every tool', async () => {
    assert.deepEqual(Object.keys(TOOLS).toSorted(), unionOfSdk('Tool').toSorted());
    const rows = await rowsOf(
      Object.keys(TOOLS),
      (name, { store }) => ({ tools: [withStore(TOOLS[name], store)] }),
      () => /tools\[0\](?!\.)/,
    );
    compareTable('Tools', rows);
  });

  it('match the outcome of every input item', async () => {
    assert.deepEqual(Object.keys(ITEMS).toSorted(), unionOfSdk('ResponseInputItem').toSorted());
    const rows = await rowsOf(
      Object.keys(ITEMS),
      (name, given) => ({ input: [{ role: 'user', content: 'Say it as JSON.' }, ...(ITEMS[name]?.(given) ?? [])] }),
      () => /input\[1\](?!\.)/,
    );
    compareTable('Input items', rows);
  });
});
