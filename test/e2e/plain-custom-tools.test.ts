import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { z } from 'zod';
import { frames, type ProviderRequest, type Script, turn } from '../support/scripted-provider.ts';
import { PLAIN, startSdkGateway } from '../support/sdk-gateway.ts';

const PATCH = { type: 'custom' as const, name: 'write_patch', description: 'Takes a patch.' };
const TEXT = '*** Begin Patch\n+"a" \\ b\n*** End Patch';

/** Writes a patch first, then repeats the output of the tool. */
function patcher({ body }: ProviderRequest): Script {
  const last = body.messages?.at(-1);
  if (last?.role === 'tool') return turn({ text: `It says: ${last.content}` });
  return turn({ toolCalls: [{ id: 'call_1', name: 'write_patch', arguments: JSON.stringify({ input: TEXT }) }] });
}

function openPlain(
  respond: (request: ProviderRequest, n: number) => Script = patcher,
  { wire = 'chat', responses }: { wire?: 'chat' | 'responses'; responses?: 'gateway' } = {},
) {
  return startSdkGateway({ respond, provider: { wire }, models: { plain: { ...PLAIN, responses } } });
}

describe('custom tools of a plain model over a chat-only provider', () => {
  it('are called with text, and continue with their outputs by id, by reference and by the whole input', async () => {
    await using gateway = await openPlain();
    const ask = { model: 'plain', tools: [PATCH] };
    const first = await gateway.ann.responses.create({ ...ask, input: 'Write it.', tool_choice: PATCH });
    const [call] = first.output;
    assert.ok(call?.type === 'custom_tool_call');
    assert.match(call.id ?? '', /^ctc_/);
    assert.deepEqual([call.call_id, call.name, call.input], ['call_1', 'write_patch', TEXT]);
    assert.deepEqual(first.tools, [{ ...PATCH, format: { type: 'text' } }]);
    assert.deepEqual(await gateway.ann.responses.retrieve(first.id), first);
    const output = { type: 'custom_tool_call_output' as const, call_id: 'call_1', output: 'applied' };
    const userMessage = { role: 'user' as const, content: 'Write it.' };
    const reference = { id: call.id ?? '' };
    const answers = [
      await gateway.ann.responses.create({ ...ask, previous_response_id: first.id, input: [output] }),
      await gateway.ann.responses.create({ ...ask, input: [userMessage, call, output] }),
      await gateway.ann.responses.create({ ...ask, input: [userMessage, reference, output] }),
    ];
    for (const { output_text: text } of answers) assert.equal(text, 'It says: applied');
    const [question, byId, whole, referred] = gateway.provider.requests.map(({ body }) => body);
    assert.deepEqual(question?.tools?.[0]?.function.parameters.required, ['input']);
    assert.deepEqual(question?.tool_choice, { type: 'function', function: { name: 'write_patch' } });
    assert.deepEqual(whole?.messages, byId?.messages);
    assert.deepEqual(referred?.messages, byId?.messages);
    assert.deepEqual(JSON.parse(byId?.messages?.[1]?.tool_calls?.[0].function.arguments), { input: TEXT });

    const stranger = { model: 'plain', tools: [PATCH] };
    await assert.rejects(
      gateway.bob.responses.create({ ...stranger, previous_response_id: first.id, input: [output] }),
      { status: 404 },
    );
    await assert.rejects(gateway.bob.responses.create({ ...stranger, input: [userMessage, reference, output] }), {
      status: 404,
    });
    await assert.rejects(
      gateway.ann.responses.create({ ...ask, previous_response_id: first.id, input: 'So?' }),
      /no output for the call call_1/,
    );
  });

  it('stream their input with OpenAI’s events', async () => {
    await using gateway = await openPlain();
    const stream = gateway.ann.responses.stream({ model: 'plain', input: 'Write it.', tools: [PATCH] });
    const seen: [string, string?][] = [];
    for await (const event of stream) {
      if (event.type === 'response.custom_tool_call_input.delta') seen.push([event.type, event.delta]);
      else if (event.type === 'response.custom_tool_call_input.done') seen.push([event.type, event.input]);
      else seen.push([event.type]);
    }
    assert.deepEqual(seen.slice(2), [
      ['response.output_item.added'],
      ['response.custom_tool_call_input.delta', TEXT],
      ['response.custom_tool_call_input.done', TEXT],
      ['response.output_item.done'],
      ['response.completed'],
    ]);
    const [call] = (await stream.finalResponse()).output;
    assert.ok(call?.type === 'custom_tool_call' && call.input === TEXT);
  });

  it('get what the model wrote if it omitted the JSON object around the input', async () => {
    await using gateway = await openPlain((_, n) =>
      turn({ toolCalls: [{ id: 'call_1', name: 'write_patch', arguments: n === 0 ? 'just text' : '{"in": 1}' }] }),
    );
    for (const text of ['just text', '{"in": 1}']) {
      const tool = { type: PATCH.type, name: PATCH.name };
      const { output, tools } = await gateway.ann.responses.create({
        model: 'plain',
        input: 'Write it.',
        tools: [tool],
      });
      assert.deepEqual(tools, [{ ...tool, format: { type: 'text' } }]);
      assert.ok(output[0]?.type === 'custom_tool_call');
      assert.equal(output[0].input, text);
    }
  });

  it('keep to a grammar if the provider speaks the Responses API', async () => {
    const format = { type: 'grammar' as const, syntax: 'regex' as const, definition: '[a-z]+' };
    const tools = [{ ...PATCH, format }];
    const made = { id: 'ctc_p', type: 'custom_tool_call', call_id: 'call_1', name: 'write_patch', input: 'abc' };
    const done = { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'Applied.' }] };
    const respond = ({ body }: ProviderRequest) => {
      const isTold = JSON.stringify(body.input).includes('custom_tool_call_output');
      const item = { ...(isTold ? done : made), status: 'completed' };
      const events = [
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { object: 'response', status: 'completed', output: [item] } },
      ];
      return frames(events, { done: false });
    };
    await using gateway = await openPlain(respond, { wire: 'responses', responses: 'gateway' });
    const ask = { model: 'plain', tools, tool_choice: { type: 'custom' as const, name: 'write_patch' } };
    const first = await gateway.ann.responses.create({ ...ask, input: 'Write it.' });
    assert.deepEqual(first.tools, tools);
    const [call] = first.output;
    assert.ok(call?.type === 'custom_tool_call' && call.input === 'abc');
    const output = { type: 'custom_tool_call_output' as const, call_id: call.call_id, output: 'applied' };
    const whole = [{ role: 'user' as const, content: 'Write it.' }, call, output];
    for (const body of [{ previous_response_id: first.id, input: [output] }, { input: whole }]) {
      const next = await gateway.ann.responses.create({ ...ask, ...body });
      assert.equal(next.output_text, 'Applied.');
      const sent = gateway.provider.requests.at(-1)?.body;
      assert.deepEqual(sent?.tools, tools);
      assert.deepEqual(sent?.tool_choice, ask.tool_choice);
      const [asked, called, told] = z.array(z.looseObject({ type: z.string().optional() })).parse(sent?.input);
      assert.deepEqual([asked?.role, called?.type, called?.input], ['user', 'custom_tool_call', 'abc']);
      assert.deepEqual(told, output);
    }
    await assert.rejects(gateway.ann.responses.create({ ...ask, input: 'Hi', tools: [{ type: 'image_generation' }] }), {
      status: 400,
      code: 'unsupported_parameter',
      param: 'tools[0].type',
      message: /image_generation.*native/,
    });
  });

  it('are rejected with a grammar on a chat-only provider, and with a tool_choice of another kind', async () => {
    await using gateway = await openPlain();
    const grammar = { type: 'grammar' as const, syntax: 'regex' as const, definition: '.*' };
    const look = { type: 'function' as const, name: 'look', parameters: {}, strict: null };
    const refused: [Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>, object][] = [
      [
        { tools: [{ ...PATCH, format: grammar }] },
        { status: 400, code: 'unsupported_parameter', param: 'tools[0].format', message: /write_patch/ },
      ],
      [
        { tools: [look], tool_choice: { type: 'custom', name: 'look' } },
        { status: 400, param: 'tool_choice' },
      ],
      [
        { tools: [PATCH], tool_choice: { type: 'function', name: 'write_patch' } },
        { status: 400, param: 'tool_choice' },
      ],
    ];
    for (const [body, error] of refused) {
      await assert.rejects(gateway.ann.responses.create({ model: 'plain', input: 'Hi', ...body }), error);
    }
    assert.equal(gateway.provider.requests.length, 0);
  });
});

