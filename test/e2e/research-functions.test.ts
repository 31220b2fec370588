import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { startScriptedMcpServer } from '../support/scripted-mcp-server.ts';
import { type ProviderRequest, type Script, turn } from '../support/scripted-provider.ts';
import { shapes, startScriptedSearch } from '../support/scripted-search.ts';
import { PLAIN, ROUTES, startSdkGateway } from '../support/sdk-gateway.ts';

const ASK_DESK = {
  type: 'function' as const,
  name: 'ask_desk',
  description: 'Asks our desk.',
  parameters: { type: 'object', properties: { n: { type: 'number' } } },
  strict: null,
};
const CHAT_DESK = {
  type: 'function' as const,
  function: { name: 'ask_desk', description: 'Asks our desk.', parameters: ASK_DESK.parameters },
};
const STOPS = 5;

const results = ({ body }: ProviderRequest) => body.messages?.filter(({ role }) => role === 'tool').length ?? 0;
const offersTools = ({ body }: ProviderRequest) => (body.tools?.length ?? 0) > 0 && body.tool_choice !== 'none';

/** Searches once, asks the desk `STOPS` times, then writes. */
function asking(request: ProviderRequest): Script {
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  const done = results(request);
  const desk = { id: `call_p${done}`, name: 'ask_desk', arguments: `{"n":${done}}` };
  if (!offersTools(request)) return turn({ text: 'Kyoto is old [1] and the desk agrees [2].', usage });
  if (done === 0) {
    const search = { id: 'call_s', name: 'web_search', arguments: '{"queries":["kyoto"]}' };
    return turn({ text: 'I look around.', toolCalls: [search, desk], usage });
  }
  if (done <= STOPS) return turn({ toolCalls: [desk], usage });
  return turn({ text: 'I am ready.', usage });
}

async function openGateway(respond: (request: ProviderRequest, n: number) => Script = asking) {
  const found = [{ url: 'https://example.org/kyoto', title: 'Kyoto', snippet: 'Kyoto is an old city in Japan.' }];
  const search = await startScriptedSearch(() => ({ status: 200, body: shapes.searxng(found) }));
  const research = { tools: ['web_search'], plan: 'off', budgets: { medium: { turns: 9 } } };
  const deep = { kind: 'research', profile: 'openai', routes: ROUTES, research };
  const gateway = await startSdkGateway({
    respond,
    models: { deep, plain: PLAIN, seeing: { ...deep, vision: true } },
    tools: {
      web_search: { provider: 'searxng', url: search.origin },
      fetch_url_content: { allow_private_addresses: true },
    },
    ann: { mcp_servers: true },
    owned: [search],
  });
  return { ...gateway, search };
}

const callsIn = ({ output }: OpenAI.Responses.Response) => output.filter((item) => item.type === 'function_call');
const outputFor = (call: { call_id: string }, output: string) => {
  return { type: 'function_call_output' as const, call_id: call.call_id, output };
};
const EVIDENCE = JSON.stringify({ url: 'https://desk.example/kyoto', title: 'Desk', content: 'The desk agrees.' });

