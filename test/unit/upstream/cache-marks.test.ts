import assert from 'node:assert/strict';
import type { TurnMessage, TurnRequest } from '../../../src/upstream/turn.ts';
import { type ChatBody, startScriptedProvider, status, turn } from '../../support/scripted-provider.ts';
import { ask, chat, config, textOf } from './chat-harness.ts';

const calls = (n: number): TurnMessage[] =>
  Array.from({ length: n }, (_, i): TurnMessage[] => [
    { role: 'assistant', content: '', tool_calls: [{ id: `c${i}`, name: 'look', arguments: '{}' }] },
    { role: 'tool', tool_call_id: `c${i}`, content: `found ${i}` },
  ]).flat();
const messages: TurnMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'What is a test?' },
  ...calls(15),
];
const marked = ({ messages: sent = [] }: ChatBody) =>
  sent.flatMap(({ content }, at) => (JSON.stringify(content).includes('"cache_control"') ? [at] : []));
/** The messages without their marks. */
const plain = ({ messages: sent = [] }: ChatBody) =>
  sent.map(({ role, content }) => [role, Array.isArray(content) ? content.map(({ text }) => text).join() : content]);

async function seen(
  route: { model: string; dialect?: string },
  respond: (body: ChatBody) => string | undefined = () => undefined,
  request: Partial<TurnRequest> = {},
) {
  await using provider = await startScriptedProvider({
    respond: ({ body }) => {
      const refusal = respond(body);
      return refusal === undefined ? turn({ text: 'fine' }) : status(400, { message: refusal });
    },
  });
  const parsed = config({ main: { base_url: provider.url, ...(route.dialect && { dialect: route.dialect }) } });
  const { deep } = parsed.models;
  assert.ok(deep);
  deep.routes = [{ provider: 'main', model: route.model }];
  const { upstream, model } = chat(parsed);
  await using _ = upstream;
  assert.equal(textOf(await ask(model, { messages, ...request })), 'fine');
  return provider.requests.map(({ body }) => body);
}

describe('cache_control marks in chat completions', () => {
  for (const model of ['anthropic/claude-sonnet-4.5', 'claude-opus-4-8', 'bedrock/anthropic.claude-3-7-sonnet']) {
    it(`are set after the instructions and at the end, within reach of each other, for ${model}`, async () => {
      const [body] = await seen({ model });
      assert.ok(body);
      assert.deepEqual(marked(body), [0, 11, 31]);
      assert.deepEqual(plain(body).at(-1), ['tool', 'found 14']);
    });
  }

  it('are not set on messages that later requests do not repeat', async () => {
    const plan: TurnMessage = { role: 'user', content: 'Your plan so far: nothing is done.' };
    const request = { messages: [...messages, plan], stablePrefix: messages.length };
    const [body] = await seen({ model: 'claude-opus-4-8' }, undefined, request);
    assert.deepEqual(body && marked(body), [0, 11, 31]);
  });

  it('are sent to other models only with dialect cache_marks, and to none with generic', async () => {
    const [other] = await seen({ model: 'gpt-5' });
    assert.deepEqual(other && marked(other), []);
    const [off] = await seen({ model: 'anthropic/claude-sonnet-4.5', dialect: 'generic' });
    assert.deepEqual(off && marked(off), []);
    const [on] = await seen({ model: 'qwen3-max', dialect: 'cache_marks' });
    assert.deepEqual(on && marked(on), [0, 11, 31]);
  });

  for (const refusal of [
    'messages.0.content.0.cache_control: Extra inputs are not permitted',
    "Invalid type for 'messages[0].content': expected a string, got an array instead. content must be a string",
  ]) {
    it(`are dropped after a refusal: ${refusal.slice(0, 40)}`, async () => {
      const bodies = await seen({ model: 'claude-3' }, (body) => (marked(body).length > 0 ? refusal : undefined));
      assert.deepEqual(
        bodies.map((body) => marked(body).length),
        [3, 0],
      );
      assert.ok(bodies[0] && bodies[1]);
      assert.deepEqual(plain(bodies[0]), plain(bodies[1]));
    });
  }
});
