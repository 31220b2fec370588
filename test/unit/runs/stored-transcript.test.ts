import assert from 'node:assert/strict';
import { parseProxyResult } from '../../../src/runs/stored/stored-transcript.ts';

describe('the stored answer of a provider to a task', () => {
  const body = '{"choices":[]}';

  it('tells what it used', () => {
    const stored = JSON.stringify({ t: 'proxy_result', body, tokens: 12, cost: 0.5 });
    const { body: read, tokens, cost } = parseProxyResult(stored);
    assert.deepEqual({ read, tokens, cost }, { read: body, tokens: 12, cost: 0.5 });
  });

  it('of an earlier version used nothing that is known', () => {
    for (const used of [{}, { tokens: null, cost: null }]) {
      const { tokens, cost } = parseProxyResult(JSON.stringify({ t: 'proxy_result', body, ...used }));
      assert.deepEqual({ tokens, cost }, { tokens: 0, cost: 0 });
    }
  });

  it('is refused where it cannot be one', () => {
    for (const wrong of [{ tokens: -1 }, { cost: -0.1 }, { body: null }]) {
      assert.throws(() => parseProxyResult(JSON.stringify({ t: 'proxy_result', body, ...wrong })));
    }
  });
});
