import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { configSchema } from '../../../src/config/schema.ts';
import { addOperatorGauges } from '../../../src/http/operator/gauges.ts';
import { startScriptedProvider, status } from '../../support/scripted-provider.ts';
import { ask, chat, config } from '../upstream/chat-harness.ts';

describe('the metric of circuits', () => {
  it('is 1 only while no request may try the route, also if none comes afterwards', async () => {
    await using provider = await startScriptedProvider({ respond: () => status(500) });
    const parsed = config({ bad: { base_url: provider.url, max_retries: 0 } });
    let at = 0;
    const breaker = { failures: 1, openMs: 2000, maxOpenMs: 8000, probeMs: 8000 };
    const { upstream, model } = chat(parsed, { breaker, clock: { now: () => at } });
    await using _ = upstream;
    await assert.rejects(ask(model));
    const registry = new Registry();
    const admission = { usage: async () => [] };
    addOperatorGauges(registry, {
      config: { current: () => parsed },
      admission,
      operator: { providers: () => upstream.states() },
    });
    const seen = async () => {
      const { circuit } = upstream.states()[0]?.models[0] ?? {};
      return [circuit, /circuit_open\{.*\} (\d)/.exec(await registry.metrics())?.[1]];
    };
    assert.deepEqual(await seen(), ['open', '1']);
    at = 2000;
    assert.deepEqual(await seen(), ['probing', '0']);
  });
});

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
