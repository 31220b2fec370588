import assert from 'node:assert/strict';
import { z } from 'zod';
import { open, send } from '../support/http-client.ts';
import { openResearchGateway, type ResearchGateway } from '../support/research-gateway.ts';
import { type ProviderRequest, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts';
import { SocketClient } from '../support/socket-client.ts';
import { strictMessages } from '../support/strict-wires.ts';
import { patience } from '../support/time-limit.ts';

/**
 * The cases of the Open Responses compliance suite (openresponses.org) against a plain model behind a provider that speaks
 * chat completions only, one behind a provider that speaks Messages only, and those that apply against a research model
 * with the OpenAI profile. The schemas below are written anew after the suite's schemas of responses and events.
 */

const int = z.number().int();
const text = z.object({ type: z.enum(['output_text', 'summary_text', 'reasoning_text']), text: z.string() });
const annotation = z.object({
  type: z.literal('url_citation'),
  url: z.string(),
  title: z.string(),
  start_index: int,
  end_index: int,
});
const outputText = text.extend({
  type: z.literal('output_text'),
  annotations: z.array(annotation),
  logprobs: z.array(z.unknown()),
});
const item = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message'),
    id: z.string(),
    status: z.enum(['in_progress', 'completed', 'incomplete']),
    role: z.literal('assistant'),
    content: z.array(outputText),
  }),
  z.object({ type: z.literal('reasoning'), id: z.string(), summary: z.array(text), content: z.array(text).optional() }),
  z.object({
    type: z.literal('function_call'),
    id: z.string(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    status: z.enum(['in_progress', 'completed', 'incomplete']),
  }),
  z.object({
    type: z.literal('web_search_call'),
    id: z.string(),
    status: z.enum(['in_progress', 'searching', 'completed', 'failed']),
    action: z.union([
      z.object({ type: z.literal('search'), query: z.string(), queries: z.array(z.string()).optional() }),
      z.object({ type: z.literal('open_page'), url: z.string() }),
    ]),
  }),
]);
const usage = z.object({
  input_tokens: int,
  output_tokens: int,
  total_tokens: int,
  input_tokens_details: z.object({ cached_tokens: int }),
  output_tokens_details: z.object({ reasoning_tokens: int }),
});
const resource = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: int,
  completed_at: int.nullable(),
  status: z.string(),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(item),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(z.unknown()),
  tool_choice: z.enum(['none', 'auto', 'required']),
  truncation: z.enum(['auto', 'disabled']),
  parallel_tool_calls: z.boolean(),
  text: z.object({ format: z.object({ type: z.enum(['text', 'json_object', 'json_schema']) }) }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: int,
  temperature: z.number(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }).nullable(),
  usage: usage.nullable(),
  max_output_tokens: int.nullable(),
  max_tool_calls: int.nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.unknown(),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
});

