import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { until } from '../support/http-gateway.ts';
import {
  chunk,
  cutAfter,
  frames,
  hang,
  type ProviderRequest,
  type Script,
  status,
  turn,
  turnPayloads,
} from '../support/scripted-provider.ts';
import { PLAIN, startSdkGateway } from '../support/sdk-gateway.ts';
import { strictMessages } from '../support/strict-wires.ts';

interface Task {
  error?: { code: string; message: string };
}

const WEATHER = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: null,
};

/** Calls get_weather if tools are offered, and answers with a text once there is a result. */
function weatherModel({ body }: ProviderRequest): Script {
  const last = body.messages?.at(-1);
  if (body.tools?.length && last?.role === 'user') {
    return turn({
      reasoning: 'I ask.',
      toolCalls: [{ id: 'call_1', name: 'get_weather', arguments: '{"city":"Kyoto"}' }],
    });
  }
  return turn({ text: last?.role === 'tool' ? `It says: ${last.content}` : 'Hello there.' });
}

function openPlain(respond: (request: ProviderRequest, n: number) => Script = weatherModel) {
  return startSdkGateway({
    respond,
    provider: { max_retries: 1 },
    providers: { messages: { api_key: 'sk-provider', max_retries: 0, wire: 'messages' } },
    models: {
      plain: { ...PLAIN, apis: ['responses', 'chat_completions'] },
      mute: { ...PLAIN, routes: [{ provider: 'messages', model: 'm' }] },
    },
  });
}

