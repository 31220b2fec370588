import assert from 'node:assert/strict';
import { AggregatorRegistry, Registry } from 'prom-client';
import { RunMetrics } from '../../../src/runs/metrics.ts';
import { countDeliveries } from '../../../src/webhooks/metrics.ts';

/** The metrics that a worker reports to the first process. */
async function workerWith(of: {
  utilization: number;
  lagMs: number;
  active: number;
  waiting: number;
  overloaded: boolean;
}) {
  const registry = new Registry();
  new RunMetrics(registry, {
    load: of,
    active: () => of.active,
    waiting: () => of.waiting,
    overloaded: () => of.overloaded,
  });
  countDeliveries(registry, { count: async () => 7 });
  return await registry.getMetricsAsJSON();
}

describe('aggregated metrics of workers', () => {
  it('sum runs, show the busiest worker, and count what is in the store once', async () => {
    const workers = [
      await workerWith({ utilization: 0.9, lagMs: 40, active: 3, waiting: 1, overloaded: true }),
      await workerWith({ utilization: 0.4, lagMs: 300, active: 2, waiting: 4, overloaded: true }),
    ];
    const page = await AggregatorRegistry.aggregate(workers).metrics();
    for (const line of [
      'gateway_runs_executing 5',
      'gateway_runs_waiting 5',
      'gateway_event_loop_utilization_ratio 0.9',
      'gateway_event_loop_delay_seconds 0.3',
      'gateway_overloaded 1',
      'gateway_webhooks_waiting 7',
    ]) {
      assert.ok(page.split('\n').includes(line), `${line} in:\n${page}`);
    }
  });
});
