import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { type Gateway, startGateway } from '../../src/server.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import {
  frames,
  type Script,
  type ScriptedProvider,
  type Step,
  startScriptedProvider,
} from '../support/scripted-provider.ts';

const TOOL = { type: 'function' as const, name: 'look', parameters: { type: 'object', properties: {} }, strict: null };
const thought = (n: number) => {
  const shown = [{ type: 'summary_text', text: 'I think.' }];
  return { type: 'reasoning', id: `rs_${n}`, summary: shown, encrypted_content: `sealed-${n}` };
};
const message = (n: number, phase: string, text: string) => ({
  type: 'message',
  id: `msg_${n}`,
  role: 'assistant',
  status: 'completed',
  phase,
  content: [{ type: 'output_text', text, annotations: [] }],
});
const OUTPUT = [thought(0), message(1, 'commentary', 'I look.'), message(2, 'final_answer', '{"it":"is"}')];

/** A turn in the events of OpenAI's Responses API. */
function turnOf(output: typeof OUTPUT) {
  const events = output.flatMap((item, output_index) => {
    const { content, summary } = item as { content?: { text: string }[]; summary?: { text: string }[] };
    const type = content ? 'response.output_text.delta' : 'response.reasoning_summary_text.delta';
    const delta = (content ?? summary)?.[0]?.text;
    return [
      { type: 'response.output_item.added', output_index, item: { ...item, ...(content ? { content: [] } : {}) } },
      { type, output_index, delta },
      { type: 'response.output_item.done', output_index, item },
    ];
  });
  const response = { object: 'response', status: 'completed', output };
  return frames([...events, { type: 'response.completed', response }], { done: false });
}

/** The steps of a turn, broken off before the last event. */
function cutOff(script: Script | undefined): Step[] {
  return (script?.steps ?? []).flatMap((step): Step[] => {
    if (step.do !== 'send') return [{ do: 'cut' }];
    return [{ do: 'send', bytes: String(step.bytes).replace(/data: \{"type":"response\.completed"[\s\S]*/, '') }];
  });
}

function saidIn({ output }: OpenAI.Responses.Response) {
  return output.flatMap((item) => {
    if (item.type !== 'message') return [];
    const [part] = item.content;
    return [[item.phase, part?.type === 'output_text' && part.text]];
  });
}

describe('an answer whose provider marks messages as commentary or final answer', () => {
  let provider: ScriptedProvider;
  let gateway: Gateway;
  let client: OpenAI;

  before(async () => {
    provider = await startScriptedProvider({ respond: () => turnOf(OUTPUT) });
    const config = configSchema.parse({
      server: { port: 0 },
      store: { url: 'memory:' },
      providers: { only: { base_url: provider.url, wire: 'responses', api_key: 'sk-provider-0123', max_retries: 1 } },
      models: {
        plain: {
          kind: 'proxy',
          apis: ['responses', 'chat_completions'],
          responses: 'gateway',
          routes: [{ provider: 'only', model: 'm' }],
        },
      },
      keys: [{ id: 'ann', secret: 'sk-ann-0123456789abcdef' }],
    });
    gateway = await startGateway({ config, log: silentLogger, load: IDLE_LOAD });
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'sk-ann-0123456789abcdef', maxRetries: 0 });
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
  });

  const ask = { model: 'plain', tools: [TOOL], include: ['reasoning.encrypted_content' as const] };

  it('has one message for each phase, and sends them back unchanged', async () => {
    const response = await client.responses.stream({ ...ask, input: 'Is it?' }).finalResponse();
    assert.deepEqual(saidIn(response), [
      ['commentary', 'I look.'],
      ['final_answer', '{"it":"is"}'],
    ]);
    assert.deepEqual((await client.responses.retrieve(response.id)).output.length, response.output.length);
    const back = [
      { role: 'user' as const, content: 'Is it?' },
      ...response.output,
      { role: 'user' as const, content: 'So?' },
    ];
    await client.responses.create({ ...ask, input: back as OpenAI.Responses.ResponseInput });
    await client.responses.create({ ...ask, previous_response_id: response.id, input: 'So?' });
    const bare = JSON.parse(JSON.stringify(OUTPUT.map((item) => ({ ...item, status: undefined }))));
    for (const { body } of provider.requests.slice(-2)) assert.deepEqual(Object(body).input.slice(1, -1), bare);
  });

  it('shows commentary as thoughts in a chat completion, streamed and unstreamed', async () => {
    const chat = {
      model: 'plain',
      messages: [{ role: 'user' as const, content: 'Is it?' }],
      tools: [{ type: 'function' as const, function: { name: 'look', parameters: {} } }],
    };
    const [choice] = (await client.chat.completions.create(chat)).choices;
    assert.deepEqual(
      { ...choice?.message },
      { role: 'assistant', content: '{"it":"is"}', refusal: null, reasoning_content: 'I think.\n\nI look.' },
    );
    const joined = { content: '', reasoning_content: '' };
    for await (const chunk of await client.chat.completions.create({ ...chat, stream: true })) {
      const { content = '', reasoning_content = '' } = { ...chunk.choices[0]?.delta } as Partial<typeof joined>;
      joined.content += content;
      joined.reasoning_content += reasoning_content;
    }
    assert.deepEqual(joined, { content: '{"it":"is"}', reasoning_content: 'I think.\n\nI look.' });
  });

  it('keeps the phases apart if the provider breaks off between them', async () => {
    const texts = ['I look at it once more.', '{"it":"is"}'];
    const [note, answer] = ['commentary', 'final_answer'].map((phase, n) => turnOf([message(n, phase, `${texts[n]}`)]));
    const requestsBefore = provider.requests.length;
    provider.respond = (_, n) => {
      if (n > requestsBefore) return answer ?? turnOf(OUTPUT);
      return { status: 200, headers: { 'content-type': 'text/event-stream' }, ...note, steps: [...cutOff(note)] };
    };
    const response = await client.responses.create({ ...ask, input: 'Is it?' });
    assert.deepEqual(saidIn(response), [
      ['commentary', texts[0]],
      ['final_answer', texts[1]],
    ]);
  });
});
