import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { until } from '../support/http-gateway.ts';
import { frames, json, type Script } from '../support/scripted-provider.ts';
import { PLAIN, startSdkGateway } from '../support/sdk-gateway.ts';
import { strictMessages, strictResponses } from '../support/strict-wires.ts';

const TOOL = {
  type: 'function' as const,
  function: { name: 'look_up', description: 'Looks up.', parameters: { type: 'object', properties: {} } },
};

interface Kind {
  vision?: boolean;
  thinks?: 'adaptive' | 'enabled';
}

async function openGateway(
  wire: 'messages' | 'responses',
  script?: Script,
  { vision = false, thinks = 'adaptive' }: Kind = {},
) {
  const server = wire === 'messages' ? strictMessages(1, { thinks }) : strictResponses(1);
  const gateway = await startSdkGateway({
    respond: (request) => script ?? server.respond(request),
    provider: { wire, api_key: 'sk-provider-0123' },
    models: {
      plain: { ...PLAIN, apis: ['chat_completions', 'async', 'responses'], responses: 'gateway', vision },
    },
  });
  return { ...gateway, client: gateway.ann, server };
}

for (const wire of ['messages', 'responses'] as const) {
  describe(`chat completions of a plain model over a ${wire} provider`, () => {
    it('call functions and continue with their results, unstreamed', async () => {
      await using gateway = await openGateway(wire);
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Go.' }];
      const first = await gateway.client.chat.completions.create({ model: 'plain', messages, tools: [TOOL] });
      const [choice] = first.choices;
      assert.equal(choice?.finish_reason, 'tool_calls');
      const [call] = choice.message.tool_calls ?? [];
      assert.ok(call?.type === 'function' && call.function.name === 'look_up', JSON.stringify(choice));
      messages.push(choice.message, { role: 'tool', tool_call_id: call.id, content: '21' });
      const second = await gateway.client.chat.completions.create({ model: 'plain', messages, tools: [TOOL] });
      assert.equal(second.choices[0]?.finish_reason, 'stop');
      assert.ok((second.choices[0]?.message.content ?? '').length > 0);
      assert.ok((second.usage?.total_tokens ?? 0) > 0);
      assert.deepEqual(gateway.server.refusals, []);
    });

    it('stream function calls, with usage if requested', async () => {
      await using gateway = await openGateway(wire);
      const stream = gateway.client.chat.completions.stream({
        model: 'plain',
        messages: [{ role: 'user', content: 'Go.' }],
        tools: [TOOL],
        stream_options: { include_usage: true },
      });
      const usages: unknown[] = [];
      for await (const chunk of stream) usages.push(chunk.usage);
      const whole = await stream.finalChatCompletion();
      const [choice] = whole.choices;
      assert.equal(choice?.finish_reason, 'tool_calls');
      const [call] = choice.message.tool_calls ?? [];
      assert.ok(call?.type === 'function' && call.function.name === 'look_up');
      assert.equal(call.function.arguments, '{"n":0}');
      assert.equal(usages.filter((usage) => usage !== null).length, 1);
    });

    it('run as async tasks', async () => {
      await using gateway = await openGateway(wire);
      const { client } = gateway;
      const made: { id: string } = await client.post('/async', {
        body: { model: 'plain', messages: [{ role: 'user', content: 'Go.' }], tools: [TOOL] },
      });
      const result = await until(async () => {
        const task: { result?: OpenAI.ChatCompletion } = await client.get(`/async/${made.id}`);
        return task.result;
      });
      const [choice] = result.choices;
      assert.equal(choice?.finish_reason, 'tool_calls');
      assert.ok(choice.message.tool_calls?.[0]?.type === 'function' && !('reasoning_steps' in choice.message));
      await assert.rejects(client.post('/async', { body: { model: 'plain', messages: [], tools: [TOOL] } }), {
        status: 400,
        param: 'messages',
      });
    });

    it('report a provider’s 400 as invalid_request_error, and other failures as api_error', async () => {
      await using gateway = await openGateway(wire);
      const { client, provider } = gateway;
      const words = { error: { message: 'tools.0.input_schema: wrong', type: 'invalid_request_error' } };
      for (const [code, status, type] of [
        [400, 400, 'invalid_request_error'],
        [401, 502, 'api_error'],
        [500, 502, 'api_error'],
      ] as const) {
        provider.respond = () => json(words, { status: code });
        const ask = { model: 'plain', messages: [{ role: 'user' as const, content: 'Go.' }] };
        for (const stream of [false, true]) {
          await assert.rejects(client.chat.completions.create({ ...ask, stream }), {
            ...{ status, type, code: 'upstream_error' },
          });
        }
        const { error } = await client.responses.create({ model: 'plain', input: 'Go.' });
        assert.deepEqual({ ...error, message: '' }, { type, code: 'upstream_error', param: null, message: '' });
      }
    });

    it('accept a system message alone, images in tool results, custom tool calls, and deprecated function calls', async () => {
      await using gateway = await openGateway(wire, undefined, { vision: true });
      const { client, provider } = gateway;
      const say = async (messages: OpenAI.ChatCompletionMessageParam[]) => {
        await client.chat.completions.create({ model: 'plain', messages });
        return JSON.stringify(provider.requests.at(-1)?.body);
      };
      assert.match(await say([{ role: 'system', content: 'Greet.' }]), /Greet\./);
      const url = 'data:image/png;base64,iVBORw0KGgo=';
      const image = { type: 'image_url' as const, image_url: { url, detail: 'low' as const } };
      assert.match(await say([{ role: 'user', content: [image] }]), wire === 'messages' ? /"image"/ : /"detail":"low"/);
      const call = { id: 'c1', type: 'function' as const, function: { name: 'look', arguments: '{}' } };
      const tool = {
        role: 'tool',
        tool_call_id: 'c1',
        content: [image],
      } as unknown as OpenAI.ChatCompletionToolMessageParam;
      const shown = await say([{ role: 'user', content: 'Go.' }, { role: 'assistant', tool_calls: [call] }, tool]);
      assert.match(shown, /Images of the result of look:/);
      assert.doesNotMatch(shown, /\\"image_url/);
      const old = { role: 'assistant' as const, content: null, function_call: { name: 'look', arguments: '{"n":1}' } };
      const sentCalls = await say([
        { role: 'user', content: 'Go.' },
        old,
        { role: 'function', name: 'look', content: 'Seen.' },
      ]);
      assert.match(
        sentCalls,
        wire === 'messages' ? /"tool_use".*"tool_result".*Seen/ : /"function_call".*"function_call_output".*Seen/,
      );
      const custom = { id: 'c2', type: 'custom' as const, custom: { name: 'sketch', input: 'A lake.' } };
      const answered = { role: 'tool' as const, tool_call_id: 'c2', content: 'Drawn.' };
      const sentText = await say([
        { role: 'user', content: 'Go.' },
        { role: 'assistant', tool_calls: [custom] },
        answered,
      ]);
      assert.match(sentText, /sketch.*A lake\..*Drawn\./);
      const legacyBody = { model: 'plain', functions: [], messages: [{ role: 'user' as const, content: 'Go.' }] };
      assert.ok((await client.chat.completions.create(legacyBody)).choices[0]);
    });

    it('replace images in tool results by a note for a model without vision', async () => {
      await using gateway = await openGateway(wire);
      const { client, provider } = gateway;
      const image = {
        type: 'input_image' as const,
        image_url: 'data:image/png;base64,iVBORw0KGgo=',
        detail: 'low' as const,
      };
      const call = { type: 'function_call' as const, call_id: 'c1', name: 'look', arguments: '{}' };
      const output = [{ type: 'input_text' as const, text: 'Seen:' }, image];
      const input = [call, { type: 'function_call_output' as const, call_id: 'c1', output }];
      const { status } = await client.responses.create({ model: 'plain', input });
      assert.equal(status, 'completed');
      const sent = JSON.stringify(provider.requests.at(-1)?.body);
      assert.match(sent, /Seen:.{1,3}\(an image, which is not shown\)/);
      assert.doesNotMatch(sent, /iVBOR/);
      const pending = client.responses.create({ model: 'plain', input: [{ role: 'user', content: [image] }] });
      await assert.rejects(pending, { status: 400, param: 'input[0].content[0]' });
    });

    it('continue after tool calls in the history although no tools are offered any more', async () => {
      await using gateway = await openGateway(wire);
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Go.' }];
      const [first] = (await gateway.client.chat.completions.create({ model: 'plain', messages, tools: [TOOL] }))
        .choices;
      assert.ok(first?.message.tool_calls?.[0]);
      messages.push(first.message, { role: 'tool', tool_call_id: first.message.tool_calls[0].id, content: '21' });
      const [last] = (await gateway.client.chat.completions.create({ model: 'plain', messages })).choices;
      assert.equal(last?.finish_reason, 'stop');
      assert.deepEqual(gateway.server.refusals, []);
    });

    it('send stop sequences to a messages provider, and report them as ignored otherwise', async () => {
      await using gateway = await openGateway(wire);
      const messages = [{ role: 'user' as const, content: 'Go.' }];
      for (const stop of ['END', ['END', 'FIN']]) {
        const pending = gateway.client.chat.completions.create({ model: 'plain', messages, stop });
        const { response } = await pending.withResponse();
        const ends = wire === 'messages' ? [stop].flat() : undefined;
        assert.deepEqual(gateway.provider.requests.at(-1)?.body.stop_sequences, ends);
        assert.equal(response.headers.get('x-ignored-parameters'), ends ? null : 'stop');
      }
    });

    it('return 400 for parameters that cannot be honoured, naming the field', async () => {
      await using gateway = await openGateway(wire);
      const ask = { model: 'plain', messages: [{ role: 'user' as const, content: 'Go.' }] };
      for (const [body, param, code] of [
        [{ n: 2 }, 'n'],
        [{ max_cost: 1 }, 'max_cost', 'unsupported_parameter'],
        [{ webhook: { url: 'https://hooks.example/' } }, 'webhook', 'unsupported_parameter'],
        ...(wire === 'messages' ? ([[{ logprobs: true }, 'logprobs']] as const) : []),
        [{ top_logprobs: 2 }, 'top_logprobs'],
        [{ logprobs: true, top_logprobs: 21 }, 'top_logprobs'],
        [{ tools: [{ type: 'function', function: { name: 'a b' } }] }, 'tools[0].function.name'],
        [{ tools: [TOOL], tool_choice: { type: 'function', function: { name: 'other' } } }, 'tool_choice'],
        [{ tools: [{ type: 'custom', custom: { name: 'sketch' } }] }, 'tools[0].type', 'unsupported_parameter'],
        [{ messages: [...ask.messages, { role: 'tool', tool_call_id: 'c', content: 'x' }] }, undefined],
      ] as const) {
        const pending = gateway.client.chat.completions.create({ ...ask, ...body } as typeof ask);
        if (param === undefined) assert.ok((await pending).choices[0]);
        else await assert.rejects(pending, { status: 400, param, ...(code && { code }) });
      }
    });
  });
}

it('chat completions of a plain model return logprobs if the provider reports them', async () => {
  const probable = (token: string) => ({
    token,
    logprob: -1,
    bytes: null,
    top_logprobs: [{ token: 'x', logprob: -2 }],
  });
  const item = { type: 'message', id: 'm', role: 'assistant', status: 'completed' };
  const events = ['Hel', 'lo'].map((delta) => {
    return { type: 'response.output_text.delta', output_index: 0, delta, logprobs: [probable(delta)] };
  });
  const whole = { ...item, content: [{ type: 'output_text', text: 'Hello', annotations: [] }] };
  const script = frames(
    [
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
      ...events,
      { type: 'response.output_item.done', output_index: 0, item: whole },
      { type: 'response.completed', response: { object: 'response', status: 'completed', output: [whole] } },
    ],
    { done: false },
  );
  await using gateway = await openGateway('responses', script);
  const { completions } = gateway.client.chat;
  const ask = { model: 'plain', messages: [{ role: 'user' as const, content: 'Hi' }], logprobs: true, top_logprobs: 1 };
  const [choice] = (await completions.create(ask)).choices;
  const logprobs = choice?.logprobs?.content ?? [];
  assert.deepEqual(
    logprobs.map(({ token, top_logprobs: others }) => [token, others.map((other) => other.token)]),
    [
      ['Hel', ['x']],
      ['lo', ['x']],
    ],
  );
  assert.equal(gateway.provider.requests[0]?.body.top_logprobs, 1);
  const streamed = await completions.stream(ask).finalChatCompletion();
  assert.deepEqual(streamed.choices[0]?.logprobs?.content, logprobs);
  const [silent] = (await completions.create({ ...ask, logprobs: false, top_logprobs: 0 })).choices;
  assert.equal(silent?.logprobs, null);
});

it('chat completions of a plain model return a refusal in its own field', async () => {
  await using gateway = await openGateway('responses');
  const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' };
  const output = [{ ...message, content: [{ type: 'refusal', refusal: 'I cannot say.' }] }];
  const response = { id: 'r', object: 'response', status: 'completed', output };
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  gateway.provider.respond = () =>
    frames([
      { type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } },
      { type: 'response.refusal.delta', ...place, delta: 'I cannot say.' },
      { type: 'response.completed', response },
    ]);
  const body = { model: 'plain', messages: [{ role: 'user' as const, content: 'Tell.' }] };
  const whole = await gateway.client.chat.completions.create(body);
  const streamed = await gateway.client.chat.completions.stream(body).finalChatCompletion();
  for (const { choices } of [whole, streamed]) {
    assert.equal(choices[0]?.message.refusal, 'I cannot say.');
    assert.equal(choices[0].message.content || null, null);
  }
});