const numbered = { sequence_number: int };
const inItem = { ...numbered, item_id: z.string(), output_index: int };
const inContent = { ...inItem, content_index: int };
const inSummary = { ...inItem, summary_index: int };
/** The events that the suite accepts: any other one fails it. */
const event = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['response.created', 'response.in_progress']), ...numbered, response: resource }),
  z.object({ type: z.enum(['response.completed', 'response.failed']), ...numbered, response: resource }),
  z.object({
    type: z.enum(['response.output_item.added', 'response.output_item.done']),
    ...numbered,
    output_index: int,
    item: item.nullable(),
  }),
  z.object({ type: z.enum(['response.content_part.added', 'response.content_part.done']), ...inContent, part: text }),
  z.object({ type: z.literal('response.output_text.delta'), ...inContent, delta: z.string() }),
  z.object({ type: z.literal('response.output_text.done'), ...inContent, text: z.string() }),
  z.object({
    type: z.literal('response.output_text.annotation.added'),
    ...inContent,
    annotation_index: int,
    annotation,
  }),
  z.object({
    type: z.enum(['response.reasoning_summary_part.added', 'response.reasoning_summary_part.done']),
    ...inSummary,
    part: text,
  }),
  z.object({ type: z.literal('response.reasoning_summary_text.delta'), ...inSummary, delta: z.string() }),
  z.object({ type: z.literal('response.reasoning_summary_text.done'), ...inSummary, text: z.string() }),
  z.object({ type: z.enum(['response.reasoning_text.delta']), ...inContent, delta: z.string() }),
  z.object({ type: z.enum(['response.reasoning_text.done']), ...inContent, text: z.string() }),
  z.object({ type: z.literal('response.function_call_arguments.delta'), ...inItem, delta: z.string() }),
  z.object({ type: z.literal('response.function_call_arguments.done'), ...inItem, arguments: z.string() }),
]);

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const say = (role: string, content: unknown) => ({ type: 'message', role, content });
const CASES: Record<string, object[]> = {
  'Basic Text Response': [say('user', 'Say hello in exactly 3 words.')],
  'System Prompt': [say('system', 'You are a pirate. Always respond in pirate speak.'), say('user', 'Say hello.')],
  'Image Input': [
    say('user', [
      { type: 'input_text', text: 'What do you see in this image? Answer in one sentence.' },
      { type: 'input_image', image_url: PIXEL },
    ]),
  ],
  'Multi-turn Conversation': [
    say('user', 'My name is Alice.'),
    say('assistant', 'Hello Alice! Nice to meet you. How can I help you today?'),
    say('user', 'What is my name?'),
  ],
  'Assistant Message Phase': [
    { ...say('assistant', 'I should answer with the saved number.'), phase: 'commentary' },
    { ...say('assistant', 'The number is four.'), phase: 'final_answer' },
    say('user', 'Repeat only the number.'),
  ],
};
const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'Get the current weather for a location',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
};
const compacted = z.object({
  id: z.string(),
  object: z.literal('response.compaction'),
  created_at: int,
  output: z.array(z.looseObject({ type: z.string() })).min(1),
  usage,
});

/** A delta event that the stream of each model contains. */
const DELTAS = {
  deep: 'response.reasoning_summary_text.delta',
  plain: 'response.output_text.delta',
  messages: 'response.output_text.delta',
};
/** Plain models behind a provider of chat completions, and of Messages. */
const PLAIN = ['plain', 'messages'];
const asksWeather = (request: unknown) => JSON.stringify(request).includes('weather');

