import assert from 'node:assert/strict';
import {
  type AssistantMessage,
  type ChatModel,
  TurnError,
  type TurnMessage,
  type TurnRequest,
} from '../../../src/upstream/turn.ts';
import { tool } from '../../support/decode-turn.ts';
import { frames, json, startScriptedProvider, status, turn } from '../../support/scripted-provider.ts';
import { type StrictServer, strictMessages, strictResponses } from '../../support/strict-wires.ts';
import { ask, chat, config, finishOf, textOf } from './chat-harness.ts';

const TURNS = 40;
const START: TurnMessage[] = [
  { role: 'system', content: 'Look things up.' },
  { role: 'user', content: 'What is the answer?' },
];
const SERVERS = {
  responses: () => strictResponses(TURNS),
  'messages, adaptive thinking': () => strictMessages(TURNS, { thinks: 'adaptive' }),
  'messages, thinking with a budget': () => strictMessages(TURNS, { thinks: 'enabled' }),
};

const wireOf = (name: string) => name.split(',')[0];

const chatCalls = (names: string[]) =>
  names.map((name, index) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: '{"n":1}' },
  }));
const items = (names: string[]) =>
  names.map((name, n) => ({ type: 'function_call', id: `fc_${n}`, call_id: `call_${n}`, name, arguments: '{"n":1}' }));
const blocks = (names: string[]) =>
  names.map((name, n) => ({ type: 'tool_use', id: `call_${n}`, name, input: { n: 1 } }));
const usage = { input_tokens: 1, output_tokens: 1 };

/** An answer that calls tools of these names, by wire. */
const CALLING = {
  chat: {
    answer: (names: string[]) => ({
      object: 'chat.completion',
      choices: [
        { index: 0, message: { role: 'assistant', tool_calls: chatCalls(names) }, finish_reason: 'tool_calls' },
      ],
    }),
    stream: (names: string[]) =>
      frames([
        { choices: [{ index: 0, delta: { role: 'assistant', tool_calls: chatCalls(names) } }] },
        { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      ]),
  },
  responses: {
    answer: (names: string[]) => ({ object: 'response', status: 'completed', output: items(names), usage }),
    stream: (names: string[]) => {
      const output = items(names);
      const events = output.flatMap((item, output_index) => [
        { type: 'response.output_item.added', output_index, item: { ...item, arguments: '' } },
        { type: 'response.function_call_arguments.delta', output_index, delta: item.arguments },
        { type: 'response.output_item.done', output_index, item },
      ]);
      const end = { type: 'response.completed', response: { status: 'completed', output, usage } };
      return frames([...events, end], { done: false });
    },
  },
  messages: {
    answer: (names: string[]) => ({
      type: 'message',
      role: 'assistant',
      content: blocks(names),
      stop_reason: 'tool_use',
      usage,
    }),
    stream: (names: string[]) => {
      const events = blocks(names).flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: { ...block, input: {} } },
        { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: '{"n":1}' } },
        { type: 'content_block_stop', index },
      ]);
      const start = { type: 'message_start', message: { usage } };
      const end = [{ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage }, { type: 'message_stop' }];
      return frames([start, ...events, ...end], { done: false });
    },
  },
};

interface Loop {
  messages: TurnMessage[];
  text: string;
  reasoning: string;
}

/** Runs a tool loop to its end; the history passes through JSON every time, as after a crash. */
async function loop(model: ChatModel, messages: TurnMessage[], most = Number.POSITIVE_INFINITY): Promise<Loop> {
  let kept = messages;
  let reasoning = '';
  for (let n = 0; n < most; n += 1) {
    const request: TurnRequest = {
      messages: kept,
      tools: [tool('look_up', { n: 'integer' })],
      maxOutputTokens: 4096,
      temperature: 0.3,
      cacheKey: 'run-1',
    };
    const parts = await Array.fromAsync(model.turn(request, { signal: new AbortController().signal }));
    for (const part of parts) if (part.type === 'reasoning') reasoning += part.delta;
    const { message, reason, usage } = finishOf(parts);
    assert.equal(usage.estimated, false);
    kept = JSON.parse(JSON.stringify([...kept, message]));
    if (reason === 'stop') return { messages: kept, text: textOf(parts), reasoning };
    assert.equal(reason, 'tool_calls');
    for (const call of message.tool_calls ?? []) {
      kept.push({ role: 'tool', tool_call_id: call.id, content: `found ${call.arguments}` });
    }
  }
  return { messages: kept, text: '', reasoning };
}

