import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { startScriptedMcpServer } from '../support/scripted-mcp-server.ts';
import { mayCallTools, type ProviderRequest, type Script, turn } from '../support/scripted-provider.ts';
import { PLAIN, ROUTES, startSdkGateway } from '../support/sdk-gateway.ts';

type Called = { id: string; name: string; arguments: string };

const ECHO = { id: 'call_m', name: 'desk.echo', arguments: '{"a":1}' };
const LOOK_UP = { type: 'function' as const, name: 'look_up', parameters: {}, strict: null };

/** A model that makes these calls first, and then repeats the output of the last one. */
function calling(...toolCalls: Called[]) {
  return ({ body }: ProviderRequest): Script => {
    const last = body.messages?.at(-1);
    return last?.role === 'tool' ? turn({ text: `Told: ${last.content}` }) : turn({ toolCalls });
  };
}

async function openPlain(respond: (request: ProviderRequest, n: number) => Script = calling(ECHO)) {
  const calls: unknown[] = [];
  const tool = (name: string) => ({
    call: ({ args }: { args: object }) => {
      calls.push([name, args]);
      return { content: [{ type: 'text', text: `${name} again` }] };
    },
  });
  const mcp = await startScriptedMcpServer({ tools: { echo: tool('echo'), list: tool('list') } });
  const research = { tools: [], plan: 'off' };
  const gateway = await startSdkGateway({
    respond,
    models: { plain: PLAIN, deep: { kind: 'research', profile: 'openai', routes: ROUTES, research } },
    tools: { fetch_url_content: { allow_private_addresses: true } },
    ann: { mcp_servers: true },
    bob: { mcp_servers: true },
    owned: [mcp],
  });
  const desk = (require_approval: OpenAI.Responses.Tool.Mcp['require_approval']): OpenAI.Responses.Tool => {
    return { type: 'mcp', server_label: 'desk', server_url: mcp.url, require_approval };
  };
  return { ...gateway, calls, desk };
}

const typesOf = ({ output }: OpenAI.Responses.Response) => output.map(({ type }) => type);

function requestsIn({ output }: OpenAI.Responses.Response) {
  return output.filter((item) => item.type === 'mcp_approval_request');
}

function answer(request: { id: string } | undefined, approve: boolean, reason?: string) {
  return { type: 'mcp_approval_response' as const, approval_request_id: request?.id ?? '', approve, reason };
}

const rolesOf = ({ body }: ProviderRequest) => body.messages?.map(({ role }) => role);

