import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { configSchema } from '../../../src/config/schema.ts';
import { addOperatorGauges } from '../../../src/http/operator/gauges.ts';

describe('the metrics of limits', () => {
  it('are whole for each of two collectors that ask at the same time', async () => {
    const limits = { requests_per_minute: 10 };
    const config = configSchema.parse({
      providers: { demo: { builtin: 'demo' } },
      models: { fast: { kind: 'proxy', routes: [{ provider: 'demo', model: 'm' }] } },
      keys: ['ann', 'bob'].map((id) => ({ id, secret: `sk-${id}`.padEnd(40, '0'), limits })),
    });
    const registry = new Registry();
    const asked: (() => void)[] = [];
    const usage = async () => {
      await new Promise<void>((resolve) => asked.push(resolve));
      return [{ name: 'requests_per_minute', limit: 10, used: 1 }];
    };
    addOperatorGauges(registry, {
      config: { current: () => config },
      admission: { usage },
      operator: { providers: () => [] },
    });
    const answerNext = async () => {
      while (asked.length === 0) await new Promise(setImmediate);
      asked.shift()?.();
    };
    const first = registry.metrics();
    await answerNext();
    while (asked.length === 0) await new Promise(setImmediate);
    void registry.metrics();
    await answerNext();
    assert.match(await first, /key="ann".+ 0\.1\n(?:.*\n)*.*key="bob".+ 0\.1/);
  });
});
