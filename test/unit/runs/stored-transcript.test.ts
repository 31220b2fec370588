import assert from 'node:assert/strict';
import { storedRequestSchema } from '../../../src/runs/stored/request-schema.ts';
import { parseProxyResult, parseTranscript } from '../../../src/runs/stored/stored-transcript.ts';
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

describe('what a newer gateway stored', () => {
  it('keeps the fields that this one does not know, at any depth', async () => {
    const usage = { inputTokens: 1, cachedTokens: 0, outputTokens: 1, reasoningTokens: 0, estimated: false, later: 1 };
    const message = { role: 'assistant', content: '', tool_calls: [{ id: 'a', name: 'b', arguments: '{}', later: 1 }] };
    const calls = [{ id: 'a', call: 0, name: 'b', arguments: '{}', later: 1 }];
    const rest = { cut: false, invented: false, estimate: 0, elapsedMs: 0, later: { deep: true } };
    const turn = { t: 'turn', message, usage, calls, ...rest };
    assert.deepEqual(await parseTranscript([JSON.stringify(turn)]), [turn]);
    const tools = { builtin: [], allowedDomains: [], later: 1 };
    const asks = { history: [], earlierSources: [], conversation: [], instructions: null, effort: 'low', tools };
    const limits = { toolChoice: 'auto', mcpServers: [], maxOutputTokens: null, maxToolCalls: null };
    const request = { kind: 'research', ...asks, ...limits, temperature: null, topP: null, format: null, later: 1 };
    const stored = { v: 3, input: [], request, held: { tokens: 1, later: 1, team: { id: 'a', later: 1 } }, later: 1 };
    assert.deepEqual(storedRequestSchema.parse(stored), stored);
  });
});
