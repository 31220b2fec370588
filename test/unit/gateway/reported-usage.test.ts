import assert from 'node:assert/strict';
import { lastReportedTokens } from '../../../src/gateway/reported-usage.ts';

describe('reported usage', () => {
  it('is that of the last usage object', () => {
    const usage = (total: number) => `"usage" : {"prompt_tokens":1,"completion_tokens":${total - 1},"x":{"y":1}}`;
    assert.equal(lastReportedTokens(`{${usage(5)}}\n{${usage(9)}, "choices":[]}`), 9);
    assert.equal(lastReportedTokens('{"usage":{"input_tokens":3,"output_tokens":4}}'), 7);
  });

  it('is not what the model writes', () => {
    const content = JSON.stringify({ content: '"usage": {"prompt_tokens": 7, "completion_tokens": 7}' });
    assert.equal(lastReportedTokens(content), null);
    assert.equal(lastReportedTokens('{"usage":null}'), null);
    assert.equal(lastReportedTokens('{"usage":{"prompt'), null);
  });
});