async function start(strict: StrictServer, wire: string | undefined, others: Record<string, object> = {}) {
  const provider = await startScriptedProvider({ respond: (request) => strict.respond(request) });
  const made = chat(config({ strict: { base_url: provider.url, api_key: 'sk-strict', wire }, ...others }));
  return {
    provider,
    ...made,
    async [Symbol.asyncDispose]() {
      await made.upstream[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

describe('a tool loop over the Responses or Messages API', () => {
  for (const [name, make] of Object.entries(SERVERS)) {
    it(`runs ${TURNS} turns with its reasoning sent back (${name})`, async () => {
      const strict = make();
      await using world = await start(strict, wireOf(name));
      const { text, reasoning } = await loop(world.model, START);
      assert.equal(text, 'All found.');
      assert.ok(reasoning.startsWith('Thought 0.Thought 1.') && reasoning.endsWith(`Thought ${TURNS}.`));
      // The right form of the request is learned once, from at most three refusals.
      assert.ok(strict.refusals.length <= 3, strict.refusals.join('\n'));
      const last = JSON.stringify(world.provider.requests.at(-1)?.body);
      assert.equal(last.split(name === 'responses' ? '"encrypted_content":' : '"signature":').length - 1, TURNS);
    });

    it(`continues without reasoning if its history was changed (${name})`, async () => {
      const strict = make();
      await using world = await start(strict, wireOf(name));
      const { messages } = await loop(world.model, START, 6);
      const changed = messages.map(
        (message, n): TurnMessage =>
          message.role === 'tool' && n < 5 ? { ...message, content: 'shortened' } : message,
      );
      const { text } = await loop(world.model, changed);
      assert.equal(text, 'All found.');
      assert.ok(strict.refusals.length <= 6, strict.refusals.join('\n'));
    });

    it(`moves to a chat completions provider and back, without the other's reasoning (${name})`, async () => {
      const strict = make();
      let down = false;
      await using other = await startScriptedProvider({
        respond: (_, n) =>
          turn({ reasoning: 'hm', toolCalls: [{ name: 'look_up', arguments: `{"n":${n}}` }], text: '' }),
      });
      await using world = await start(strict, wireOf(name), { other: { base_url: other.url } });
      world.provider.respond = (request) => (down ? status(503) : strict.respond(request));
      const first = await loop(world.model, START, 3);
      down = true;
      const second = await loop(world.model, first.messages, 2);
      down = false;
      const sent = JSON.stringify(other.requests[0]?.body);
      assert.ok(!/encrypted_content|signature|"wire"/.test(sent), sent);
      const { text } = await loop(world.model, second.messages);
      assert.equal(text, 'All found.');
      assert.ok(!JSON.stringify(world.provider.requests.at(-1)?.body).includes('"hm"'));
    });
  }
});

describe('a text over the Responses or Messages API', () => {
  const answers = {
    responses: (text: string) => ({
      object: 'response',
      status: 'completed',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }],
    }),
    messages: (text: string) => ({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
    }),
  };
  for (const [wire, answer] of Object.entries(answers)) {
    it(`may hold thoughts, calls and special tokens, as in chat completions (${wire})`, async () => {
      const call = '<tool_call>{"name": "look_up", "arguments": {"n": 1}}</tool_call>';
      await using provider = await startScriptedProvider({
        respond: (_, n) => json(answer(`<think>Hm.</think>${n === 0 ? `I look.\n${call}` : 'Found.'}<|im_end|>`)),
      });
      const { upstream, model } = chat(config({ main: { base_url: provider.url, wire } }));
      await using _ = upstream;
      const tools = [tool('look_up', { n: 'integer' })];
      const first = finishOf(await ask(model, { messages: START, tools }));
      assert.equal(first.reason, 'tool_calls');
      assert.equal(first.message.content.trim(), 'I look.');
      const [called] = first.message.tool_calls ?? [];
      assert.deepEqual([called?.name, called?.arguments], ['look_up', '{"n":1}']);
      const result: TurnMessage = { role: 'tool', tool_call_id: called?.id ?? '', content: 'One.' };
      const second = await ask(model, { messages: [...START, first.message, result], tools });
      assert.equal(textOf(second), 'Found.');
      const sent = JSON.stringify(provider.requests[1]?.body);
      assert.equal(sent.split(called?.id ?? '-').length - 1, 2, sent);
      assert.doesNotMatch(sent, /<think>|<tool_call>/);
    });
  }
});

describe('an answer of thoughts alone', () => {
  const answers = {
    chat: { object: 'chat.completion', choices: [{ finish_reason: 'stop', message: { reasoning_content: 'Hm.' } }] },
    responses: {
      object: 'response',
      status: 'completed',
      output: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] }],
    },
    messages: { type: 'message', content: [{ type: 'thinking', thinking: 'Hm.' }], stop_reason: 'end_turn' },
  };
  for (const [wire, answer] of Object.entries(answers)) {
    it(`is no empty answer (${wire})`, async () => {
      await using provider = await startScriptedProvider({ respond: () => json(answer) });
      const { upstream, model } = chat(config({ main: { base_url: provider.url, wire } }));
      await using _ = upstream;
      const parts = await ask(model, { messages: START });
      assert.deepEqual([finishOf(parts).reason, parts[0]], ['stop', { type: 'reasoning', delta: 'Hm.' }]);
    });
  }
});

