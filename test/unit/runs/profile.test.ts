import assert from 'node:assert/strict';
import { chatCompletion } from '../../../src/protocol/chat.ts';
import type { RunEvent } from '../../../src/protocol/events.ts';
import { runEvent } from '../../../src/protocol/events.ts';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import { outputItem } from '../../../src/protocol/items.ts';
import { responseObject } from '../../../src/protocol/response.ts';
import type { Tool, ToolSource } from '../../../src/tools/tool.ts';
import type { ChatModel, TurnRequest } from '../../../src/upstream/turn.ts';
import { runResearch } from '../../support/research-run.ts';
import { openHarness, question, readAll, testTool } from '../../support/run-harness.ts';
import { isAnswerTurn, ScriptedModel, type ScriptedTurn } from '../../support/scripted-model.ts';
import { memoryStore } from '../../support/wrapped-store.ts';

const listed = (name: string): ToolSource => ({
  url: `https://${name}.example/`,
  title: name,
  snippet: '',
  kind: 'listed',
});
const results = ['one', 'two'].map((name) => ({
  url: `https://${name}.example/`,
  title: name,
  snippet: '',
  source_id: 1,
}));
const TOOLS: Tool[] = [
  testTool('web_search', () => ({ result: JSON.stringify({ results }), sources: [listed('one'), listed('two')] })),
  testTool('fetch_url_content', () => ({
    result: '{"error":{"message":"HTTP 404","code":"not_found"}}',
    failed: true,
  })),
  testTool('execute_python', () => ({ result: '{"stdout":"7\\n","stderr":"","result":null}' })),
  testTool('wiki.find', () => ({ result: 'Found.' })),
  testTool('wiki.break', () => ({ result: '{"error":{"message":"It broke.","code":"mcp"}}', failed: true })),
];
const CALLS = [
  { name: 'web_search', arguments: { queries: ['tea', 'coffee'] } },
  { name: 'fetch_url_content', arguments: { url: 'https://two.example/' } },
  { name: 'execute_python', arguments: { code: 'print(7)' } },
  { name: 'wiki.find', arguments: { q: 1 } },
  { name: 'wiki.break', arguments: {} },
];
const THINKS: ScriptedTurn = { reasoning: ['I ', 'look.'], calls: CALLS };
const typesOf = (events: readonly RunEvent[]) => events.map(({ type }) => type);

describe('reasoning summaries', () => {
  it('repeat the reasoning text if the request asks for them', async () => {
    const { events, reasoning, response } = await runResearch({
      turns: [{ reasoning: ['I ', 'look.'], text: ['Ready.'] }],
      request: { reasoningSummary: 'auto' },
    });
    assert.deepEqual(response.reasoning, { effort: 'medium', summary: 'auto' });
    const text = reasoning[0]?.content[0]?.text;
    assert.equal(text, 'I look.\n\nReady.');
    assert.deepEqual(reasoning[0]?.summary, [{ type: 'summary_text', text }]);
    const joined = (type: string) => events.map((e) => (e.type === type && 'delta' in e ? e.delta : '')).join('');
    assert.equal(joined('response.reasoning_summary_text.delta'), text);
    assert.equal(joined('response.reasoning_text.delta'), text);
    const order = typesOf(events).filter((type) => type.includes('reasoning') && !type.endsWith('delta'));
    assert.deepEqual(order, [
      'response.reasoning_summary_part.added',
      'response.reasoning_text.done',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
    ]);
    for (const event of events) runEvent.parse(event);
  });

  it('are absent unless the request asks for them', async () => {
    const { events, reasoning } = await runResearch({ turns: [{ reasoning: ['I look.'], text: ['Ready.'] }] });
    assert.ok(!typesOf(events).some((type) => type.includes('summary')));
    assert.deepEqual(reasoning[0]?.summary, []);
  });
});