describe('MCP calls that need approval, on a plain model', () => {
  it('end the response with mcp_approval_request, and run first in the next response once approved', async () => {
    await using gateway = await openPlain();
    const ask = { model: 'plain', tools: [gateway.desk('always')] };
    const stream = gateway.ann.responses.stream({ ...ask, input: 'Say.' });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    assert.deepEqual(types.slice(-3), [
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ]);
    const first = await gateway.ann.responses.retrieve((await stream.finalResponse()).id);
    assert.deepEqual(typesOf(first), ['mcp_list_tools', 'mcp_approval_request']);
    const [request] = requestsIn(first);
    assert.match(request?.id ?? '', /^mcpr_/);
    const [listed] = first.output;
    assert.ok(listed?.type === 'mcp_list_tools');
    // The AI SDK takes no null in either.
    assert.ok(!('error' in listed) && listed.tools.every((tool) => !('annotations' in tool)), JSON.stringify(listed));
    assert.deepEqual([request?.server_label, request?.name, request?.arguments], ['desk', 'echo', '{"a":1}']);
    assert.ok(first.tools[0]?.type === 'mcp' && first.tools[0].require_approval === 'always');
    assert.deepEqual(gateway.calls, []);

    const next = { ...ask, previous_response_id: first.id };
    const second = await gateway.ann.responses.create({ ...next, input: [answer(request, true)] });
    assert.deepEqual(typesOf(second), ['mcp_list_tools', 'mcp_call', 'message']);
    const call = second.output.find((item) => item.type === 'mcp_call');
    assert.equal(call?.approval_request_id, request?.id);
    assert.deepEqual([call?.name, call?.output, second.output_text], ['echo', 'echo again', 'Told: echo again']);
    assert.deepEqual(gateway.calls, [['echo', { a: 1 }]]);
    assert.deepEqual(gateway.provider.requests.map(rolesOf), [['user'], ['user', 'assistant', 'tool']]);

    await gateway.ann.responses.create({ model: 'plain', previous_response_id: second.id, input: 'And?' });
    assert.deepEqual(gateway.provider.requests.map(rolesOf)[2], ['user', 'assistant', 'tool', 'assistant', 'user']);
    assert.equal(gateway.calls.length, 1);
  });

  it('are reported to the model as denied, with the reason, and never run', async () => {
    await using gateway = await openPlain();
    const ask = { model: 'plain', tools: [gateway.desk('always')] };
    const first = await gateway.ann.responses.create({ ...ask, input: 'Say.' });
    const denied = answer(requestsIn(first)[0], false, 'Too loud.');
    const second = await gateway.ann.responses.create({ ...ask, previous_response_id: first.id, input: [denied] });
    assert.equal(second.output_text, 'Told: The user denied this call. Reason: Too loud.');
    const [list, request] = first.output;
    assert.ok(list?.type === 'mcp_list_tools' && request?.type === 'mcp_approval_request');
    const whole = await gateway.ann.responses.create({
      ...ask,
      input: [{ role: 'user', content: 'Say.' }, list, request, denied],
    });
    assert.equal(whole.output_text, second.output_text);
    assert.deepEqual(gateway.calls, []);
  });

  it('stay answered in a conversation, if the client sends their request again or brings both from elsewhere', async () => {
    await using gateway = await openPlain();
    const ask = { model: 'plain', tools: [gateway.desk('always')] };
    for (const approve of [true, false]) {
      const { id: conversation } = await gateway.ann.conversations.create();
      const [request] = requestsIn(await gateway.ann.responses.create({ ...ask, conversation, input: 'Say.' }));
      assert.ok(request);
      await gateway.ann.responses.create({ ...ask, conversation, input: [request, answer(request, approve)] });
      const later = await gateway.ann.responses.create({ ...ask, conversation, input: 'And?' });
      assert.equal(later.status, 'completed');
    }
    const request = {
      ...ECHO,
      type: 'mcp_approval_request' as const,
      id: 'mcpr_1',
      server_label: 'desk',
      name: 'echo',
    };
    const items: OpenAI.Responses.ResponseInputItem[] = [
      { role: 'user', content: 'Say.' },
      request,
      answer(request, false, 'Too loud.'),
      { role: 'assistant', content: 'As you wish.' },
    ];
    const { id: conversation } = await gateway.ann.conversations.create({ items });
    await gateway.ann.responses.create({ ...ask, conversation, input: 'And?' });
    const seen = gateway.provider.requests.at(-1)?.body.messages ?? [];
    assert.match(seen.find(({ role }) => role === 'tool')?.content, /denied this call. Reason: Too loud/);
  });

  it('run if the client sends the whole input back, and do not run again when it is sent once more', async () => {
    await using gateway = await openPlain();
    const ask = { model: 'plain', tools: [gateway.desk('always')], store: false };
    const question = { role: 'user' as const, content: 'Say.' };
    const first = await gateway.ann.responses.create({ ...ask, input: [question] });
    const items = [question, ...first.output, answer(requestsIn(first)[0], true)] as OpenAI.Responses.ResponseInput;
    const second = await gateway.ann.responses.create({ ...ask, input: items });
    assert.equal(second.output_text, 'Told: echo again');
    const after = [...items, ...second.output, { role: 'user', content: 'And?' }] as OpenAI.Responses.ResponseInput;
    const third = await gateway.ann.responses.create({ ...ask, input: after });
    assert.deepEqual(typesOf(third), ['mcp_list_tools', 'mcp_approval_request']);
    assert.deepEqual(gateway.calls, [['echo', { a: 1 }]]);
  });

  it('run within a conversation, and only once', async () => {
    await using gateway = await openPlain();
    const { id: conversation } = await gateway.ann.conversations.create({});
    const ask = { model: 'plain', tools: [gateway.desk('always')], conversation };
    const first = await gateway.ann.responses.create({ ...ask, input: 'Say.' });
    const second = await gateway.ann.responses.create({ ...ask, input: [answer(requestsIn(first)[0], true)] });
    assert.equal(second.output_text, 'Told: echo again');
    const third = await gateway.ann.responses.create({ ...ask, input: 'And?' });
    assert.deepEqual(typesOf(third), ['mcp_list_tools', 'mcp_approval_request']);
    assert.equal(gateway.calls.length, 1);
  });

  it('are selected by require_approval, in a turn with other MCP calls and functions', async () => {
    const list = { id: 'call_l', name: 'desk.list', arguments: '{}' };
    const own = { id: 'call_f', name: 'look_up', arguments: '{}' };
    await using gateway = await openPlain(calling(own, ECHO, list));
    for (const rule of [{ never: { tool_names: ['list'] } }, { always: { tool_names: ['echo'] } }]) {
      gateway.calls.length = 0;
      const ask = { model: 'plain', tools: [gateway.desk(rule), LOOK_UP] };
      const first = await gateway.ann.responses.create({ ...ask, input: 'Say.' });
      assert.deepEqual(typesOf(first), ['mcp_list_tools', 'mcp_call', 'function_call', 'mcp_approval_request']);
      assert.deepEqual(gateway.calls, [['list', {}]]);
      const output = { type: 'function_call_output' as const, call_id: 'call_f', output: 'here' };
      const second = await gateway.ann.responses.create({
        ...ask,
        previous_response_id: first.id,
        input: [answer(requestsIn(first)[0], true), output],
      });
      assert.equal(second.output_text, 'Told: echo again');
      assert.deepEqual(gateway.calls[1], ['echo', { a: 1 }]);
    }
    const messages = gateway.provider.requests.at(-1)?.body.messages ?? [];
    assert.deepEqual(
      messages.map(({ role, tool_calls, tool_call_id }) => [role, tool_calls?.[0].id ?? tool_call_id]),
      [
        ['user', undefined],
        ['assistant', 'call_l'],
        ['tool', 'call_l'],
        ['assistant', 'call_f'],
        ['tool', 'call_f'],
        ['assistant', 'call_m'],
        ['tool', 'call_m'],
      ],
    );
  });

  it('return 400 without their approval, with that of another call, or without their server', async () => {
    await using gateway = await openPlain(calling(ECHO, { id: 'call_f', name: 'look_up', arguments: '{}' }));
    const ask = { model: 'plain', tools: [gateway.desk('always'), LOOK_UP] };
    const first = await gateway.ann.responses.create({ ...ask, input: 'Say.' });
    const other = await gateway.ann.responses.create({ ...ask, input: 'Say.' });
    const [request] = requestsIn(first);
    const output = { type: 'function_call_output' as const, call_id: 'call_f', output: 'here' };
    const next = { ...ask, previous_response_id: first.id };
    const refused: [Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>, RegExp][] = [
      [{ ...next, input: [output] }, new RegExp(`no mcp_approval_response for the request ${request?.id}`)],
      [{ ...next, input: [output, answer(requestsIn(other)[0], true)] }, /no mcp_approval_request mcpr_/],
      [{ ...next, input: [answer(request, true), answer({ id: 'call_f' }, true)] }, /no mcp_approval_request call_f/],
      [{ ...next, input: [answer(request, true)] }, /no output for the call call_f/],
      [{ ...next, input: [output, answer(request, true)], tools: [LOOK_UP] }, /the MCP server desk/],
      [{ input: [{ role: 'user', content: 'Say.' }, answer(request, true)] }, /no mcp_approval_request mcpr_/],
      [{ tools: [gateway.desk({ never: { read_only: true } })] }, /read_only/],
      [{ tools: [Object.assign(gateway.desk('always'), { allowed_tools: { read_only: true } })] }, /read_only/],
      [{ tools: [Object.assign(gateway.desk('always'), { allowed_tools: { names: ['a'] } })] }, /allowed_tools\.names/],
      [
        { tools: [Object.assign(gateway.desk('always'), { require_approval: { allways: {} } })] },
        /require_approval\.allways/,
      ],
    ];
    for (const [body, message] of refused) {
      await assert.rejects(
        gateway.ann.responses.create({ ...ask, input: 'Hi', ...body }),
        (error: Error & { status: number }) => error.status === 400 && message.test(error.message),
      );
    }
    await assert.rejects(gateway.bob.responses.create({ ...next, input: [output, answer(request, true)] }), {
      status: 404,
    });
    assert.deepEqual(gateway.calls, []);
  });
});