describe('the items of a response', () => {
  const thought = { type: 'reasoning', id: 'r', summary: [], encrypted_content: 'sealed' };
  const message = { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] };
  const call = (n: number) => ({
    type: 'function_call',
    id: `f${n}`,
    call_id: `c${n}`,
    name: 'look_up',
    arguments: '{}',
  });
  const items = [thought, message, call(1), call(2)];
  // Relays that translate other APIs number items as they like, and leave some out.
  for (const [how, places, streamed] of [
    ['in their order', [0, 1, 2, 3], items],
    ['numbered from one', [1, 2, 3, 4], items],
    ['numbered alike', [0, 0, 0, 0], items],
    ['calls numbered by themselves', [0, 1, 0, 1], items],
    ['not numbered', [], items],
    ['in another order', [3, 0, 1, 2], items],
    ['only in the last event', [], []],
    ['in part only in the last event', [0, 1], [message, call(1)]],
  ] as const) {
    it(`count once, however they are streamed: ${how}`, async () => {
      const done = streamed.map((item, n) => ({ type: 'response.output_item.done', output_index: places[n], item }));
      const response = { object: 'response', status: 'completed', output: items };
      const events = [...done, { type: 'response.completed', response }];
      await using provider = await startScriptedProvider({ respond: () => frames(events, { done: false }) });
      const { upstream, model } = chat(config({ main: { base_url: provider.url, wire: 'responses' } }));
      await using _ = upstream;
      const request = { messages: START, tools: [tool('look_up')] };
      const parts = await Array.fromAsync(model.turn(request, { signal: new AbortController().signal }));
      const { message: kept } = finishOf(parts);
      assert.equal(textOf(parts), 'I look.');
      assert.deepEqual(
        kept.tool_calls?.map(({ id }) => id),
        ['c1', 'c2'],
      );
      const { output } = kept.replay?.fields ?? {};
      assert.ok(Array.isArray(output) && new Set(output.map((item) => JSON.stringify(item))).size === output.length);
    });
  }
});