describe('verbosity', () => {
  it('reaches a provider of the Responses API, unless the provider refuses it', async () => {
    await using gateway = await openGateway('responses');
    const { client, provider, server } = gateway;
    const text = { verbosity: 'low' as const, format: { type: 'json_object' as const } };
    const ask = { model: 'plain', input: 'Say it as JSON.', text };
    const { response } = await client.responses.create(ask).withResponse();
    assert.equal(response.headers.get('x-ignored-parameters'), null);
    assert.deepEqual(provider.requests.at(-1)?.body.text, text);
    provider.respond = (request) => {
      if (!JSON.stringify(request.body.text ?? '').includes('verbosity')) return server.respond(request);
      return json({ error: { message: "Unsupported parameter: 'text.verbosity'." } }, { status: 400 });
    };
    const adapted = await client.responses.create(ask);
    assert.deepEqual([adapted.status, adapted.text], ['completed', text]);
    assert.deepEqual(provider.requests.at(-1)?.body.text, { format: text.format });
    const chat = { model: 'plain', messages: [{ role: 'user' as const, content: 'Hi' }], verbosity: 'low' as const };
    assert.ok((await client.chat.completions.create(chat)).choices[0]);
  });

  it('is reported as ignored if the provider has no such parameter', async () => {
    await using gateway = await openGateway('messages');
    const ask = { model: 'plain', input: 'Hi', text: { verbosity: 'low' as const } };
    const { response } = await gateway.client.responses.create(ask).withResponse();
    assert.equal(response.headers.get('x-ignored-parameters'), 'text.verbosity');
  });
});

