import assert from 'node:assert/strict';
import { lastReportedUsage } from '../../../src/gateway/answers/reported-usage.ts';
import { usageAtEnd } from '../../../src/gateway/streams/stream-end.ts';

const CHAT = 'chat_completions';

describe('reported usage', () => {
  const counts = (text: string, api = CHAT) => {
    const usage = lastReportedUsage(text, api);
    return usage && [usage.inputTokens, usage.outputTokens];
  };

  it('is read at the top level of a document, even if only its end is there', () => {
    const usage = (total: number) => `"usage" : {"prompt_tokens":1,"completion_tokens":${total - 1},"x":{"y":1}}`;
    assert.deepEqual(counts(`{${usage(5)}}\n{${usage(9)}, "choices":[]}`), [1, 8]);
    assert.deepEqual(counts('{"usage":{"input_tokens":3,"output_tokens":4}}'), [3, 4]);
    assert.deepEqual(counts(`t":"a } \\" b"}],${usage(9)},"x":"}","y":[{}]}`), [1, 8]);
  });

  it('is not read from generated text or from nested objects', () => {
    const usage = { prompt_tokens: 7, completion_tokens: 7 };
    const content = JSON.stringify({ content: '"usage": {"prompt_tokens": 7, "completion_tokens": 7}' });
    assert.equal(counts(content), null);
    assert.equal(counts(JSON.stringify({ x: { usage } })), null);
    assert.equal(counts(JSON.stringify({ x: [{ usage }], y: 1 })), null);
    assert.equal(counts('{"usage":null}'), null);
    assert.equal(counts('{"usage":{"prompt'), null);
  });

  it('counts as input only for APIs that answer without tokens', () => {
    for (const api of ['embeddings', 'rerank', 'moderations']) {
      assert.deepEqual(counts('{"usage":{"total_tokens":600}}', api), [600, 0]);
      assert.deepEqual(counts('{"usage":{"prompt_tokens":-3,"total_tokens":600}}', api), [600, 0]);
      assert.deepEqual(
        counts('{"usage":{"prompt_tokens":600,"completion_tokens":9,"total_tokens":609}}', api),
        [609, 0],
      );
      assert.equal(counts('{"usage":{"prompt_tokens":0,"total_tokens":0}}', api), null);
    }
  });
});

describe('usage at the end of a stream', () => {
  const frame = (payload: object) => `data: ${JSON.stringify(payload)}\n\n`;
  const said = (content: string, more: object = {}) => frame({ choices: [{ index: 0, delta: { content } }], ...more });
  const usage = { prompt_tokens: 9, completion_tokens: 5 };
  const none = { prompt_tokens: 0, completion_tokens: 0 };
  const DONE = 'data: [DONE]\n\n';
  const read = (
    text: string,
    { api = CHAT, first }: { api?: string; first?: Parameters<typeof usageAtEnd>[1]['first'] } = {},
  ) => {
    const { usage: found, midway } = usageAtEnd(text, { api, first });
    return found && [found.inputTokens, found.outputTokens, midway];
  };

  const cases: readonly [string, string, ReturnType<typeof read>][] = [
    ['in its own event', said('Yes') + frame({ choices: [], usage }) + DONE, [9, 5, false]],
    ['with the last text', said('Yes', { usage }) + DONE, [9, 5, false]],
    [
      'ahead of the text in the same event',
      said('Ye') + frame({ usage, choices: [{ delta: { content: 's' } }] }),
      [9, 5, false],
    ],
    ['in the middle', said('Ye', { usage }) + said('s') + DONE, [9, 5, true]],
    ['before a null', said('Yes', { usage }) + frame({ choices: [], usage: null }) + DONE, [9, 5, false]],
    ['before counts of zero', said('Yes', { usage }) + frame({ choices: [], usage: none }) + DONE, [9, 5, false]],
    [
      'over several lines',
      `${said('Yes')}data: {"choices":[],\ndata: "usage":\ndata: {"prompt_tokens":9,"completion_tokens":5}}\n\n`,
      [9, 5, false],
    ],
    ["in Groq's field", said('Yes') + frame({ choices: [], x_groq: { usage } }) + DONE, [9, 5, false]],
    ["in Moonshot's field", said('Yes') + frame({ choices: [{ delta: {}, usage }] }) + DONE, [9, 5, false]],
    ['in an unknown field', said('Yes', { x_meta: { card: { usage } } }) + DONE, null],
    ['in generated text', said(JSON.stringify({ usage })) + DONE, null],
  ];
  for (const [name, text, expected] of cases) {
    it(`is ${expected ? 'found' : 'ignored'} ${name}`, () => assert.deepEqual(read(text), expected));
  }

  it('is found in response.completed', () => {
    const counts = { input_tokens: 9, output_tokens: 5 };
    const text = frame({ type: 'response.completed', response: { output: [{ text: 'Yes' }], usage: counts } });
    assert.deepEqual(read(text, { api: 'responses' }), [9, 5, false]);
  });

  it('combines message_start with a message_delta that need not repeat its counts', () => {
    const usage = { input_tokens: 9, cache_read_input_tokens: 4, cache_creation_input_tokens: 2, output_tokens: 1 };
    const first = { type: 'message_start', message: { usage } };
    const last = frame({ type: 'message_delta', usage: { output_tokens: 7, cache_read_input_tokens: null } });
    const { usage: found } = usageAtEnd(last, { api: 'messages', first });
    assert.deepEqual(
      [found?.inputTokens, found?.cachedTokens, found?.cacheWriteTokens, found?.outputTokens],
      [15, 4, 2, 7],
    );
    assert.deepEqual(read(frame({ type: 'content_block_delta', delta: { text: 'Yes' } }), { api: 'messages', first }), [
      15,
      1,
      true,
    ]);
  });
});
