import assert from 'node:assert/strict';
import { parseProxyResult } from '../../../src/runs/stored/stored-transcript.ts';
import { emptyTotals } from '../../../src/upstream/usage-totals.ts';

describe('the stored answer of a task on a proxy model', () => {
  const body = '{"choices":[]}';

  it('has its usage', () => {
    const stored = JSON.stringify({ t: 'proxy_result', body, tokens: 12, cost: 0.5 });
    const of = { ...emptyTotals(), inputTokens: 12, cost: 0.5 };
    assert.deepEqual(parseProxyResult(stored), { body, used: of });
    const used = { inputTokens: 9, cachedTokens: 4, outputTokens: 3, reasoningTokens: 1, cost: 0.5 };
    const now = JSON.stringify({ t: 'proxy_result', body, tokens: 12, cost: 0.5, used });
    assert.deepEqual(parseProxyResult(now), { body, used });
  });

  it('has no usage if an earlier version stored none', () => {
    for (const used of [{}, { tokens: null, cost: null }]) {
      const read = parseProxyResult(JSON.stringify({ t: 'proxy_result', body, ...used }));
      assert.deepEqual(read, { body, used: emptyTotals() });
    }
  });

  it('is refused if it is invalid', () => {
    for (const wrong of [{ tokens: -1 }, { cost: -0.1 }, { body: null }]) {
      assert.throws(() => parseProxyResult(JSON.stringify({ t: 'proxy_result', body, ...wrong })));
    }
  });
});