describe("a run with OpenAI's profile", () => {
  it('has items that are read as earlier versions wrote them', () => {
    const listed = { id: 'mcpl_0', type: 'mcp_list_tools', server_label: 'wiki', error: null };
    const called = {
      id: 'mcp_0',
      type: 'mcp_call',
      status: 'failed',
      server_label: 'wiki',
      name: 'a',
      arguments: '{}',
    };
    const found = { file_id: 'file-1', filename: 'a.pdf', score: 1, text: 'A' };
    for (const item of [
      { ...listed, tools: [{ name: 'a', description: '', input_schema: {}, annotations: null }] },
      { ...called, output: null, error: 'It broke.', approval_request_id: null },
      { id: 'fs_0', type: 'file_search_call', status: 'completed', queries: ['a'], results: [found] },
    ])
      assert.deepEqual(outputItem.parse(item), item);
  });

  it("has OpenAI's items with their events", async () => {
    const { events, response } = await runResearch({
      turns: [THINKS],
      answers: [{ text: ['So [1].'] }],
      tools: TOOLS,
      request: { profile: 'openai' },
    });
    responseObject.strict().parse(response);
    for (const event of events) runEvent.parse(event);
    const [servers, thought, ...rest] = response.output;
    const message = rest.pop();
    assert.ok(servers?.type === 'mcp_list_tools' && thought?.type === 'reasoning' && message?.type === 'message');
    assert.deepEqual(
      [servers.server_label, servers.tools.map(({ name }) => name), servers.error],
      ['wiki', ['find', 'break'], undefined],
    );
    assert.deepEqual([thought.content, thought.summary], [[], [{ type: 'summary_text', text: 'I look.' }]]);
    const ready = rest.pop();
    assert.ok(ready?.type === 'reasoning');
    const plain = rest.map((item) => ({ ...item, id: item.id.replace(/_.*/, ''), container_id: undefined }));
    const urls = results.map(({ url }) => ({ type: 'url', url }));
    const mcp = { type: 'mcp_call', id: 'mcp', server_label: 'wiki', approval_request_id: null };
    const expected = [
      { type: 'web_search_call', id: 'ws', status: 'completed' },
      {
        type: 'web_search_call',
        id: 'ws',
        status: 'failed',
        action: { type: 'open_page', url: 'https://two.example/' },
      },
      { type: 'code_interpreter_call', id: 'ci', status: 'completed', code: 'print(7)' },
      { ...mcp, status: 'completed', name: 'find', arguments: '{"q":1}', output: 'Found.', error: null },
      {
        ...{ ...mcp, status: 'failed', name: 'break', arguments: '{}', output: null },
        error: { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'It broke.' }] },
      },
    ];
    const action = { type: 'search', query: 'tea', queries: ['tea', 'coffee'], sources: urls };
    Object.assign(expected[0] ?? {}, { action });
    Object.assign(expected[2] ?? {}, { outputs: [{ type: 'logs', logs: '7\n' }] });
    assert.deepEqual(JSON.parse(JSON.stringify(plain)), expected);
    for (const item of rest) {
      const own = typesOf(events.filter((event) => 'item_id' in event && event.item_id === item.id));
      const stages: Record<string, string[]> = {
        ws: ['web_search_call.in_progress', 'web_search_call.searching', 'web_search_call.completed'],
        ci: [
          'code_interpreter_call.in_progress',
          'code_interpreter_call_code.delta',
          'code_interpreter_call_code.done',
          'code_interpreter_call.interpreting',
          'code_interpreter_call.completed',
        ],
        mcp: ['mcp_call.in_progress', 'mcp_call_arguments.delta', 'mcp_call_arguments.done', 'mcp_call.completed'],
      };
      const whole = (stages[item.id.replace(/_.*/, '')] ?? []).map((type) => `response.${type}`);
      const failed = 'status' in item && item.status === 'failed';
      if (!failed) assert.deepEqual(own, whole);
      else if (item.type === 'mcp_call') assert.equal(own.at(-1), 'response.mcp_call.failed');
      else assert.deepEqual(own, whole.slice(0, -1));
    }
    assert.ok(!typesOf(events).some((type) => type.startsWith('response.reasoning_text')));
  });

  it('shows code that raised an exception as a completed call with its traceback', async () => {
    for (const [code, status] of [
      ['python_error', 'completed'],
      ['timeout', 'failed'],
    ] as const) {
      const result = JSON.stringify({ stdout: '7\n', stderr: '', result: null, error: { code, message: 'Traceback' } });
      const { events, response } = await runResearch({
        turns: [{ calls: [{ name: 'execute_python', arguments: { code: '1/0' } }] }],
        tools: [testTool('execute_python', () => ({ result, failed: true }))],
        request: { profile: 'openai' },
      });
      const item = response.output.find(({ type }) => type === 'code_interpreter_call');
      assert.ok(item?.type === 'code_interpreter_call');
      assert.deepEqual([item.status, item.outputs], [status, [{ type: 'logs', logs: '7\n\nTraceback' }]]);
      assert.equal(typesOf(events).includes('response.code_interpreter_call.completed'), status === 'completed');
    }
  });

  it('converts to a chat completion', async () => {
    const { response } = await runResearch({ turns: [THINKS], tools: TOOLS, request: { profile: 'openai' } });
    const { toChatCompletion: projected } = await import('../../../src/runs/projections/chat.ts');
    const completion = chatCompletion.parse(projected(response));
    const steps = completion.choices[0]?.message.reasoning_steps.map(({ type }) => type);
    assert.deepEqual(steps, [
      'thinking',
      'web_search',
      'fetch_url_content',
      'execute_python',
      'tool_call',
      'tool_call',
      'thinking',
    ]);
    const told = completion.choices[0]?.message.reasoning_steps.flatMap((step) =>
      step.type === 'tool_call' ? [step.tool_call.result] : [],
    );
    assert.deepEqual(told, ['Found.', 'It broke.']);
    assert.equal(completion.choices[0]?.message.reasoning_content, 'I look.\n\nI am ready.');
    assert.deepEqual(
      completion.search_results.map(({ url }) => url),
      results.map(({ url }) => url),
    );
  });

  it('names the sources that the answer cites in the search results of a chat completion', async () => {
    const { response } = await runResearch({
      turns: [
        {
          calls: [
            { name: 'web_search', arguments: { queries: ['tea'] } },
            { name: 'fetch_url_content', arguments: { url: 'https://three.example/' } },
          ],
        },
      ],
      answers: [{ text: ['So [2].'] }],
      tools: [
        ...TOOLS.slice(0, 1),
        testTool('fetch_url_content', () => ({
          result: '{"url":"https://three.example/","title":"three","content":"Tea."}',
        })),
      ],
      request: { profile: 'openai' },
    });
    const { toChatCompletion: projected } = await import('../../../src/runs/projections/chat.ts');
    assert.deepEqual(projected(response).search_results, [
      { title: '', url: 'https://one.example/', snippet: '', source_id: null },
      { title: 'two', url: 'https://two.example/', snippet: '', source_id: 2 },
      { title: '', url: 'https://three.example/', snippet: '', source_id: null },
    ]);
  });

  it('continues on another instance after a crash within a call, with each item once', async () => {
    const store = await memoryStore();
    const began = Promise.withResolvers<void>();
    const script = (request: TurnRequest): ScriptedTurn => {
      if (isAnswerTurn(request)) return { text: ['So it is.'] };
      return request.messages.some(({ role }) => role === 'tool') ? { text: ['Ready.'] } : THINKS;
    };
    const hanging = TOOLS.map((tool) => ({
      ...tool,
      call: async (...args: Parameters<Tool['call']>) => {
        if (tool.name === 'execute_python' || tool.name === 'wiki.find') {
          began.resolve();
          await new Promise(() => {});
        }
        return await tool.call(...args);
      },
    }));
    const chat: ChatModel = new ScriptedModel(script);
    await using dying = await openHarness({ chat, tools: hanging, store });
    const { run } = await dying.runs.submit(question({ research: { profile: 'openai' } }));
    await began.promise;
    await store.claim(run.id, { leaseMs: 0, force: true });
    await using next = await openHarness({ chat: new ScriptedModel(script), tools: TOOLS, store });
    const events = decodeFrames(await readAll(next.runs, run));
    const last = events.at(-1);
    assert.ok(last?.type === 'response.completed');
    assert.deepEqual(
      last.response.output.map(({ type }) => type),
      [
        'mcp_list_tools',
        'reasoning',
        'web_search_call',
        'web_search_call',
        'code_interpreter_call',
        'mcp_call',
        'mcp_call',
        'reasoning',
        'message',
      ],
    );
    const [code, found] = last.response.output.slice(4, 6);
    assert.ok(code?.type === 'code_interpreter_call' && found?.type === 'mcp_call');
    assert.deepEqual(
      [code.code, code.status, found.arguments, found.output],
      ['print(7)', 'completed', '{"q":1}', 'Found.'],
    );
    const added = events.flatMap((event) => (event.type === 'response.output_item.added' ? [event.output_index] : []));
    assert.deepEqual(
      added,
      last.response.output.map((_, index) => index),
    );
  });

  it('closes all of its items if it fails', async () => {
    const { TurnError } = await import('../../../src/upstream/turn.ts');
    const { response } = await runResearch({
      turns: [THINKS],
      tools: TOOLS,
      request: { profile: 'openai' },
      answers: [{ breaks: new TurnError('refused', 'no', { started: false }) }],
    });
    assert.equal(response.status, 'failed');
    for (const item of response.output) if ('status' in item) assert.notEqual(item.status, 'in_progress');
  });
});