interface ShellCase {
  tool: OpenAI.Responses.Tool;
  written: object;
  /** The call item without its id, call_id and status. */
  call: object;
  /** The client's output item for the call with this item id. */
  answer(itemId: string): OpenAI.Responses.ResponseInputItem;
  told: RegExp;
  events: string[];
}

const SHELLS: ShellCase[] = [
  {
    tool: { type: 'shell', environment: { type: 'local' } },
    written: { commands: 'ls -l', timeout_ms: 1000 },
    call: {
      type: 'shell_call',
      action: { commands: ['ls -l'], timeout_ms: 1000, max_output_length: null },
      environment: { type: 'local' },
    },
    answer: () => ({
      type: 'shell_call_output',
      call_id: 'call_1',
      output: [{ stdout: 'a.txt', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    }),
    told: /a\.txt.*exit_code/,
    events: ['added', 'delta', 'done'].map((stage) => `response.shell_call_command.${stage}`),
  },
  {
    tool: { type: 'local_shell' },
    written: { command: ['ls', '-l'], user: null },
    call: {
      type: 'local_shell_call',
      action: { type: 'exec', command: ['ls', '-l'], env: {} },
    },
    answer: (id) => ({ type: 'local_shell_call_output', id, output: 'a.txt' }),
    told: /a\.txt/,
    events: [],
  },
  {
    tool: { type: 'apply_patch' },
    written: { type: 'update_file', path: 'a.txt', diff: '@@\n-a\n+b' },
    call: { type: 'apply_patch_call', operation: { type: 'update_file', path: 'a.txt', diff: '@@\n-a\n+b' } },
    answer: () => ({ type: 'apply_patch_call_output', call_id: 'call_1', status: 'failed', output: 'no such file' }),
    told: /failed: no such file/,
    events: [],
  },
];

describe('OpenAI’s client-side tools, of a plain model over a chat-only provider', () => {
  /** Calls the tool first with arguments that no client could run, then with `written`. */
  const caller = (name: string, written: object) => (request: ProviderRequest) => {
    const last = request.body.messages?.at(-1);
    if (last?.role !== 'tool') return turn({ toolCalls: [{ id: 'call_0', name, arguments: '{"commands": 7}' }] });
    if (/^Not made/.test(last.content)) return turn({ toolCalls: [{ id: 'call_1', name, arguments: { ...written } }] });
    return turn({ text: `It says: ${last.content}` });
  };

  for (const { tool, written, call, answer, told, events } of SHELLS) {
    it(`${tool.type}: is called as its own item, and continues by id, by reference and by the whole input`, async () => {
      await using gateway = await openPlain(caller(tool.type, written));
      const ask = { model: 'plain', tools: [tool] };
      const seen: string[] = [];
      const stream = gateway.ann.responses.stream({ ...ask, input: 'Do it.', tool_choice: 'required' });
      for await (const { type } of stream) seen.push(type);
      assert.deepEqual(seen.slice(2), [
        'response.output_item.added',
        ...events,
        'response.output_item.done',
        'response.completed',
      ]);
      const { id, output, tools } = await stream.finalResponse();
      const item = output[0];
      assert.ok(item?.type === 'shell_call' || item?.type === 'local_shell_call' || item?.type === 'apply_patch_call');
      assert.deepEqual(item, { ...call, id: item.id, call_id: 'call_1', status: 'completed' });
      assert.deepEqual(tools, [tool]);
      assert.deepEqual((await gateway.ann.responses.retrieve(id)).output, output);
      const question = { role: 'user' as const, content: 'Do it.' };
      const referred = [question, { type: 'item_reference' as const, id: item.id }, answer(item.id)];
      const answers = [
        await gateway.ann.responses.create({ ...ask, previous_response_id: id, input: [answer(item.id)] }),
        await gateway.ann.responses.create({ ...ask, input: [question, item, answer(item.id)] }),
        await gateway.ann.responses.create({ ...ask, input: referred }),
      ];
      for (const { output_text: text } of answers) assert.match(text, told);
      await assert.rejects(gateway.bob.responses.create({ ...ask, input: referred }), { status: 404 });

      const { id: conversation } = await gateway.ann.conversations.create();
      const called = await gateway.ann.responses.create({ ...ask, conversation, input: 'Do it.' });
      const input = [answer(called.output[0]?.id ?? '')];
      assert.match((await gateway.ann.responses.create({ ...ask, conversation, input })).output_text, told);
      const later = await gateway.ann.responses.create({ ...ask, conversation, input: [question] });
      assert.equal(later.status, 'completed');
      const again = await gateway.ann.conversations.create();
      const [copied] = (await gateway.ann.responses.create({ ...ask, conversation: again.id, input: 'Do it.' })).output;
      assert.ok(copied);
      const copy = [copied, answer(copied.id ?? '')] as typeof referred;
      for (const next of [copy, [question]]) {
        const response = await gateway.ann.responses.create({ ...ask, conversation: again.id, input: next });
        assert.equal(response.status, 'completed');
      }
      // A thread from elsewhere, whose items get other ids.
      const thread = [question, { ...item, id: 'elsewhere_1' }, answer('elsewhere_1'), question];
      const imported = await gateway.ann.conversations.create({ items: thread as typeof referred });
      await gateway.ann.responses.create({ ...ask, conversation: imported.id, input: [question] });
      const sent = gateway.provider.requests.at(-1)?.body.messages?.find(({ role }) => role === 'tool');
      assert.match(sent?.content, told);
    });
  }

  it('are rejected in another environment, if declared twice, and if tool_choice names a missing one', async () => {
    await using gateway = await openPlain();
    const refused: [Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>, object][] = [
      [
        { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] },
        { status: 400, code: 'unsupported_parameter', param: 'tools[0].environment.type' },
      ],
      [{ tools: [{ type: 'shell' }, { type: 'shell' }] }, { status: 400, param: 'tools' }],
      [
        { tools: [{ type: 'shell' }], tool_choice: { type: 'apply_patch' } },
        { status: 400, param: 'tool_choice' },
      ],
      [
        { tools: [{ type: 'image_generation' }] },
        { status: 400, code: 'unsupported_parameter', message: /image_generation/ },
      ],
    ];
    for (const [body, error] of refused) {
      await assert.rejects(gateway.ann.responses.create({ model: 'plain', input: 'Hi', ...body }), error);
    }
    assert.equal(gateway.provider.requests.length, 0);
  });
});