describe('a request over the Responses or Messages API', () => {
  const body = async (wire: string, request: Partial<TurnRequest>) => {
    const strict = wire === 'responses' ? strictResponses(0) : strictMessages(0, { thinks: 'adaptive' });
    await using world = await start(strict, wire);
    const full = { messages: START, tools: [tool('look_up')], ...request };
    await Array.fromAsync(world.model.turn(full, { signal: new AbortController().signal }));
    assert.deepEqual(strict.refusals, []);
    return world.provider.requests[0]?.body ?? {};
  };

  it('keeps tools that may not be called', async () => {
    assert.equal((await body('responses', { toolChoice: 'none' })).tool_choice, 'none');
    const messages = await body('messages', { toolChoice: 'none' });
    assert.deepEqual(messages.tool_choice, { type: 'none' });
    assert.equal(messages.tools?.length, 1);
  });

  it('carries the answer format and cache hints', async () => {
    const schema = { type: 'object', properties: {} };
    const responseFormat = { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } };
    const responses = await body('responses', { responseFormat, cacheKey: 'k' });
    assert.deepEqual(responses.text, { format: { type: 'json_schema', name: 'x', schema, strict: true } });
    assert.equal(responses.prompt_cache_key, 'k');
    assert.equal(responses.instructions, 'Look things up.');
    const messages = await body('messages', { responseFormat });
    assert.match(JSON.stringify(messages.system), /follows this schema.*"cache_control":\{"type":"ephemeral"\}/);
    assert.match(JSON.stringify(messages.messages), /What is the answer\?","cache_control"/);
  });

  it('marks for the cache of Messages what later requests repeat, and not what only this one ends with', async () => {
    const calls = [{ id: 'call_1', name: 'look_up', arguments: '{}' }];
    const messages: TurnMessage[] = [
      ...START,
      { role: 'assistant', content: '', tool_calls: calls },
      { role: 'tool', tool_call_id: 'call_1', content: 'found' },
      { role: 'user', content: 'Your plan so far: nothing is done.' },
    ];
    const sent = await body('messages', { messages, stablePrefix: 4 });
    const blocks = (sent.messages ?? []).flatMap(({ content }) => content);
    const marked = blocks.flatMap((block) => (JSON.stringify(block).includes('"cache_control"') ? [block] : []));
    assert.deepEqual(
      marked.map((block) => Reflect.get(Object(block), 'type')),
      ['tool_result'],
    );
  });

  it('uses a strict schema over Messages if it can, until that is refused', async () => {
    const format = (schema: object, strict = true) => {
      return { responseFormat: { type: 'json_schema', json_schema: { name: 'x', schema: { ...schema }, strict } } };
    };
    const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const closed = { ...city, additionalProperties: false };
    const nested = { ...closed, properties: { cities: { type: 'array', items: closed } } };
    for (const schema of [closed, nested]) {
      const { output_config } = await body('messages', format(schema));
      assert.deepEqual(output_config, { format: { type: 'json_schema', schema } });
    }
    const bounded = { ...nested, minProperties: 1, properties: { city: { type: 'string', minLength: 1 } } };
    const { minProperties: _, ...short } = bounded;
    const sent = JSON.stringify((await body('messages', format(short))).output_config);
    assert.ok(sent.includes('"city":{"type":"string"}'), 'bounds stand in the instructions alone');
    const open = { ...closed, properties: { cities: { type: 'array', items: city } } };
    for (const request of [format(city), format(closed, false), format(bounded), format(open)]) {
      assert.equal((await body('messages', request)).output_config, undefined);
    }
    const strict = strictMessages(0, { thinks: 'adaptive' });
    await using world = await start(strict, 'messages');
    const refusal = { type: 'error', error: { message: 'output_config: Extra inputs are not permitted' } };
    world.provider.respond = (request) =>
      request.body.output_config ? status(400, { body: refusal }) : strict.respond(request);
    for (const asked of [2, 3]) {
      assert.equal(textOf(await ask(world.model, { messages: START, ...format(closed) })), 'All found.');
      assert.equal(world.provider.requests.length, asked, 'a refusal is remembered');
    }
  });

  it('encodes PDFs and audio as the API expects', async () => {
    const file = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' };
    const audio = { type: 'input_audio' as const, input_audio: { data: 'SUQz', format: 'mp3' } };
    const messages = [{ role: 'user' as const, content: [{ type: 'file' as const, file }, audio] }];
    const responses = JSON.stringify((await body('responses', { messages })).input);
    assert.ok(responses.includes(JSON.stringify([{ type: 'input_file', ...file }, audio])), responses);
    assert.match(
      JSON.stringify((await body('messages', { messages })).messages),
      /"document","source":\{"type":"base64","media_type":"application\/pdf","data":"JVBERg=="\},"title":"a\.pdf"/,
    );
  });

  it('returns logprobs from deltas or a whole message, and does not send them back', async () => {
    const logprobs = ['Hel', 'lo'].map((token) => ({ token, logprob: -1, bytes: null, top_logprobs: [] }));
    const item = (status: string, content: object[]) => ({
      type: 'message',
      id: 'm',
      role: 'assistant',
      status,
      content,
    });
    const whole = item('completed', [{ type: 'output_text', text: 'Hello', annotations: [], logprobs }]);
    const end = [
      { type: 'response.output_item.done', output_index: 0, item: whole },
      { type: 'response.completed', response: { object: 'response', status: 'completed', output: [whole] } },
    ];
    const deltas = [
      { type: 'response.output_item.added', output_index: 0, item: item('in_progress', []) },
      { type: 'response.output_text.delta', output_index: 0, delta: 'Hello', logprobs },
    ];
    for (const events of [[...deltas, ...end], end]) {
      await using provider = await startScriptedProvider({ respond: () => frames(events, { done: false }) });
      const { upstream, model } = chat(config({ main: { base_url: provider.url, wire: 'responses' } }));
      await using _ = upstream;
      const parts = await ask(model, { messages: START, logprobs: 0 });
      const told = parts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []));
      assert.deepEqual(
        told.map(({ token, bytes }) => [token, bytes]),
        [
          ['Hel', [72, 101, 108]],
          ['lo', [108, 111]],
        ],
      );
      assert.doesNotMatch(JSON.stringify(finishOf(parts).message.replay), /-1/);
      const { include, top_logprobs } = provider.requests[0]?.body ?? {};
      assert.deepEqual([include, top_logprobs], [['reasoning.encrypted_content', 'message.output_text.logprobs'], 0]);
    }
  });

  it('gives the arguments of a call as they came over Messages', async () => {
    const written = '{"id": 12345678901234567890, "ratio": 1.0, "a": 1, "a": 2}';
    const events = [
      { type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 1 } } },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 't', name: 'look_up', input: {} },
      },
      ...[written.slice(0, 20), `${written.slice(20)} `].map((partial_json) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json },
      })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ];
    await using provider = await startScriptedProvider({ respond: () => frames(events, { done: false }) });
    const { upstream, model } = chat(config({ main: { base_url: provider.url, wire: 'messages' } }));
    await using _ = upstream;
    const { message } = finishOf(await ask(model, { messages: START, tools: [tool('look_up', {})] }));
    assert.deepEqual(message.tool_calls, [{ id: 't', name: 'look_up', arguments: written }]);
  });

  for (const [wire, { answer, stream }] of Object.entries(CALLING)) {
    for (const isStreamed of [false, true]) {
      const how = `${wire}, ${isStreamed ? 'streamed' : 'whole'}`;
      it(`drops calls without a name and does not send them back (${how})`, async () => {
        await using provider = await startScriptedProvider({
          respond: () => (isStreamed ? stream(['', 'look_up', '']) : json(answer(['', 'look_up', '']))),
        });
        const { upstream, model } = chat(config({ main: { base_url: provider.url, wire } }));
        await using _ = upstream;
        const tools = [tool('look_up', { n: 'integer' })];
        const { message, reason } = finishOf(await ask(model, { messages: START, tools }));
        assert.equal(reason, 'tool_calls');
        assert.deepEqual(
          message.tool_calls?.map(({ id, name }) => [id, name]),
          [['call_1', 'look_up']],
        );
        const result: TurnMessage = { role: 'tool', tool_call_id: 'call_1', content: 'Found.' };
        await ask(model, { messages: [...START, message, result], tools });
        assert.doesNotMatch(JSON.stringify(provider.requests.at(-1)?.body), /call_[02]/);
      });

      it(`takes calls without a name alone for an empty answer (${how})`, async () => {
        await using provider = await startScriptedProvider({
          respond: () => (isStreamed ? stream(['', '']) : json(answer(['', '']))),
        });
        const { upstream, model } = chat(config({ main: { base_url: provider.url, wire } }));
        await using _ = upstream;
        const asked = ask(model, { messages: START, tools: [tool('look_up', { n: 'integer' })] });
        await assert.rejects(asked, (error) => error instanceof TurnError && error.saysNothing);
      });
    }
  }

  for (const isReplayed of [true, false]) {
    it(`sends the numbers of a call as they came over Messages, ${isReplayed ? 'with' : 'without'} its block`, async () => {
      const written = '{"id":12345678901234567890,"far":[1e400,-0.1234567890123456789],"text":"12345678901234567890"}';
      const block = { type: 'tool_use', id: 't', name: 'look_up', input: {} };
      const events = [
        { type: 'message_start', message: { usage } },
        { type: 'content_block_start', index: 0, content_block: block },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: written } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage },
        { type: 'message_stop' },
      ];
      await using provider = await startScriptedProvider({ respond: () => frames(events, { done: false }) });
      const { upstream, model } = chat(config({ main: { base_url: provider.url, wire: 'messages' } }));
      await using _ = upstream;
      const tools = [tool('look_up', {})];
      const { message } = finishOf(await ask(model, { messages: START, tools }));
      const { replay, ...plain } = message;
      const kept: AssistantMessage = isReplayed ? { ...plain, ...(replay && { replay }) } : plain;
      const result: TurnMessage = { role: 'tool', tool_call_id: 't', content: 'Found.' };
      await ask(model, { messages: [...START, kept, result], tools });
      assert.ok(provider.requests.at(-1)?.bytes.toString().includes(`"input":${written}`));
    });
  }

  it('sends arguments nested too deeply as text', async () => {
    const args = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    const calls = [{ id: 'call_1', name: 'look_up', arguments: args }];
    const { messages } = await body('messages', {
      messages: [
        ...START,
        { role: 'assistant', content: '', tool_calls: calls },
        { role: 'tool', tool_call_id: 'call_1', content: 'Found.' },
      ],
    });
    const blocks = messages?.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    assert.ok(blocks?.find(({ type }) => type === 'tool_use')?.input.raw === args);
  });

  it('is never without input over Responses, which refuses that', async () => {
    const alone = [{ role: 'system' as const, content: 'Write a poem.' }];
    const { instructions, input } = await body('responses', { messages: alone });
    assert.deepEqual([instructions, input], [undefined, alone]);
  });

  it('says that a text of the assistant is a message', async () => {
    const messages = [...START, { role: 'assistant' as const, content: 'B' }, { role: 'user' as const, content: 'C' }];
    const { input } = await body('responses', { messages });
    assert.deepEqual(Array.isArray(input) && input.at(-2), { type: 'message', role: 'assistant', content: 'B' });
  });

  it('sends calls without arguments with an empty object', async () => {
    const messages = [
      ...START,
      { role: 'assistant' as const, content: '', tool_calls: [{ id: 'call_1', name: 'look_up', arguments: ' ' }] },
      { role: 'tool' as const, tool_call_id: 'call_1', content: 'Found.' },
    ];
    for (const wire of ['responses', 'messages']) {
      const sent = JSON.stringify(await body(wire, { messages }));
      assert.match(sent, /"(?:arguments":"\{\}"|input":\{\})/, wire);
      assert.doesNotMatch(sent, /raw/, wire);
    }
  });

  it('encodes images as the API expects', async () => {
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'image_url' as const, image_url: { url: 'https://a.example/b.png' } },
    ];
    const messages = [{ role: 'user' as const, content }];
    assert.match(
      JSON.stringify((await body('responses', { messages })).input),
      /"input_image","image_url":"data:image/,
    );
    const sent = JSON.stringify((await body('messages', { messages })).messages);
    assert.match(
      sent,
      /"base64","media_type":"image\/png","data":"AAAA".*"type":"url","url":"https:\/\/a\.example\/b\.png"/,
    );
  });
});