describe('responses of a plain model over a chat-only provider', () => {
  it('are returned whole by default, and are stored', async () => {
    await using gateway = await openPlain();
    const response = await gateway.ann.responses.create({ model: 'plain', input: 'Hi', instructions: 'Be short.' });
    assert.equal(response.status, 'completed');
    assert.equal(response.output_text, 'Hello there.');
    assert.deepEqual(gateway.provider.requests[0]?.body.messages, [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'Hi' },
    ]);
    assert.deepEqual(await gateway.ann.responses.retrieve(response.id), response);
    await assert.rejects(gateway.bob.responses.retrieve(response.id), { status: 404 });
    const items = await gateway.ann.responses.inputItems.list(response.id);
    assert.equal(items.data.length, 1);
  });

  it('call functions of the client, and continue with their outputs by id and by the whole input', async () => {
    await using gateway = await openPlain();
    const first = await gateway.ann.responses.create({ model: 'plain', input: 'Weather in Kyoto?', tools: [WEATHER] });
    assert.deepEqual(
      first.output.map(({ type }) => type),
      ['reasoning', 'function_call'],
    );
    const call = first.output.find((item) => item.type === 'function_call');
    assert.equal(call?.arguments, '{"city":"Kyoto"}');
    assert.deepEqual(first.tools, [WEATHER]);
    const output = { type: 'function_call_output' as const, call_id: 'call_1', output: '21 degrees' };
    const second = await gateway.ann.responses.create({
      model: 'plain',
      previous_response_id: first.id,
      input: [output],
      tools: [WEATHER],
    });
    assert.equal(second.output_text, 'It says: 21 degrees');
    const again = await gateway.ann.responses.create({
      model: 'plain',
      input: [
        { role: 'user', content: 'Weather in Kyoto?' },
        ...first.output,
        output,
      ] as OpenAI.Responses.ResponseInput,
      tools: [WEATHER],
    });
    assert.equal(again.output_text, 'It says: 21 degrees');
    const userMessage = { role: 'user', content: 'Weather in Kyoto?' };
    for (const repeated of [
      [...first.output, output],
      [userMessage, call, output],
    ]) {
      const { output_text } = await gateway.ann.responses.create({
        ...{ model: 'plain', previous_response_id: first.id, tools: [WEATHER] },
        input: repeated as OpenAI.Responses.ResponseInput,
      });
      assert.equal(output_text, 'It says: 21 degrees', 'clients may repeat items that the response has');
    }
    const [, byId, whole, , repeating] = gateway.provider.requests;
    const roles = repeating?.body.messages?.map(({ role }) => role);
    assert.deepEqual(roles, ['user', 'user', 'assistant', 'tool']);
    // Only the gateway knows the thoughts that go back to the provider.
    const [question, { reasoning_content: thought, ...said }, result] = byId?.body.messages ?? [];
    assert.equal(thought, 'I ask.');
    assert.deepEqual(whole?.body.messages, [question, said, result]);
    for (const [input, message] of [
      [[{ role: 'user' as const, content: 'So?' }], /no output for the call call_1/],
      [[{ ...output, call_id: 'call_9' }, output], /no call call_9/],
    ] as const) {
      await assert.rejects(
        gateway.ann.responses.create({ model: 'plain', previous_response_id: first.id, input: [...input] }),
        (error: Error) => message.test(error.message),
      );
    }
  });

  it('stream OpenAI’s events, and can be replayed byte for byte from any event', async () => {
    await using gateway = await openPlain();
    const headers = { authorization: 'Bearer sk-ann-0123456789abcdef', 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'plain', input: 'Weather?', tools: [WEATHER], stream: true });
    const live = await (await fetch(`${gateway.url}/v1/responses`, { method: 'POST', headers, body })).text();
    const types = [...live.matchAll(/^event: (.+)$/gm)].map(([, type]) => type);
    assert.deepEqual(types.slice(-5), [
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const id = /"id":"(resp_[^"]+)"/.exec(live)?.[1];
    const frames = live.split('\n\n').filter((frame) => frame.startsWith('id:') || frame.startsWith('event:'));
    for (let after = 0; after < frames.length; after++) {
      const rest = await (
        await fetch(`${gateway.url}/v1/responses/${id}?stream=true&after=${after}`, { headers })
      ).text();
      assert.equal(
        rest
          .split('\n\n')
          .filter((f) => f.includes('event:'))
          .join('\n\n'),
        frames.slice(after).join('\n\n'),
      );
    }
  });

  it('are incomplete if the provider stops at the length limit or its content filter', async () => {
    await using gateway = await openPlain((_request, n) =>
      turn({ text: 'Half a sen', finish: n === 0 ? 'length' : 'content_filter' }),
    );
    const cut = await gateway.ann.responses.create({ model: 'plain', input: 'Hi', max_output_tokens: 16 });
    assert.equal(cut.status, 'incomplete');
    assert.equal(cut.incomplete_details?.reason, 'max_output_tokens');
    const [message] = cut.output;
    assert.ok(message?.type === 'message' && message.status === 'incomplete');
    assert.equal(gateway.provider.requests[0]?.body.max_tokens, 16);
    const stream = await gateway.ann.responses.create({ model: 'plain', input: 'Hi', stream: true });
    const types = [];
    for await (const event of stream) types.push(event.type);
    assert.equal(types.at(-1), 'response.incomplete');
    const statuses = async (query: string) => {
      const list: { data: { status: string }[] } = await gateway.ann.get(`/responses${query}`);
      return list.data.map(({ status }) => status);
    };
    assert.deepEqual(await statuses(''), ['incomplete', 'incomplete']);
    assert.deepEqual(await statuses('?status=incomplete'), ['incomplete', 'incomplete']);
    assert.deepEqual(await statuses('?status=completed'), []);
  });

  it('fail after runs.max_minutes, as do tasks, whatever the provider is waiting for', async () => {
    await using gateway = await startSdkGateway({
      respond: () => hang(),
      models: { plain: { ...PLAIN, apis: ['responses', 'async'] } },
      runs: { max_minutes: 0.01 },
    });
    const message = 'The run took longer than 0.01 minutes (runs.max_minutes).';
    const response = await gateway.ann.responses.create({ model: 'plain', input: 'Hi' });
    assert.deepEqual(
      [response.status, response.error?.code, response.error?.message],
      ['failed', 'upstream_timeout', message],
    );
    const body = { model: 'plain', messages: [{ role: 'user', content: 'Hi' }] };
    const { id }: { id: string } = await gateway.ann.post('/async', { body });
    const error = await until(async () => {
      const task: Task = await gateway.ann.get(`/async/${id}`);
      return task.error;
    });
    assert.deepEqual([error.code, error.message], ['upstream_timeout', message]);
  });

  it('continue in place if the provider breaks off in the middle of a text', async () => {
    await using gateway = await openPlain((_request, n) =>
      n === 0 ? cutAfter(4, { text: 'one two three four five six seven eight' }) : turn({ text: ' and the rest.' }),
    );
    const response = await gateway.ann.responses.create({ model: 'plain', input: 'Count' });
    assert.equal(response.status, 'completed');
    assert.match(response.output_text, /^one two .* and the rest\.$/);
    assert.equal(response.output.length, 1);
  });

  it('pass on tool_choice, parallel_tool_calls, reasoning effort and text format', async () => {
    await using gateway = await openPlain(() => turn({ text: '{}' }));
    await gateway.ann.responses.create({
      model: 'plain',
      input: 'Hi',
      tools: [WEATHER],
      tool_choice: { type: 'function', name: 'get_weather' },
      parallel_tool_calls: false,
      reasoning: { effort: 'low' },
      text: { format: { type: 'json_schema', name: 'a', schema: { type: 'object' } } },
    });
    const sent = gateway.provider.requests[0]?.body;
    assert.deepEqual(sent?.tool_choice, { type: 'function', function: { name: 'get_weather' } });
    assert.equal(sent?.parallel_tool_calls, false);
    assert.equal(sent?.reasoning_effort, 'low');
    assert.deepEqual(sent?.response_format, {
      type: 'json_schema',
      json_schema: { name: 'a', schema: { type: 'object' } },
    });
  });

  it('keep thoughts that only a closing tag ends out of JSON, from the first answer on', async () => {
    const pieces = ['I think', ' so hard.\n', '</thi', 'nk>\n\n{"a"', ':1}'].map((content) => chunk({ content }));
    const script = frames([...pieces, chunk({}, 'stop')], { pace: 5 });
    for (const tools of [[], [WEATHER]]) {
      await using gateway = await openPlain(() => script);
      for (const stream of [true, false]) {
        const ask = { model: 'plain', input: 'Hi', tools, text: { format: { type: 'json_object' as const } } };
        const { responses } = gateway.ann;
        const response = await (stream ? responses.stream(ask).finalResponse() : responses.create(ask));
        const [thought, message] = response.output;
        assert.deepEqual([thought?.type, message?.type, response.output_text], ['reasoning', 'message', '{"a":1}']);
      }
    }
  });

  it('have no text of empty lines before thoughts and calls, and keep those before words', async () => {
    const lines = chunk({ role: 'assistant', content: '\n\n' });
    const toolCalls = [{ id: 'call_1', name: 'get_weather', arguments: '{"city":"Kyoto"}' }];
    const answers = [
      frames([lines, chunk({ reasoning_content: 'I ask.' }), chunk({ content: 'Yes.' }), chunk({}, 'stop')]),
      frames([lines, ...turnPayloads({ toolCalls })]),
      frames([lines, chunk({ content: '  Yes.' }), chunk({}, 'stop')]),
    ];
    await using gateway = await openPlain((_, n) => answers[n] ?? turn());
    const outputs: [string, unknown][][] = [];
    for (const _ of answers) {
      const { output } = await gateway.ann.responses.create({ model: 'plain', input: 'Hi', tools: [WEATHER] });
      outputs.push(output.map((item) => [item.type, 'content' in item ? item.content : null]));
    }
    const text = (written: string) => [{ type: 'output_text', text: written, annotations: [], logprobs: [] }];
    assert.deepEqual(outputs, [
      [
        ['reasoning', [{ type: 'reasoning_text', text: 'I ask.' }]],
        ['message', text('\n\nYes.')],
      ],
      [['function_call', null]],
      [['message', text('\n\n  Yes.')]],
    ]);
  });

  it('return logprobs for exactly the text that is shown', async () => {
    const probable = (token: string, bytes: number[] | null = null) => ({
      token,
      logprob: -0.5,
      bytes,
      top_logprobs: ['a', 'b', 'c'].map((other) => ({ token: other, logprob: -2, bytes: null })),
    });
    const chunkWith = (content: string, ...tokens: object[]) => {
      const whole = chunk({ content }) as { choices: object[] };
      return { ...whole, choices: [{ ...whole.choices[0], logprobs: { content: tokens } }] };
    };
    const [first, second] = [
      [240, 159],
      [152, 128],
    ];
    await using gateway = await openPlain(() =>
      frames([
        chunkWith('<thi', probable('<thi')),
        chunkWith('nk>Hello</think>', ...['nk>', 'Hello', '</think>', '\n'].map((token) => probable(token))),
        chunkWith('Hello', probable('Hel'), probable('lo')),
        chunkWith('', probable('\\xf0\\x9f', first)),
        chunkWith('😀', probable('\\x98\\x80', second), { token: 'x'.repeat(9999), logprob: 0 }, [], { token: 1 }),
        chunk({}, 'stop'),
      ]),
    );
    const body = { model: 'plain', input: 'Hi', top_logprobs: 2, include: ['message.output_text.logprobs' as const] };
    const stream = gateway.ann.responses.stream(body);
    const deltas: unknown[] = [];
    for await (const event of stream) if (event.type === 'response.output_text.delta') deltas.push(...event.logprobs);
    const response = await stream.finalResponse();
    const [part] = response.output.flatMap((item) => (item.type === 'message' ? item.content : []));
    assert.ok(part?.type === 'output_text');
    assert.equal(part.text, 'Hello😀');
    assert.deepEqual(deltas, part.logprobs);
    const tokens = (part.logprobs ?? []).map(({ token, bytes, top_logprobs: { length } }) => [token, bytes, length]);
    assert.deepEqual(tokens, [
      ['Hel', [72, 101, 108], 2],
      ['lo', [108, 111], 2],
      ['\\xf0\\x9f', first, 2],
      ['\\x98\\x80', second, 2],
    ]);
    assert.equal(response.top_logprobs, 2);
    const again = await gateway.ann.responses.retrieve(response.id);
    assert.deepEqual(again.output.flatMap((item) => (item.type === 'message' ? item.content[0] : []))[0], {
      type: 'output_text',
      text: part.text,
      annotations: [],
      logprobs: part.logprobs,
    });
    const { logprobs, top_logprobs } = gateway.provider.requests[0]?.body ?? {};
    assert.deepEqual([logprobs, top_logprobs], [true, 2]);
  });

  it('turn tool outputs without a waiting call into text, in their place', async () => {
    await using gateway = await openPlain();
    const output = (call_id: string, said: string) => ({
      type: 'function_call_output' as const,
      call_id,
      output: said,
    });
    await gateway.ann.responses.create({
      model: 'plain',
      input: [
        output('call_gone', 'Of a call that was left out.'),
        { role: 'user', content: 'Weather?' },
        { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{}' },
        output('call_1', '21 degrees'),
        output('call_1', '22 degrees'),
        { role: 'user', content: 'So?' },
      ],
    });
    const messages = gateway.provider.requests[0]?.body.messages ?? [];
    assert.deepEqual(
      messages.map(({ role }) => role),
      ['assistant', 'user', 'assistant', 'tool', 'assistant', 'user'],
    );
    assert.match(messages[0].content, /^\(Earlier tool result\) <tool_result>\nOf a call/);
    assert.match(messages[4].content, /<tool_result>\n22 degrees/);
  });

  it('report the tokens that were written to the provider’s cache', async () => {
    const details = { cached_tokens: 4, cache_write_tokens: 5 };
    const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18, prompt_tokens_details: details };
    await using gateway = await openPlain(() => turn({ text: 'Hello.', usage }));
    const response = await gateway.ann.responses.create({ model: 'plain', input: 'Hi' });
    assert.deepEqual(response.usage?.input_tokens_details, details);
  });

  it('accept a system message alone, from a provider of the Messages API too', async () => {
    const strict = strictMessages(0, { thinks: 'adaptive' });
    await using gateway = await openPlain((request) => strict.respond(request));
    for (const content of ['Greet us.', [{ type: 'input_text' as const, text: 'Greet us.' }]]) {
      const { output_text: text, error } = await gateway.ann.responses.create({
        model: 'mute',
        input: [{ role: 'system', content }],
      });
      assert.deepEqual([error, text], [null, 'All found.']);
    }
    assert.deepEqual(strict.refusals, []);
  });

  it('have no logprobs if the provider does not support them, and say so', async () => {
    const fields = { input: 'Hi', top_logprobs: 2, include: ['message.output_text.logprobs' as const] };
    await using gateway = await openPlain(({ body, path }) => {
      if (path.endsWith('/messages')) return status(400);
      return 'logprobs' in body
        ? status(400, { message: "'logprobs' is not supported with this model." })
        : turn({ text: 'Hello there.' });
    });
    const refused = await gateway.ann.responses.create({ ...fields, model: 'plain' });
    assert.equal(refused.output_text, 'Hello there.');
    assert.match(JSON.stringify(refused), /"parameter_adapted".*"param":"top_logprobs"/);
    const mute = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-ann-0123456789abcdef', 'content-type': 'application/json' },
      body: JSON.stringify({ ...fields, model: 'mute', background: true }),
    });
    assert.equal(mute.headers.get('x-ignored-parameters'), 'top_logprobs, include[0]');
    await assert.rejects(gateway.ann.responses.create({ ...fields, model: 'plain', top_logprobs: 21 }), {
      status: 400,
      param: 'top_logprobs',
    });
  });

  it('run in the background, can be streamed, and can be deleted', async () => {
    await using gateway = await openPlain();
    const { id, status } = await gateway.ann.responses.create({ model: 'plain', input: 'Hi', background: true });
    assert.equal(status, 'in_progress');
    for await (const event of await gateway.ann.responses.retrieve(id, { stream: true })) {
      if (event.type === 'response.completed') assert.equal(event.response.output_text, 'Hello there.');
    }
    const body = { model: 'plain', input: 'Hi', background: true, stream: true as const };
    const events = await Array.fromAsync(await gateway.ann.responses.create(body));
    const [first, last] = [events.at(0), events.at(-1)];
    assert.ok(first?.type === 'response.created' && last?.type === 'response.completed');
    assert.deepEqual([first.response.background, last.response.output_text], [true, 'Hello there.']);
    await gateway.ann.responses.delete(id);
    await assert.rejects(gateway.ann.responses.retrieve(id), { status: 404 });
  });

  it('take part in a conversation, with their function calls', async () => {
    await using gateway = await openPlain();
    const { id: conversation } = await gateway.ann.conversations.create({});
    const ask = { model: 'plain', conversation, tools: [WEATHER] };
    await gateway.ann.responses.create({ ...ask, input: 'Weather in Kyoto?' });
    const output = { type: 'function_call_output' as const, call_id: 'call_1', output: '21 degrees' };
    const second = await gateway.ann.responses.create({ ...ask, input: [output] });
    assert.equal(second.output_text, 'It says: 21 degrees');
    const { data } = await gateway.ann.conversations.items.list(conversation, { order: 'asc' });
    assert.deepEqual(
      data.map(({ type }) => type),
      ['message', 'reasoning', 'function_call', 'function_call_output', 'message'],
    );
  });

  it('answer a repeat although the conversation now waits for the output of a call', async () => {
    await using gateway = await openPlain();
    const keyed = { headers: { 'idempotency-key': 'weather' } };
    for (const [first, again] of [
      [keyed, keyed],
      [{}, { headers: { 'x-stainless-retry-count': '1' } }],
    ]) {
      const { id: conversation } = await gateway.ann.conversations.create({});
      const file = { type: 'input_file' as const, filename: 'a.txt', file_data: btoa('My trip.') };
      const content = [{ type: 'input_text' as const, text: 'Weather in Kyoto?' }, file];
      const question = { model: 'plain', conversation, tools: [WEATHER], input: [{ role: 'user' as const, content }] };
      const { id } = await gateway.ann.responses.create(question, first);
      const stored = (await gateway.ann.files.list()).data.length;
      const { data, response } = await gateway.ann.responses.create(question, again).withResponse();
      assert.deepEqual([data.id, response.headers.get('idempotent-replayed')], [id, 'true']);
      await assert.rejects(gateway.ann.responses.create(question), /no output for the call call_1/);
      const items = await gateway.ann.conversations.items.list(conversation);
      assert.equal(items.data.length, 3);
      assert.equal((await gateway.ann.files.list()).data.length, stored, 'inline files of a repeat');
    }
  });

  it('keep repeated call ids apart, honour parallel_tool_calls: false, and reject an empty input', async () => {
    const twice = [0, 1].map((n) => ({ id: 'call_1', name: 'get_weather', arguments: `{"n":${n}}` }));
    const odd = [{ id: 'call_1', name: 'get_weather', arguments: '{"city":' }];
    await using gateway = await openPlain(({ body }) => {
      const question = body.messages?.at(-1)?.content;
      if (question === 'Oddly.') return turn({ reasoning: 'I ask.', toolCalls: odd });
      return question === 'Twice.' ? turn({ toolCalls: twice }) : turn({ text: 'So.' });
    });
    const ask = (fields: object) => gateway.ann.responses.create({ model: 'plain', ...fields });
    const call = { type: 'function_call', call_id: 'a', name: 'get_weather', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 'a', output: 'first' };
    const user = { role: 'user', content: 'Hi' };
    await ask({ input: [user, call, call, output, { ...output, output: 'second' }] });
    // In one turn a provider could not tell them apart.
    assert.deepEqual(
      gateway.provider.requests[0]?.body.messages?.map(({ role, content }) => (role === 'tool' ? content : role)),
      ['user', 'assistant', 'first', 'assistant', 'second'],
    );
    const tools = [WEATHER];
    const both = await ask({ input: 'Twice.', tools });
    const one = await ask({ input: 'Twice.', tools, parallel_tool_calls: false });
    assert.deepEqual([both.output.length, one.output.length], [2, 1]);
    // The dropped call needs no output.
    const [made] = one.output;
    assert.ok(made?.type === 'function_call');
    const next = { previous_response_id: one.id, input: [{ ...output, call_id: made.call_id }] };
    assert.equal((await ask(next)).output_text, 'So.');
    // Invalid arguments pass to the client; thoughts are shown as summaries on request.
    const oddly = await ask({ input: 'Oddly.', tools, reasoning: { summary: 'auto' } });
    const [thought, written] = oddly.output;
    assert.ok(thought?.type === 'reasoning' && written?.type === 'function_call');
    assert.deepEqual([thought.summary[0]?.text, written.arguments], ['I ask.', '{"city":']);
    const refused: [object, RegExp][] = [
      [{ input: [user, call, call, output] }, /no output for the call a/],
      [{ input: [{ role: 'user', content: [] }] }, /says nothing/],
      [{ input: [{ type: 'reasoning', summary: [] }] }, /says nothing/],
      [
        { input: 'Hi', tools, tool_choice: { type: 'allowed_tools', mode: 'required', tools: [] } },
        /no tool that could/,
      ],
    ];
    for (const [fields, message] of refused) {
      await assert.rejects(ask(fields), (error: Error & { status: number }) => {
        return error.status === 400 && message.test(error.message);
      });
    }
  });

  it('return a refusal as its own content part, also after a cut, and continue from it', async () => {
    const pieces = ['I cannot', ' say', ' that.'];
    const refusing = [...pieces.map((refusal) => chunk({ refusal })), chunk({}, 'stop')];
    await using gateway = await openPlain((_, n) => {
      if (n === 1) return frames(refusing.slice(0, 2), { done: false });
      return n === 2 ? turn({ text: ' that.' }) : frames(refusing);
    });
    const content = [{ type: 'refusal', refusal: 'I cannot say that.' }];
    const stream = gateway.ann.responses.stream({ model: 'plain', input: 'Tell.' });
    let joined = '';
    let done = '';
    stream.on('response.refusal.delta', ({ delta }) => {
      joined += delta;
    });
    stream.on('response.refusal.done', ({ refusal }) => {
      done = refusal;
    });
    const whole = await stream.finalResponse();
    assert.deepEqual([joined, done, whole.output_text], ['I cannot say that.', 'I cannot say that.', '']);
    const [message] = (await gateway.ann.responses.retrieve(whole.id)).output;
    assert.ok(message?.type === 'message');
    assert.deepEqual(message.content, content);
    // A refusal that was cut is continued in place.
    const [cut] = (await gateway.ann.responses.create({ model: 'plain', input: 'Tell.' })).output;
    assert.deepEqual(cut?.type === 'message' && cut.content, content);
    await gateway.ann.responses.create({ model: 'plain', input: 'Why?', previous_response_id: whole.id });
    await gateway.ann.responses.create({ model: 'plain', input: [message, { role: 'user', content: 'Why?' }] });
    for (const request of gateway.provider.requests.slice(-2)) {
      assert.ok(JSON.stringify(request.body.messages).includes('I cannot say that.'));
    }
  });

  it('fail if the provider calls a tool without a name and sends nothing else', async () => {
    await using gateway = await openPlain(() => turn({ toolCalls: [{ id: 'call_1', name: '', arguments: '{}' }] }));
    const response = await gateway.ann.responses.create({ model: 'plain', input: 'Hi', tools: [WEATHER] });
    assert.deepEqual([response.status, response.error?.code], ['failed', 'upstream_error']);
  });

  it('call functions in namespaces by both names, and report an unsupported web_search as ignored', async () => {
    await using gateway = await openPlain(({ body }) => {
      const offered = body.tools?.map((tool) => tool.function.name) ?? [];
      return body.messages?.at(-1)?.role === 'tool'
        ? turn({ text: 'Done.' })
        : turn({ toolCalls: [{ id: 'call_1', name: offered[1], arguments: '{}' }] });
    });
    const inside = { type: 'function' as const, name: 'find', description: 'Finds.', parameters: WEATHER.parameters };
    const tools: OpenAI.Responses.Tool[] = [
      WEATHER,
      { type: 'namespace', name: 'crm', description: 'Customers.', tools: [inside] },
      { type: 'web_search' },
    ];
    const { data: first, response } = await gateway.ann.responses
      .create({ model: 'plain', input: 'Who?', tools })
      .withResponse();
    assert.equal(response.headers.get('x-ignored-parameters'), 'tools[2]');
    const [call] = first.output;
    assert.ok(call?.type === 'function_call' && call.namespace === 'crm' && call.name === 'find', JSON.stringify(call));
    const output = { type: 'function_call_output' as const, call_id: 'call_1', output: 'Nobody' };
    const input = [{ role: 'user' as const, content: 'Who?' }, call, output];
    const second = await gateway.ann.responses.create({ model: 'plain', input, tools });
    assert.equal(second.output_text, 'Done.');
    const sent = gateway.provider.requests[1]?.body;
    assert.equal(sent?.messages?.[1].tool_calls[0].function.name, sent?.tools?.[1].function.name);
    const allowed = [{ type: 'function', name: 'find', namespace: 'crm' }, { type: 'web_search' }];
    const tool_choice = { type: 'allowed_tools' as const, mode: 'auto' as const, tools: allowed };
    // A tool that was left out may be named among those that are allowed.
    await gateway.ann.responses.create({ model: 'plain', input: 'Who?', tools, tool_choice });
    assert.equal(gateway.provider.requests.at(-1)?.body.tools?.length, 1);
  });

  it('call functions whose names providers refuse, by the names that the client knows', async () => {
    await using gateway = await openPlain(({ body }) => {
      const toolCalls =
        body.tools?.map((tool, n) => ({ id: `call_${n}`, name: tool.function.name, arguments: '{}' })) ?? [];
      return body.messages?.at(-1)?.role === 'tool' ? turn({ text: 'Done.' }) : turn({ toolCalls });
    });
    const named = (name: string) => ({ ...WEATHER, name });
    const tools: OpenAI.Responses.Tool[] = [
      named('files.read'),
      named('files__read'),
      named('git/log:v2'),
      { type: 'custom', name: 'patch.apply' },
      { type: 'namespace', name: 'crm', description: 'Customers.', tools: [named('people.find')] },
    ];
    const first = await gateway.ann.responses.create({ model: 'plain', input: 'Who?', tools });
    const names = first.output.map((item) =>
      item.type === 'function_call' || item.type === 'custom_tool_call' ? [item.namespace, item.name] : [],
    );
    assert.deepEqual(names, [
      [undefined, 'files.read'],
      [undefined, 'files__read'],
      [undefined, 'git/log:v2'],
      [undefined, 'patch.apply'],
      ['crm', 'people.find'],
    ]);
    const outputs = first.output.flatMap((item): OpenAI.Responses.ResponseInputItem[] => {
      if (item.type === 'custom_tool_call')
        return [{ type: 'custom_tool_call_output', call_id: item.call_id, output: 'Yes' }];
      return item.type === 'function_call'
        ? [{ type: 'function_call_output', call_id: item.call_id, output: 'Nobody' }]
        : [];
    });
    const input = [{ role: 'user', content: 'Who?' }, ...first.output, ...outputs] as typeof outputs;
    const answer = { model: 'plain', tools };
    const whole = await gateway.ann.responses.create({ ...answer, input });
    const byId = await gateway.ann.responses.create({ ...answer, input: outputs, previous_response_id: first.id });
    assert.deepEqual([whole.output_text, byId.output_text], ['Done.', 'Done.']);
    const choice = { type: 'function' as const, name: 'files.read' };
    await gateway.ann.responses.create({ model: 'plain', input: 'Who?', tools, tool_choice: choice });
    const sent = gateway.provider.requests.map(({ body }) => body);
    const offered = sent[0]?.tools?.map((tool) => String(tool.function.name)) ?? [];
    for (const name of offered) assert.match(name, /^[\w-]{1,64}$/);
    assert.equal(new Set(offered).size, tools.length);
    for (const { messages = [] } of sent.slice(1, 3)) {
      assert.deepEqual(
        messages[1]?.tool_calls.map(({ function: { name } }: { function: { name: string } }) => name),
        offered,
      );
    }
    assert.deepEqual(sent[3]?.tool_choice, { type: 'function', function: { name: offered[0] } });
  });

  it('load deferred functions by tool_search before calling them', async () => {
    await using gateway = await openPlain(({ body }) => {
      const calls =
        body.tools?.map((tool, n) => ({ id: `call_${n}`, name: tool.function.name, arguments: '{}' })) ?? [];
      return body.messages?.at(-1)?.role === 'tool' ? turn({ text: 'Done.' }) : turn({ toolCalls: calls });
    });
    const deferred = { ...WEATHER, defer_loading: true };
    const inside = { type: 'function' as const, name: 'find', parameters: WEATHER.parameters, defer_loading: true };
    const other = { ...WEATHER, name: 'other' };
    const tools: OpenAI.Responses.Tool[] = [
      deferred,
      { type: 'tool_search' },
      { type: 'namespace', name: 'crm', description: 'Customers.', tools: [inside] },
      other,
    ];
    const ask = { model: 'plain', tools };
    const events: string[] = [];
    const stream = gateway.ann.responses.stream({ ...ask, input: 'Who?' });
    stream.on('response.output_item.done', ({ item: { type } }) => events.push(type));
    const { output, id, tools: shown } = await stream.finalResponse();
    assert.deepEqual([shown[0], shown.at(-1)], [deferred, other]);
    const search = ['tool_search_call', 'tool_search_output', 'function_call'];
    assert.deepEqual(events, [...search, ...search, 'function_call']);
    const hostedFields = { call_id: null, execution: 'server', status: 'completed' };
    const [called, found, weather, , group, find, plain] = output;
    assert.deepEqual(
      { ...called, id: '' },
      { id: '', type: 'tool_search_call', arguments: { paths: ['get_weather'] }, ...hostedFields },
    );
    assert.deepEqual({ ...found, id: '' }, { id: '', type: 'tool_search_output', tools: [deferred], ...hostedFields });
    assert.ok(group?.type === 'tool_search_output' && group.tools[0]?.type === 'namespace');
    assert.deepEqual([group.tools[0].name, group.tools[0].tools[0]?.name], ['crm', 'find']);
    const names = [weather, find, plain].map((item) => item?.type === 'function_call' && [item.namespace, item.name]);
    assert.deepEqual(names, [
      ['get_weather', 'get_weather'],
      ['crm', 'find'],
      [undefined, 'other'],
    ]);
    const outputs = [0, 1, 2].map((n) => {
      return { type: 'function_call_output' as const, call_id: `call_${n}`, output: `It is ${n}.` };
    });
    // Clients send them back as items, as references to them, and by the response's id.
    const references = output.map((item) => ({ type: 'item_reference' as const, id: item.id ?? '' }));
    for (const items of [output as OpenAI.Responses.ResponseInput, references]) {
      const next = await gateway.ann.responses.create({ ...ask, input: [...items, ...outputs] });
      assert.equal(next.output_text, 'Done.');
      const sent = gateway.provider.requests.at(-1)?.body;
      const [turned] = sent?.messages ?? [];
      const calls: { function: { name: string } }[] = turned?.tool_calls ?? [];
      assert.deepEqual(
        calls.map((call) => call.function.name),
        sent?.tools?.map((tool) => tool.function.name),
      );
    }
    const byId = await gateway.ann.responses.create({ ...ask, previous_response_id: id, input: outputs });
    assert.equal(byId.output_text, 'Done.');
  });
});
