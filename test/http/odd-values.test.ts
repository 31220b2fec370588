import assert from 'node:assert/strict';
import { send } from '../support/http-client.ts';
import { openGateway } from '../support/http-gateway.ts';
import { patience } from '../support/time-limit.ts';

/** An object that JavaScript cannot turn into text: `String` of it throws. */
const ODD = { toString: 1 };

const SAY = [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }];
const TOOLS = [
  { type: 'function', name: 'a', parameters: {} },
  { type: 'web_search', user_location: { type: 'approximate', country: 'DE' } },
  { type: 'shell', environment: { type: 'local' } },
];
const RESPONSE = {
  input: [
    { type: 'function_call', call_id: 'c', name: 'a', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'Yes' }] },
    { type: 'additional_tools', tools: [{ type: 'function', name: 'b' }] },
    { type: 'mcp_call', name: 'm', error: { content: [{ text: 'No' }] } },
    ...SAY,
  ],
  tools: TOOLS,
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'a' }] },
  text: { format: { type: 'text' } },
  reasoning: { effort: 'low' },
  context_management: [{ type: 'compaction' }],
  metadata: { tag: 'x' },
  stream: false,
  background: false,
};
const CHAT = {
  messages: [
    { role: 'assistant', tool_calls: [{ type: 'function', id: 'c', function: { name: 'a', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'Yes' }] },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
  ],
  tools: [{ type: 'function', function: { name: 'a' } }],
  tool_choice: { type: 'function', function: { name: 'a' } },
  response_format: { type: 'text' },
};
const BODIES: Readonly<Record<string, object>> = {
  '/v1/responses': RESPONSE,
  '/v1/responses/compact': { input: RESPONSE.input },
  '/v1/responses/input_tokens': { input: RESPONSE.input, tools: TOOLS },
  '/v1/chat/completions': CHAT,
  '/v1/async': CHAT,
  '/v1/conversations': { items: SAY, metadata: { a: 'b' } },
  '/v1/vector_stores': { name: 'n', file_ids: ['f'], chunking_strategy: { type: 'auto' }, expires_after: { days: 1 } },
};

/** The copies of a value in which one part is odd. */
function* spoilt(value: unknown): Iterable<unknown> {
  yield ODD;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value)) {
    for (const odd of spoilt(part)) {
      yield Array.isArray(value) ? value.toSpliced(Number(name), 1, odd) : { ...value, [name]: odd };
    }
  }
}

describe('a value that has no text of its own, anywhere in a body', function () {
  this.timeout(patience(30));
  for (const [path, body] of Object.entries(BODIES)) {
    it(`gets no server error from POST ${path}`, async () => {
      const small = { kind: 'proxy', responses: 'gateway', apis: ['responses', 'chat_completions', 'async'] };
      const routes = [{ provider: 'demo', model: 'demo' }];
      await using gateway = await openGateway({ models: { small: { ...small, routes } } });
      for (const model of ['deep', 'small']) {
        for (const odd of spoilt(body)) {
          const sent = { model, ...Object(odd) };
          const { status, text } = await send(gateway, `POST ${path}`, { body: sent });
          assert.ok(status < 500, `${status} ${text} for ${JSON.stringify(sent)}`);
        }
      }
    });
  }
});
