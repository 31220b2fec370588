import assert from 'node:assert/strict';
import { estimateInput, promptTokens } from '../../../src/upstream/decoding/estimate.ts';

describe('promptTokens', () => {
  const words = 'word '.repeat(400);
  const messages = [{ role: 'user', content: words }];
  const tool = { type: 'function', function: { name: 'f', description: words, parameters: { type: 'object' } } };
  const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } };
  const cases: readonly [string, object, number][] = [
    ['messages', { messages }, 500],
    ['text input', { input: words }, 500],
    ['input items', { input: [{ role: 'user', content: [{ type: 'input_text', text: words }] }] }, 500],
    ['instructions and a system prompt', { instructions: words, system: words, input: 'x' }, 1000],
    ['several prompts', { prompt: [words, words] }, 1000],
    ['a prompt of token ids', { prompt: Array.from({ length: 500 }, (_, token) => token) }, 500],
    ['tools', { messages, tools: [tool, tool] }, 1500],
    ['legacy functions', { messages, functions: [tool.function] }, 1000],
    ['a response schema', { messages, response_format: { json_schema: { schema: { description: words } } } }, 1000],
    ['an image', { messages: [{ role: 'user', content: [picture] }] }, 1000],
    ['a query and its documents', { query: words, documents: [words, { text: words }] }, 1500],
    [
      'nothing for metadata and other unread fields',
      { messages, metadata: { note: words }, user: words, logit_bias: { 1: 2 } },
      500,
    ],
  ];
  for (const [name, body, tokens] of cases) {
    it(`counts ${name}`, () => {
      const estimated = promptTokens(body);
      assert.ok(Math.abs(estimated - tokens) <= 0.1 * tokens, `${estimated}, not ${tokens}`);
    });
  }

  it('agrees with estimateInput for the same messages and tools', () => {
    const parameters = { type: 'object', properties: { query: { type: 'string', description: 'What to look for.' } } };
    const asked = [{ role: 'user' as const, content: 'Which of the two bridges is older?' }];
    const request = { messages: asked, tools: [{ name: 'search', description: '', parameters }] };
    assert.ok(Math.abs(estimateInput(request) - promptTokens(request)) <= 4);
  });
});