describe('MCP calls that need approval, in research', () => {
  const LIST = { id: 'call_l', name: 'desk.list', arguments: '{}' };
  const OWN = { id: 'call_f', name: 'look_up', arguments: '{}' };
  /** Makes these calls first, and answers with the output of the last one. */
  const researching =
    (...toolCalls: Called[]) =>
    (request: ProviderRequest): Script => {
      const toolMessage = request.body.messages?.findLast(({ role }) => role === 'tool');
      if (!mayCallTools(request)) return turn({ text: `Told: ${toolMessage?.content}` });
      return toolMessage ? turn({ text: 'I am ready.' }) : turn({ toolCalls });
    };

  it('end the response, and run first in the next one, whose first prompt extends the earlier one', async () => {
    await using gateway = await openPlain(researching(ECHO));
    const ask = { model: 'deep', tools: [gateway.desk('always')] };
    const first = await gateway.ann.responses.create({ ...ask, input: 'Say.' });
    assert.equal(first.status, 'completed');
    assert.deepEqual(typesOf(first), ['mcp_list_tools', 'mcp_approval_request']);
    const [request] = requestsIn(first);
    assert.deepEqual([request?.server_label, request?.name, request?.arguments], ['desk', 'echo', '{"a":1}']);
    assert.deepEqual(gateway.calls, []);
    const approval = answer(request, true);
    const [byId, ...rest] = [
      await gateway.ann.responses.create({ ...ask, previous_response_id: first.id, input: [approval] }),
      await gateway.ann.responses.create({
        ...ask,
        input: [{ role: 'user', content: 'Say.' }, ...requestsIn(first), approval],
      }),
    ];
    for (const second of [byId, ...rest]) {
      assert.deepEqual(typesOf(second), ['mcp_list_tools', 'mcp_call', 'reasoning', 'message']);
      const call = second.output.find((item) => item.type === 'mcp_call');
      assert.deepEqual([call?.approval_request_id, call?.output], [request?.id, 'echo again']);
      assert.match(second.output_text, /Told:.*echo again/s);
    }
    assert.equal(gateway.calls.length, 2);
    const [before, after] = gateway.provider.requests.map(({ body }) => body.messages ?? []);
    assert.deepEqual(after?.slice(0, before?.length), before);
  });

  it('run on a plain model that takes over by id, and in a research of which nothing is stored', async () => {
    await using gateway = await openPlain(researching(ECHO, { ...ECHO, id: 'call_n', arguments: '{"a":2}' }));
    const question = { role: 'user' as const, content: 'Say.' };
    const tools = [gateway.desk('always')];
    for (const store of [true, false]) {
      const first = await gateway.ann.responses.create({ model: 'deep', tools, store, input: [question] });
      const [one, other] = requestsIn(first);
      const answers = [answer(one, true), answer(other, false)];
      const thread = [question, ...first.output, ...answers] as OpenAI.Responses.ResponseInput;
      const second = store
        ? { model: 'plain', tools, previous_response_id: first.id }
        : { model: 'deep', tools, store };
      const { output } = await gateway.ann.responses.create({ ...second, input: store ? answers : thread });
      const made = output.filter((item) => item.type === 'mcp_call');
      assert.deepEqual(
        made.map((call) => [call.approval_request_id, call.output]),
        [[one?.id, 'echo again']],
      );
      const sent = JSON.stringify(gateway.provider.requests.at(store ? -1 : -2)?.body.messages);
      for (const part of ['Say.', 'echo again', 'denied this call']) assert.ok(sent.includes(part), sent);
    }
    assert.equal(gateway.calls.length, 2);
    const waiting = await gateway.ann.responses.create({ model: 'deep', tools, input: [question] });
    const unanswered = { model: 'plain', tools, previous_response_id: waiting.id, input: 'So?' };
    await assert.rejects(gateway.ann.responses.create(unanswered), /there is no mcp_approval_response/);
  });

  it('wait while another MCP call and a function of the turn are called, and are reported as denied', async () => {
    await using gateway = await openPlain(researching(OWN, LIST, ECHO));
    const ask = { model: 'deep', tools: [gateway.desk({ always: { tool_names: ['echo'] } }), LOOK_UP] };
    const first = await gateway.ann.responses.create({ ...ask, input: 'Say.' });
    assert.deepEqual(typesOf(first), ['mcp_list_tools', 'mcp_call', 'function_call', 'mcp_approval_request']);
    assert.deepEqual(gateway.calls, [['list', {}]]);
    const [request] = requestsIn(first);
    const call = first.output.find((item) => item.type === 'function_call');
    const output = { type: 'function_call_output' as const, call_id: call?.call_id ?? '', output: 'here' };
    const next = { ...ask, previous_response_id: first.id };
    const refused: [Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>, RegExp][] = [
      [{ input: [output] }, new RegExp(`no mcp_approval_response for the request ${request?.id}`)],
      [{ input: [answer(request, true)] }, /no output for the call/],
      [{ input: [output, answer(request, true), answer({ id: 'mcpr_1' }, true)] }, /no call mcpr_1/],
      [{ input: [output, { ...output, call_id: request?.id ?? '' }] }, /no mcp_approval_response/],
      [{ input: [output, answer(request, true)], tools: [LOOK_UP] }, /the MCP server desk/],
    ];
    for (const [body, message] of refused) {
      await assert.rejects(gateway.ann.responses.create({ ...next, input: 'Hi', ...body }), message);
    }
    const input = [output, answer(request, false, 'Too loud.')];
    await assert.rejects(gateway.bob.responses.create({ ...next, input }), { status: 404 });
    const second = await gateway.ann.responses.create({ ...next, input });
    assert.deepEqual(typesOf(second), ['mcp_list_tools', 'reasoning', 'message']);
    assert.match(second.output_text, /The user denied this call\. Reason: Too loud\./);
    assert.equal(gateway.calls.length, 1);
  });
});
