import assert from 'node:assert/strict';
import { lastReportedUsage } from '../../../src/gateway/answers/reported-usage.ts';

describe('reported usage', () => {
  it('is that of the last usage object', () => {
    const usage = (total: number) => `"usage" : {"prompt_tokens":1,"completion_tokens":${total - 1},"x":{"y":1}}`;
    assert.equal(lastReportedUsage(`{${usage(5)}}\n{${usage(9)}, "choices":[]}`)?.outputTokens, 8);
    const other = lastReportedUsage('{"usage":{"input_tokens":3,"output_tokens":4}}');
    assert.deepEqual([other?.inputTokens, other?.outputTokens], [3, 4]);
  });

  it('has what was told before and is not told again', () => {
    const first = { input_tokens: 9, cache_read_input_tokens: 4, cache_creation_input_tokens: 2, output_tokens: 1 };
    const last = lastReportedUsage('{"usage":{"output_tokens":7,"cache_read_input_tokens":null}}', first);
    assert.deepEqual(
      [last?.inputTokens, last?.cachedTokens, last?.cacheWriteTokens, last?.outputTokens],
      [15, 4, 2, 7],
    );
  });

  it('is not what the model writes', () => {
    const content = JSON.stringify({ content: '"usage": {"prompt_tokens": 7, "completion_tokens": 7}' });
    assert.equal(lastReportedUsage(content), null);
    assert.equal(lastReportedUsage('{"usage":null}'), null);
    assert.equal(lastReportedUsage('{"usage":{"prompt'), null);
  });
});
