import assert from 'node:assert/strict';
import { parseProxyResult } from '../../../src/runs/stored/stored-transcript.ts';
import { emptyTotals } from '../../../src/upstream/usage-totals.ts';

describe('the stored answer of a provider to a task', () => {
  const body = '{"choices":[]}';

  it('tells what it used', () => {
    const stored = JSON.stringify({ t: 'proxy_result', body, tokens: 12, cost: 0.5 });
    const of = { ...emptyTotals(), inputTokens: 12, cost: 0.5 };
    assert.deepEqual(parseProxyResult(stored), { body, used: of });
    const used = { inputTokens: 9, cachedTokens: 4, outputTokens: 3, reasoningTokens: 1, cost: 0.5 };
    const now = JSON.stringify({ t: 'proxy_result', body, tokens: 12, cost: 0.5, used });
    assert.deepEqual(parseProxyResult(now), { body, used });
  });

  it('of an earlier version used nothing that is known', () => {
    for (const used of [{}, { tokens: null, cost: null }]) {
      const read = parseProxyResult(JSON.stringify({ t: 'proxy_result', body, ...used }));
      assert.deepEqual(read, { body, used: emptyTotals() });
    }
  });

  it('is refused where it cannot be one', () => {
    for (const wrong of [{ tokens: -1 }, { cost: -0.1 }, { body: null }]) {
      assert.throws(() => parseProxyResult(JSON.stringify({ t: 'proxy_result', body, ...wrong })));
    }
  });
});
