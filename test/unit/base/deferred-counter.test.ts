import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { DeferredCounter } from '../../../src/base/telemetry/deferred-counter.ts';

describe('DeferredCounter', () => {
  it('reports sums by label, unchanged by repeated reads', async () => {
    const registry = new Registry();
    const tally = new DeferredCounter({ name: 'calls_total', help: 'Calls.', labelNames: ['key', 'result'], registry });
    const page = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('calls_total'));
    assert.deepEqual(await page(), []);
    tally.add(1, 'a', 'ok');
    tally.add(2, 'a', 'ok');
    tally.add(1, 'a', 'failed');
    tally.add(0.5, 'b', 'ok');
    const told = [
      'calls_total{key="a",result="ok"} 3',
      'calls_total{key="a",result="failed"} 1',
      'calls_total{key="b",result="ok"} 0.5',
    ];
    assert.deepEqual(await page(), told);
    assert.deepEqual(await page(), told);
  });
});
