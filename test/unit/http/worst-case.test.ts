import assert from 'node:assert/strict';
import { worstCase } from '../../../src/http/limits/worst-case.ts';

const MOST = 1000;

function reserved(fields: object, api = 'chat_completions') {
  const body = Buffer.from(JSON.stringify(fields));
  const model = { max_completion_tokens: MOST, hedge_after: undefined, continue_streams: false, routes: [] };
  return worstCase({ api, body, fields: { ...fields } }, model);
}

describe('the reserved output', () => {
  const cases: readonly [object, number][] = [
    [{}, MOST],
    [{ n: 3, max_tokens: 10 }, 30],
    [{ n: '128', max_tokens: 100 }, 12_800],
    [{ n: ' 1_28 ', max_tokens: 100 }, 12_800],
    [{ n: '１２８', max_tokens: 100 }, 12_800],
    [{ n: '1e2', max_tokens: 100 }, 10_000],
    [{ n: '12 please', max_tokens: 100 }, 1200],
    [{ n: '0x10', max_tokens: 100 }, 1600],
    [{ n: 128.5, max_tokens: 100 }, 12_900],
    [{ n: '2.5', max_tokens: 100 }, 300],
    [{ n: 1e300, max_tokens: 1 }, 1024],
    [{ n: {}, max_tokens: 1 }, 1024],
    [{ n: [2], max_tokens: 1 }, 1024],
    [{ n: null, max_tokens: 10 }, 10],
    [{ n: 0, max_tokens: 10 }, 10],
    [{ n: -5, max_tokens: '10' }, 10],
    [{ n: 1, best_of: '7', max_tokens: 10 }, 70],
    [{ max_tokens: '2000', max_completion_tokens: 1 }, 2000],
    [{ max_tokens: 1, max_completion_tokens: 99.5 }, 100],
    [{ max_tokens: 1, max_completion_tokens: null }, 1],
    // Invalid limits count as the most that the model may write.
    [{ max_tokens: -1 }, MOST],
    [{ max_tokens: 0, max_completion_tokens: 5 }, MOST],
    [{ max_tokens: 'many' }, MOST],
    [{ max_tokens: '1e999' }, MOST],
    [{ max_tokens: [1], max_completion_tokens: 5 }, MOST],
    // Providers ignore the limits of another API, and some accept names in any case.
    [{ max_output_tokens: 1 }, MOST],
    [{ max_output_tokens: 1, max_tokens: 7 }, 7],
    [{ max_tokens: 1, MAX_TOKENS: 50 }, 50],
    [{ max_tokens: 1, 'max_to\u212aen\u017f': 50 }, 50],
    [{ n: 1, N: 3, max_tokens: 10 }, 30],
  ];
  for (const [fields, output] of cases) {
    it(`is ${output} for ${JSON.stringify(fields)}`, () => assert.equal(reserved(fields).output, output));
  }

  it('is bounded only by the fields of its API', () => {
    const fields = { max_tokens: 3, max_completion_tokens: 5, max_output_tokens: 7 };
    const bounds = { chat_completions: 5, completions: 3, responses: 7, messages: 3, embeddings: 0 };
    for (const [api, output] of Object.entries(bounds)) assert.equal(reserved(fields, api).output, output, api);
    assert.equal(reserved({ max_tokens: 3 }, 'responses').output, MOST);
    assert.equal(reserved({ max_output_tokens: 3 }, 'messages').output, MOST);
  });

  it('includes the tokens of each image to be generated', () => {
    const drawn = [{}, { n: 1 }, { n: '4' }, { N: 2 }, { n: 1e9 }, { n: null }];
    assert.deepEqual(
      drawn.map((fields) => reserved({ prompt: 'a lamp', ...fields }, 'images/generations').output / 6240),
      [1, 1, 4, 2, 10, 1],
    );
  });

  it('covers an answer for each of several prompts', () => {
    const prompt = Array.from({ length: 3000 }, () => 'x');
    assert.equal(reserved({ prompt, n: '2', max_tokens: 10 }, 'completions').output, 60_000);
    assert.equal(reserved({ prompt: [1, 2, 3], max_tokens: 10 }, 'completions').output, 10);
  });
});

describe('the reserved input', () => {
  const BYTES = 3_000_000;
  const base64 = 'A'.repeat(BYTES);
  const url = (type: string) => `data:${type};base64,${base64}`;
  const said = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
  const source = { type: 'base64', media_type: 'image/png', data: base64 };
  const attached: readonly [string, object][] = [
    ['an image in chat completions', said({ type: 'image_url', image_url: { url: url('image/png') } })],
    ['an image in Responses', { input: [{ role: 'user', content: [{ image_url: url('image/png') }] }] }],
    ['a file', said({ type: 'file', file: { file_data: url('application/pdf') } })],
    ['audio', said({ type: 'input_audio', input_audio: { data: base64, format: 'wav' } })],
    ['an image in Messages', said({ type: 'image', source })],
    ['an image in a tool result', said({ type: 'tool_result', content: [{ type: 'image', source }] })],
  ];
  for (const [name, fields] of attached) {
    it(`is a thousand tokens for ${name}`, () => {
      const { input } = reserved(fields);
      assert.ok(input >= 1000 && input < 1100, `${input}`);
    });
  }

  const read: readonly [string, object][] = [
    ['a message', said({ type: 'text', text: url('image/png') })],
    ['a message without parts', { messages: [{ role: 'user', content: url('image/png') }] }],
    ['a text file', said({ type: 'file', file: { file_data: url('text/plain') } })],
    ['a text document', said({ source: { type: 'text', media_type: 'text/plain', data: base64 } })],
    ['a text document in base64', said({ source: { type: 'base64', media_type: 'text/plain', data: base64 } })],
    ['the schema of a tool', { messages: [], tools: [{ parameters: { url: url('image/png') } }] }],
  ];
  for (const [name, fields] of read) {
    it(`covers all that the model may read of ${name}`, () => assert.ok(reserved(fields).input >= BYTES / 4));
  }
});