describe('Open Responses', function () {
  // Gateways are started as processes.
  this.timeout(patience(30));
  let gateway: ResearchGateway;
  let provider: ScriptedProvider;
  const tool = () => ({ name: 'get_weather', arguments: '{"location":"San Francisco, CA"}' });
  const answering = strictMessages(0, { thinks: 'adaptive' });
  const calling = strictMessages(1, { thinks: 'adaptive', tool });
  before(async () => {
    const respond = (request: ProviderRequest) =>
      asksWeather(request.body.messages) ? calling.respond(request) : answering.respond(request);
    provider = await startScriptedProvider({ respond });
    const proxy = { kind: 'proxy', vision: true, apis: ['responses'] };
    gateway = await openResearchGateway({
      deep: { profile: 'openai', vision: true },
      providers: { anthropic: { base_url: provider.url, wire: 'messages', api_key: 'sk-provider', max_retries: 0 } },
      models: {
        plain: { ...proxy, routes: [{ provider: 'scripted', model: 'p' }] },
        messages: { ...proxy, routes: [{ provider: 'anthropic', model: 'p' }] },
      },
      model: (request) => {
        if (asksWeather(request.messages)) {
          return { toolCalls: [{ id: 'call_1', name: 'get_weather', arguments: '{"location":"San Francisco, CA"}' }] };
        }
        return request.research ? { reasoning: 'Hm.', text: 'I know it.' } : { text: 'Hello there, you.' };
      },
    });
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
    assert.deepEqual([...answering.refusals, ...calling.refusals], []);
  });

  for (const [name, input] of Object.entries(CASES)) {
    it(name, async () => {
      for (const model of ['deep', ...PLAIN]) {
        const answer = await send(gateway, 'POST /v1/responses', { body: { model, input, stream: false } });
        assert.equal(answer.status, 200, answer.text);
        const response = resource.parse(answer.json);
        assert.equal(response.status, 'completed');
        assert.ok(response.output.length > 0);
      }
    });
  }

  for (const model of PLAIN) {
    const weather = { model, input: [say('user', 'How is the weather in San Francisco?')], tools: [WEATHER] };

    it(`Tool Calling (${model})`, async () => {
      const answer = await send(gateway, 'POST /v1/responses', { body: weather });
      const response = resource.parse(answer.json);
      assert.ok(response.output.some(({ type }) => type === 'function_call'));
    });

    it(`Tool Calling, streamed (${model})`, async () => {
      const events = await streamed({ ...weather, stream: true });
      const types = events.map((one) => ('item' in one ? `${one.type} ${one.item?.type}` : one.type));
      for (const type of [
        'response.output_item.added function_call',
        'response.function_call_arguments.delta',
        'response.function_call_arguments.done',
        'response.output_item.done function_call',
      ]) {
        assert.ok(types.includes(type), `${type} among ${types}`);
      }
    });

    it(`Compaction Endpoint (${model})`, async () => {
      const input = [say('user', 'My favourite colour is green.'), say('user', 'What is it?')];
      const answer = await send(gateway, 'POST /v1/responses/compact', { body: { model, input } });
      const { output } = compacted.parse(answer.json);
      assert.ok(output.some(({ type }) => type === 'compaction'));
      assert.equal((await send(gateway, 'POST /v1/responses/compact', { body: { input } })).status, 400);
    });

    it(`WebSocket: responses in turn, continued, and without storing (${model})`, async () => {
      await using socket = await SocketClient.open(gateway);
      const ask = async (fields: object) => {
        socket.create({ model, input: [say('user', 'Say hello.')], ...fields });
        const response = resource.parse(await socket.end());
        for (const frame of socket.frames.splice(0)) event.parse(frame);
        assert.deepEqual([response.status, response.output.length > 0], ['completed', true]);
        return response;
      };
      const first = await ask({});
      const second = await ask({ previous_response_id: first.id });
      assert.equal(second.previous_response_id, first.id);
      const unstored = await ask({ store: false });
      assert.equal((await send(gateway, `GET /v1/responses/${unstored.id}`)).status, 404);
      await ask({ store: false, previous_response_id: unstored.id });
      socket.create({ model, input: 'Hi', previous_response_id: 'resp_none' });
      assert.equal((await socket.error()).code, 'previous_response_not_found');
      await ask({});
    });
  }

  async function streamed(body: object) {
    const text = await (await open(gateway, 'POST /v1/responses', { body })).text();
    const frames = text.split('\n\n').filter(Boolean);
    return frames.map((frame) => event.parse(JSON.parse(frame.slice(frame.indexOf('data: ') + 6))));
  }

  it('Streaming Response', async () => {
    for (const [model, delta] of Object.entries(DELTAS)) {
      const events = await streamed({ model, input: [say('user', 'Count from 1 to 5.')], stream: true });
      const last = events.at(-1);
      assert.ok(last?.type === 'response.completed' && last.response.status === 'completed');
      assert.ok(events.some(({ type }) => type === delta));
    }
  });

  it('returns JSON without "stream" and SSE with it, as OpenAI’s API does', async () => {
    const body = { model: 'deep', input: 'Say hello.' };
    resource.parse((await send(gateway, 'POST /v1/responses', { body })).json);
    const streamed = await send(gateway, 'POST /v1/responses', { body: { ...body, stream: true } });
    assert.equal(streamed.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  });
});