describe('client functions in research', () => {
  it('pause a run five times, and it continues with its sources and their numbers', async () => {
    await using gateway = await openGateway();
    const tools = [ASK_DESK];
    let response = await gateway.ann.responses.create({ model: 'deep', input: 'How old is Kyoto?', tools });
    const first = response;
    assert.deepEqual(
      first.output.map(({ type }) => type),
      ['reasoning', 'web_search_call', 'function_call'],
    );
    assert.deepEqual(first.tools, tools);
    assert.deepEqual(first.output.at(-1) && callsIn(first)[0]?.arguments, '{"n":0}');
    let stops = 0;
    for (; callsIn(response).length > 0; stops++) {
      assert.equal(response.status, 'completed');
      const input = callsIn(response).map((call) => outputFor(call, stops === 0 ? EVIDENCE : `Nothing ${stops}.`));
      response = await gateway.ann.responses.create({ model: 'deep', previous_response_id: response.id, input, tools });
    }
    assert.equal(stops, STOPS);
    assert.equal(response.output_text, 'Kyoto is old [1] and the desk agrees [2].');
    const message = response.output.find((item) => item.type === 'message');
    assert.ok(message?.content[0]?.type === 'output_text');
    assert.deepEqual(
      message.content[0].annotations.map((cited) => 'url' in cited && cited.url),
      ['https://example.org/kyoto', 'https://desk.example/kyoto'],
    );
    assert.equal(gateway.search.requests.length, 1);
    // Each response reports the usage of its own turns.
    assert.equal(first.usage?.input_tokens, 100);
    assert.equal(response.usage?.input_tokens, 200);
    // Each request starts with the one before, across responses.
    const prompts = gateway.provider.requests.map(({ body }) => body.messages ?? []);
    for (const [at, messages] of prompts.slice(1, STOPS + 1).entries()) {
      assert.deepEqual(messages.slice(0, prompts[at]?.length), prompts[at]);
    }
  });

  it('count towards one budget over all responses', async () => {
    await using gateway = await openGateway((request) => {
      if (!offersTools(request)) return turn({ text: 'That is all.' });
      return turn({ toolCalls: [{ id: `call_p${results(request)}`, name: 'ask_desk', arguments: '{}' }] });
    });
    let response = await gateway.ann.responses.create({ model: 'deep', input: 'How?', tools: [ASK_DESK] });
    let stops = 0;
    for (; callsIn(response).length > 0; stops++) {
      const input = callsIn(response).map((call) => outputFor(call, `Nothing ${stops}.`));
      response = await gateway.ann.responses.create({ model: 'deep', previous_response_id: response.id, input });
    }
    assert.ok(stops <= 9, `${stops}`);
    assert.equal(response.output_text, 'That is all.');
  });

  it('work in chat completions, where call ids identify the run', async () => {
    await using gateway = await openGateway();
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'How old is Kyoto?' }];
    const ask = { model: 'deep', tools: [CHAT_DESK] };
    let stops = 0;
    for (; stops < 10; stops++) {
      const streamed = stops % 2 === 1;
      const completion = streamed
        ? await gateway.ann.chat.completions.stream({ ...ask, messages }).finalChatCompletion()
        : await gateway.ann.chat.completions.create({ ...ask, messages });
      const [choice] = completion.choices;
      assert.ok(choice);
      if (choice.finish_reason !== 'tool_calls') {
        assert.equal(choice.finish_reason, 'stop');
        assert.equal(choice.message.content, 'Kyoto is old [1] and the desk agrees [2].');
        break;
      }
      messages.push({ role: 'assistant', content: '', tool_calls: choice.message.tool_calls ?? [] });
      for (const { id } of choice.message.tool_calls ?? []) {
        messages.push({ role: 'tool', tool_call_id: id, content: stops === 0 ? EVIDENCE : 'Nothing.' });
      }
    }
    assert.equal(stops, STOPS);
    assert.equal(gateway.search.requests.length, 1);
  });

  it('pause a research of which nothing is stored, which goes on from the calls in its thread', async () => {
    await using gateway = await openGateway();
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'How old is Kyoto?' }];
    const ask = { model: 'deep', store: false, tools: [ASK_DESK], include: ['reasoning.encrypted_content' as const] };
    let stops = 0;
    for (; stops < 10; stops++) {
      const response = await gateway.ann.responses.create({ ...ask, input });
      if (callsIn(response).length === 0) {
        assert.match(response.output_text, /^Kyoto is old/);
        break;
      }
      const items = response.output as OpenAI.Responses.ResponseInputItem[];
      input.push(...items, ...callsIn(response).map((call) => outputFor(call, `Nothing ${stops}.`)));
    }
    // The model's own search is context for it, but no tool result.
    assert.equal(stops, STOPS + 1);
    const messages = gateway.provider.requests.at(-1)?.body.messages ?? [];
    const told = messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content).split('\n')[1]] : []));
    assert.deepEqual(
      told,
      [0, 1, 2, 3, 4, 5].map((n) => `Nothing ${n}.`),
    );
  });

  it('are answered on a model of the other kind, by id and in a conversation, as after a handoff between agents', async () => {
    const calls = [{ id: 'call_h', name: 'ask_desk', arguments: '{"n":1}' }];
    const isFirst = ({ body }: ProviderRequest) => !JSON.stringify(body.messages).includes('The desk agrees');
    await using gateway = await openGateway((request) =>
      turn(isFirst(request) && offersTools(request) ? { toolCalls: calls } : { text: 'So it is.' }),
    );
    const { ann, provider } = gateway;
    const tools = [ASK_DESK];
    for (const [from, to] of [
      ['plain', 'deep'],
      ['deep', 'plain'],
    ] as const) {
      for (const conversation of [undefined, (await ann.conversations.create({})).id]) {
        const first = await ann.responses.create({ model: from, input: 'How old is Kyoto?', tools, conversation });
        const [call] = callsIn(first);
        assert.ok(call, `${from} calls`);
        const before = conversation ? { conversation } : { previous_response_id: first.id };
        const stray = ann.responses.create({
          model: to,
          input: [outputFor({ call_id: 'call_x' }, 'No.')],
          tools,
          ...before,
        });
        await assert.rejects(stray, { status: 400, param: 'input' });
        const input = [outputFor(call, 'The desk agrees.')];
        const second = await ann.responses.create({ model: to, input, tools, ...before });
        assert.equal(second.output_text, 'So it is.');
        const sent = JSON.stringify(provider.requests.at(-1)?.body.messages);
        assert.match(sent, /How old is Kyoto\?.*ask_desk.*The desk agrees\./s);
        if (conversation === undefined && from === 'deep') {
          const without = ann.responses.create({ model: to, input: 'So?', ...before });
          await assert.rejects(without, new RegExp(`there is no output for the call ${call.call_id}`));
        }
      }
    }
  });

  it('and their outputs are known to a plain model that takes over later by id', async () => {
    await using gateway = await openGateway();
    const { ann, provider } = gateway;
    const tools = [ASK_DESK];
    const first = await ann.responses.create({ model: 'deep', input: 'How old is Kyoto?', tools });
    const answers = (response: OpenAI.Responses.Response, said: string) => ({
      tools,
      previous_response_id: response.id,
      input: [
        ...callsIn(response).map((call) => outputFor(call, said)),
        { role: 'user' as const, content: `${said}?` },
      ],
    });
    const second = await ann.responses.create({ model: 'deep', ...answers(first, 'Older') });
    await ann.responses.create({ model: 'plain', ...answers(second, 'Oldest') });
    const sent = provider.requests.at(-1)?.body.messages ?? [];
    assert.deepEqual(
      sent.map(({ role, content, tool_calls }) => [role, tool_calls ? tool_calls[0].function.name : content]),
      [
        ['user', 'How old is Kyoto?'],
        ['assistant', 'ask_desk'],
        ['tool', 'Older'],
        ['user', 'Older?'],
        ['assistant', 'ask_desk'],
        ['tool', 'Oldest'],
        ['user', 'Oldest?'],
      ],
    );
  });

  it('of any kind and approvals are answered on a research model that takes over from a plain one', async () => {
    const names: Record<string, string> = {
      freeform: '{"input":"x"}',
      shell: '{"commands":["ls"]}',
      'desk.echo': '{}',
    };
    const made = Object.entries(names).map(([name, written], n) => ({ id: `call_${n}`, name, arguments: written }));
    await using mcp = await startScriptedMcpServer({
      tools: { echo: { call: () => ({ content: [{ type: 'text', text: 'again' }] }) } },
    });
    await using gateway = await openGateway(({ body }) =>
      turn(JSON.stringify(body.tools ?? []).includes('freeform') ? { toolCalls: made } : { text: 'So it is.' }),
    );
    const { ann, provider } = gateway;
    const desk = { type: 'mcp', server_label: 'desk', server_url: mcp.url, require_approval: 'always' } as const;
    const tools = [{ type: 'custom', name: 'freeform' } as const, { type: 'shell' } as const, desk];
    for (const conversation of [undefined, (await ann.conversations.create({})).id]) {
      const first = await ann.responses.create({ model: 'plain', input: 'How old is Kyoto?', tools, conversation });
      const outcome = { type: 'exit' as const, exit_code: 0 };
      const input = first.output.flatMap((item): OpenAI.Responses.ResponseInput => {
        if (item.type === 'custom_tool_call') {
          return [{ type: 'custom_tool_call_output', call_id: item.call_id, output: 'Old.' }];
        }
        if (item.type === 'shell_call') {
          const output = [{ stdout: 'Very.', stderr: '', outcome }];
          return [{ type: 'shell_call_output', call_id: item.call_id, output }];
        }
        if (item.type !== 'mcp_approval_request') return [];
        return [{ type: 'mcp_approval_response', approval_request_id: item.id, approve: false }];
      });
      assert.equal(input.length, 3);
      const before = conversation ? { conversation } : { previous_response_id: first.id };
      const second = await ann.responses.create({ model: 'deep', input, ...before });
      assert.equal(second.output_text, 'So it is.');
      const sent = JSON.stringify(provider.requests.at(-1)?.body.messages);
      assert.match(sent, /How old is Kyoto\?.*Old\..*Very\..*denied this call/s);
    }
  });

  it('that are not offered are context, and the thread does not end with the words of the assistant', async () => {
    await using gateway = await openGateway();
    const call = { type: 'function_call' as const, call_id: 'call_elsewhere', name: 'hand_over', arguments: '{}' };
    const input = [{ role: 'user' as const, content: 'How old?' }, call, outputFor(call, 'Done.')];
    await gateway.ann.responses.create({ model: 'deep', store: false, tools: [ASK_DESK], input });
    const messages = gateway.provider.requests[0]?.body.messages ?? [];
    assert.deepEqual(
      messages.slice(1).map(({ role }) => role),
      ['user', 'assistant', 'user'],
    );
    assert.match(String(messages.at(-2)?.content), /^\(Earlier tool call\) hand_over/);
  });

  it('need one output for each call and no others; another user’s research starts anew', async () => {
    await using gateway = await openGateway();
    const tools = [ASK_DESK];
    const first = await gateway.ann.responses.create({ model: 'deep', input: 'How old?', tools });
    const [call] = callsIn(first);
    assert.ok(call);
    const previous_response_id = first.id;
    const deferred = [{ ...ASK_DESK, defer_loading: true }, { type: 'tool_search' as const }];
    const found = await gateway.ann.responses.create({ model: 'deep', input: 'How old?', tools: deferred });
    assert.deepEqual(
      found.output.slice(-3).map(({ type }) => type),
      ['tool_search_call', 'tool_search_output', 'function_call'],
    );
    for (const [input, message] of [
      [[{ role: 'user' as const, content: 'So?' }], new RegExp(`no output for the call ${call.call_id}`)],
      [[outputFor(call, 'x'), outputFor({ call_id: 'call_other' }, 'y')], /no call call_other/],
      [[outputFor(call, 'x'), outputFor(call, 'y')], new RegExp(`several outputs of the call ${call.call_id}`)],
    ] as const) {
      await assert.rejects(
        gateway.ann.responses.create({ model: 'deep', previous_response_id, input: [...input], tools }),
        (error: Error & { status: number }) => error.status === 400 && message.test(error.message),
      );
    }
    // The whole thread also continues without the id. With the id, the question is not repeated.
    const whole = [{ role: 'user' as const, content: 'How old?' }, call, outputFor(call, 'Old.')];
    await gateway.ann.responses.create({ model: 'deep', previous_response_id, input: whole, tools });
    const userMessages = (gateway.provider.requests.at(-1)?.body.messages ?? []).filter(({ role }) => role === 'user');
    assert.equal(userMessages.filter(({ content }) => String(content).includes('How old?')).length, 1);
    const again = await gateway.ann.responses.create({ model: 'deep', input: whole, tools });
    assert.equal(gateway.search.requests.length, 1);
    assert.equal(callsIn(again).length, 1);
    // To another user the thread is only context: the research starts anew.
    const other = await gateway.bob.responses.create({ model: 'deep', input: whole, tools });
    assert.ok(other.output.some(({ type }) => type === 'web_search_call'));
    assert.ok(!again.output.some(({ type }) => type === 'web_search_call'));
    await gateway.ann.responses.delete(first.id);
    await assert.rejects(
      gateway.ann.responses.create({ model: 'deep', previous_response_id, input: [outputFor(call, 'x')] }),
      {
        status: 404,
      },
    );
  });

  it('leave their sources to a question after the answer, which starts a research run of its own', async () => {
    await using gateway = await openGateway((request) => {
      const last = request.body.messages?.findLast(({ role }) => role === 'user');
      return JSON.stringify(last?.content).includes('And Nara?') ? turn({ text: 'I know.' }) : asking(request);
    });
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'How old is Kyoto?' }];
    const tools = [ASK_DESK];
    let response = await gateway.ann.responses.create({ model: 'deep', input: 'How old is Kyoto?', tools });
    for (let stops = 0; callsIn(response).length > 0; stops++) {
      const [call] = callsIn(response);
      assert.ok(call);
      const { call_id: id, name, arguments: args } = call;
      const content = stops === 0 ? EVIDENCE : 'Nothing.';
      messages.push({
        role: 'assistant',
        content: '',
        tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
      });
      messages.push({ role: 'tool', tool_call_id: id, content });
      const input = [outputFor(call, content)];
      response = await gateway.ann.responses.create({ model: 'deep', previous_response_id: response.id, input, tools });
    }
    const previous_response_id = response.id;
    const next = await gateway.ann.responses.create({ model: 'deep', previous_response_id, input: 'And Nara?' });
    const message = next.output.find((item) => item.type === 'message');
    assert.ok(message?.content[0]?.type === 'output_text');
    assert.deepEqual(
      message.content[0].annotations.map((cited) => 'url' in cited && cited.url),
      ['https://example.org/kyoto', 'https://desk.example/kyoto'],
    );
    assert.equal(gateway.search.requests.length, 1);
    // The same thread as a chat: the answer is part of the conversation.
    messages.push({ role: 'assistant', content: response.output_text }, { role: 'user', content: 'And Nara?' });
    await gateway.ann.chat.completions.create({ model: 'deep', tools: [CHAT_DESK], messages });
    assert.match(JSON.stringify(gateway.provider.requests.at(-1)?.body.messages), /Kyoto is old and the desk agrees\./);
    // An output for a call that does not exist.
    const input = [outputFor({ call_id: 'call_other' }, 'x'), { role: 'user' as const, content: 'So?' }];
    const stray = gateway.ann.responses.create({ model: 'deep', previous_response_id, input, tools });
    await assert.rejects(stray, { status: 400, param: 'input' });
  });

  it('can return images to a model with vision, and are described to one without', async () => {
    await using gateway = await openGateway();
    const tools = [ASK_DESK];
    const picture = {
      type: 'input_image' as const,
      image_url: 'data:image/png;base64,iVBORw0KGgo=',
      detail: 'auto' as const,
    };
    const output = [{ type: 'input_text' as const, text: 'Look here:' }, picture];
    for (const model of ['seeing', 'deep']) {
      const first = await gateway.ann.responses.create({ model, input: 'How old is Kyoto?', tools });
      const input = callsIn(first).map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output }));
      const comment = {
        role: 'user' as const,
        content: [{ type: 'input_text' as const, text: 'See mine, too.' }, picture],
      };
      const askWith = (...more: (typeof comment)[]) =>
        gateway.ann.responses.create({ model, previous_response_id: first.id, input: [...input, ...more], tools });
      if (model === 'seeing') await askWith(comment);
      else {
        await assert.rejects(askWith(comment), { status: 400, param: 'input[1].content[1]' });
        await askWith();
      }
      const sent = gateway.provider.requests.at(-1)?.body.messages ?? [];
      const toolMessage = sent.findLast(({ role }) => role === 'tool')?.content;
      const shown = sent.slice(-2).filter(({ role, content }) => role === 'user' && Array.isArray(content));
      assert.deepEqual(
        shown.map(({ content }) => content.map(({ type, text }: { type: string; text?: string }) => text ?? type)),
        model === 'seeing'
          ? [
              ['Images of the result of ask_desk:', 'image_url'],
              ['See mine, too.', 'image_url'],
            ]
          : [],
      );
      assert.match(toolMessage, model === 'seeing' ? /Look here:\n\(an image, which follows\)/ : /which is not shown/);
      // The same holds for a thread that the client brings along.
      const foreign = { type: 'function_call' as const, call_id: 'call_x', name: 'look', arguments: '{}' };
      const thread = [
        { role: 'user' as const, content: 'How old is Kyoto?' },
        foreign,
        { type: 'function_call_output' as const, call_id: 'call_x', output },
      ];
      await gateway.ann.responses.create({ model, input: thread, tools });
      const text = JSON.stringify(gateway.provider.requests.at(-1)?.body.messages);
      assert.equal(text.includes('iVBORw0KGgo='), model === 'seeing');
    }
  });

  it('are enough to answer from, without a warning about missing sources', async () => {
    await using gateway = await openGateway((request) => {
      if (!offersTools(request) || results(request) > 0) return turn({ text: 'Ready.' });
      return turn({ toolCalls: [{ id: 'call_d', name: 'ask_desk', arguments: '{}' }] });
    });
    const first = await gateway.ann.responses.create({ model: 'deep', input: 'How?', tools: [ASK_DESK] });
    const input = callsIn(first).map((call) => outputFor(call, 'It is 7.'));
    const next = await gateway.ann.responses.create({ model: 'deep', previous_response_id: first.id, input });
    assert.equal(next.output_text, 'Ready.');
    assert.equal(next.incomplete_details, null);
    assert.deepEqual('warnings' in next && next.warnings, []);
  });

  it('have a max_tool_calls that applies to one response: the next one has its own', async () => {
    await using gateway = await openGateway();
    const ask = { model: 'deep', tools: [ASK_DESK], max_tool_calls: 1 };
    const search = { id: 'call_t', name: 'web_search', arguments: '{"queries":["nara"]}' };
    gateway.provider.respond = (request) => {
      if (results(request) > 0) return asking(request);
      const first = { id: 'call_s', name: 'web_search', arguments: '{"queries":["kyoto"]}' };
      return turn({ toolCalls: [first, search, { id: 'call_d', name: 'ask_desk', arguments: '{}' }] });
    };
    const first = await gateway.ann.responses.create({ ...ask, input: 'How old is Kyoto?' });
    assert.equal(gateway.search.requests.length, 1);
    const input = callsIn(first).map((call) => outputFor(call, 'Old.'));
    const next = await gateway.ann.responses.create({ ...ask, previous_response_id: first.id, input });
    assert.equal(callsIn(next).length, 1, 'it researches on, and is not made to answer');
  });

  it('are called one at a time with `parallel_tool_calls: false`, whatever the provider', async () => {
    const calls = [1, 2].map((n) => ({ id: `call_p${n}`, name: 'ask_desk', arguments: `{"n":${n}}` }));
    await using gateway = await openGateway((request) =>
      offersTools(request) && results(request) < 2 ? turn({ toolCalls: calls }) : turn({ text: 'So be it.' }),
    );
    const ask = { model: 'deep', tools: [ASK_DESK], parallel_tool_calls: false };
    const first = await gateway.ann.responses.create({ ...ask, input: 'How old is Kyoto?' });
    assert.deepEqual(
      callsIn(first).map((call) => call.arguments),
      ['{"n":1}'],
    );
    assert.equal(first.parallel_tool_calls, false);
    const input = callsIn(first).map((call) => outputFor(call, 'Old.'));
    const last = await gateway.ann.responses.create({ ...ask, previous_response_id: first.id, input });
    assert.equal(last.output_text, 'So be it.');
    const told = gateway.provider.requests[1]?.body.messages?.filter(({ role }) => role === 'tool');
    assert.match(told?.[0]?.content, /Old\./);
    assert.match(told?.[1]?.content, /^Not made: .*one at a time/);
    const chat = await gateway.ann.chat.completions.create({
      ...ask,
      tools: [CHAT_DESK],
      messages: [{ role: 'user', content: 'How old is Kyoto?' }],
    });
    assert.equal(chat.choices[0]?.message.tool_calls?.length, 1);
  });

  it('follow tool_choice in the first turn, and are rejected if missing or if their name is taken', async () => {
    await using gateway = await openGateway();
    const ask = { model: 'deep', input: 'How?' };
    await gateway.ann.responses.create({
      ...ask,
      tools: [ASK_DESK],
      tool_choice: { type: 'function', name: 'ask_desk' },
    });
    assert.deepEqual(gateway.provider.requests[0]?.body.tool_choice, {
      type: 'function',
      function: { name: 'ask_desk' },
    });
    const allowed: OpenAI.Responses.ToolChoiceAllowed = {
      type: 'allowed_tools',
      mode: 'required',
      tools: [{ type: 'function', name: 'ask_desk' }],
    };
    const shown = await gateway.ann.responses.create({ ...ask, tools: [ASK_DESK], tool_choice: allowed });
    assert.deepEqual(shown.tool_choice, allowed);
    const offered = gateway.provider.requests.at(-1)?.body;
    assert.deepEqual(
      [offered?.tools?.map((tool) => tool.function.name), offered?.tool_choice],
      [['ask_desk'], 'required'],
    );
    // A hosted tool, which the model has by default or the request names.
    for (const tools of [[ASK_DESK], [ASK_DESK, { type: 'web_search' as const }]]) {
      const before = gateway.provider.requests.length;
      await gateway.ann.responses.create({ ...ask, tools, tool_choice: { type: 'web_search_preview' } });
      const firstBody = gateway.provider.requests[before]?.body;
      assert.deepEqual(firstBody?.tool_choice, { type: 'function', function: { name: 'web_search' } });
    }
    for (const [body, param] of [
      [{ tool_choice: 'required' }, 'tool_choice'],
      [{ tools: [ASK_DESK], tool_choice: { type: 'code_interpreter' } }, 'tool_choice'],
      [
        { tools: [ASK_DESK], tool_choice: { ...allowed, tools: [{ type: 'function', name: 'b' }] } },
        'tool_choice.tools[0]',
      ],
      [{ tools: [ASK_DESK], tool_choice: { ...allowed, tools: [] } }, 'tool_choice'],
      [{ tools: [ASK_DESK], tool_choice: { type: 'function', name: 'other' } }, 'tool_choice'],
      [{ tools: [{ ...ASK_DESK, name: 'web_search' }] }, 'tools'],
      [{ tools: [{ ...ASK_DESK, name: 'ask_user' }] }, 'tools'],
      [{ tools: [ASK_DESK, ASK_DESK] }, 'tools'],
    ] as const) {
      const pending = gateway.ann.responses.create({
        ...ask,
        ...body,
      } as OpenAI.Responses.ResponseCreateParamsNonStreaming);
      await assert.rejects(pending, { status: 400, param });
    }
    const none = await gateway.ann.responses.create({ ...ask, tools: [ASK_DESK], tool_choice: 'none' });
    assert.deepEqual(none.tools, []);
  });
});