describe('reasoning effort with a provider of the Messages API', () => {
  /** The effort and thinking of the last request. `refuse`: the error message for a request, if it is refused. */
  async function asked(
    effort: string,
    refuse: (body: Record<string, unknown>) => string | undefined = () => undefined,
    thinks: Kind['thinks'] = 'adaptive',
  ) {
    await using gateway = await openGateway('messages', undefined, { thinks });
    const { provider, server, client } = gateway;
    provider.respond = (request) => {
      const message = refuse(request.body);
      if (message === undefined) return server.respond(request);
      return json({ type: 'error', error: { type: 'invalid_request_error', message } }, { status: 400 });
    };
    const response = await client.responses.create({
      model: 'plain',
      input: 'Hi',
      reasoning: { effort: effort as 'low' },
    });
    assert.equal(response.status, 'completed');
    const { output_config, thinking } = provider.requests.at(-1)?.body ?? {};
    return { output_config, thinking };
  }
  const effortIn = ({ output_config: config }: Record<string, unknown>) => Object(config).effort;
  const summarized = { type: 'adaptive', display: 'summarized' };

  it('is translated to output_config and thinking', async () => {
    for (const [effort, told] of [
      ['minimal', 'low'],
      ['medium', 'medium'],
      ['xhigh', 'xhigh'],
    ] as const) {
      assert.deepEqual(await asked(effort), { output_config: { effort: told }, thinking: summarized });
    }
    assert.deepEqual(await asked('none'), { output_config: undefined, thinking: undefined });
  });

  it('is lowered or left out if refused', async () => {
    const levels = "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.";
    const lowered = await asked('xhigh', (body) => (effortIn(body) === 'xhigh' ? levels : undefined));
    assert.deepEqual(lowered.output_config, { effort: 'high' });
    const unknown = 'output_config.effort: Extra inputs are not permitted';
    const without = await asked('low', (body) => (effortIn(body) === undefined ? undefined : unknown));
    assert.deepEqual(without, { output_config: undefined, thinking: summarized });
  });

  it('rules out a temperature, and chats say so in `warnings`, whole and streamed', async () => {
    await using gateway = await openGateway('messages');
    const body = { model: 'plain', messages: [{ role: 'user' as const, content: 'Go.' }], temperature: 0.2 };
    const codes = (answer: object) =>
      'warnings' in answer && Array.isArray(answer.warnings)
        ? answer.warnings.map(({ code, param }) => `${code} ${param}`)
        : [];
    const whole = await gateway.client.chat.completions.create(body);
    assert.deepEqual(codes(whole), ['parameter_adapted temperature']);
    const chunks: string[] = [];
    for await (const chunk of await gateway.client.chat.completions.create({ ...body, stream: true }))
      chunks.push(...codes(chunk));
    assert.deepEqual(chunks, ['parameter_adapted temperature']);
    const without = await gateway.client.chat.completions.create({ ...body, temperature: 1 });
    assert.ok(!('warnings' in without));
  });

  it('becomes a thinking budget for a model without adaptive thinking', async () => {
    const sentFields = await asked('low', () => undefined, 'enabled');
    assert.deepEqual(sentFields, { output_config: undefined, thinking: { type: 'enabled', budget_tokens: 2048 } });
  });
});
