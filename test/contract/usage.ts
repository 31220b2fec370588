import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { silentLogger } from '../../src/base/logger.ts';
import { emptyUsage, type UsageRow, type UsageStore } from '../../src/store/side-stores/usage-store.ts';

import { emptyTotals } from '../../src/upstream/usage-totals.ts';
import { UsageLog } from '../../src/usage/usage.ts';

const batchOf = (source: string, n: number) => ({ source, id: `${n}` });

/** The contract of `src/store/side-stores/usage-store.ts`, for any backend. */
export function testUsage(open: () => { store: UsageStore; peer: UsageStore }): void {
  it('adds up by day and labels, over all instances', async () => {
    const { store, peer } = open();
    const key = `k "{} ${randomUUID()}`;
    const row = (day: string, counts: Partial<UsageRow>): UsageRow => ({
      ...emptyUsage({ day, key, team: '', model: 'm', tag: 'é' }),
      ...counts,
    });
    const ofKey = async (from: string, to: string) =>
      (await peer.read({ from, to })).filter((one) => one.key === key).toSorted((a, b) => (a.day < b.day ? -1 : 1));
    await store.add(
      [row('2026-01-01', { requests: 1, cost_nanos: 1.5e12 }), row('2026-01-02', { requests: 1 })],
      batchOf('one', 1),
    );
    await Promise.all(
      [store, peer].map((one, n) =>
        one.add([row('2026-01-01', { requests: 2, output_tokens: 7, cost_nanos: 1 })], batchOf(`${n}`, 2)),
      ),
    );
    await store.add([], batchOf('one', 3));
    const first = row('2026-01-01', { requests: 5, output_tokens: 14, cost_nanos: 1.5e12 + 2 });
    assert.deepEqual(await ofKey('2026-01-01', '2026-01-02'), [first, row('2026-01-02', { requests: 1 })]);
    assert.deepEqual(await ofKey('2026-01-01', '2026-01-01'), [first]);
    assert.deepEqual(await ofKey('2026-01-03', '2026-02-01'), []);
    await store.add([{ ...row('2026-01-02', { errors: 1 }), tag: '' }], batchOf('one', 4));
    assert.equal((await ofKey('2026-01-02', '2026-01-02')).length, 2);
    await store.removeBefore('2026-01-02');
    assert.deepEqual(
      (await ofKey('2025-01-01', '2027-01-01')).map(({ day }) => day),
      ['2026-01-02', '2026-01-02'],
    );
  });

  it('adds a repeated batch once', async () => {
    const { store, peer } = open();
    const key = `k ${randomUUID()}`;
    const rows = [{ ...emptyUsage({ day: '2026-03-01', key, team: '', model: 'm', tag: '' }), requests: 1 }];
    const source = randomUUID();
    for (const id of [1, 1, 2, 2, 2, 3]) await store.add(rows, batchOf(source, id));
    await peer.add(rows, batchOf(randomUUID(), 3));
    const read = await peer.read({ from: '2026-03-01', to: '2026-03-01' });
    assert.equal(read.find((row) => row.key === key)?.requests, 4);
  });

  it('counts a call that is noted while under way once, on the day it was first noted, with its final usage', async () => {
    const { store } = open();
    const key = randomUUID();
    const clock = { at: Date.parse('2026-04-30T23:59:59Z'), now: () => clock.at };
    const metrics = new Registry();
    await using log = new UsageLog({ store, registry: metrics, clock, log: silentLogger });
    const used = (outputTokens: number, cost: number) => ({ ...emptyTotals(), inputTokens: 600, outputTokens, cost });
    const counted = async () => {
      await log.flush();
      const rows = await store.read({ from: '2026-04-01', to: '2026-05-31' });
      return rows
        .filter((row) => row.key === key)
        .map(({ day, requests, errors, ...row }) => [day, requests, errors, row.output_tokens, row.cost_nanos]);
    };
    const call = log.begin({ key, model: 'm' });
    assert.deepEqual(await counted(), []);
    call.update(used(100, 0.001));
    assert.deepEqual(await counted(), [['2026-04-30', 1, 0, 100, 1e6]]);
    clock.at += 2000;
    call.update(used(310, 0.0031));
    // The provider's count is lower than the estimate.
    call.end(used(270, 0.0027), { failed: true });
    assert.deepEqual(await counted(), [['2026-04-30', 1, 1, 270, 2.7e6]]);
    assert.match(await metrics.metrics(), /gateway_usage_tokens_total\{[^}]*output[^}]*\} 270\n/);
  });

  it('adds thousands of rows at once', async () => {
    const { store } = open();
    const model = randomUUID();
    const rows = Array.from({ length: 2000 }, (_, n) => ({
      ...emptyUsage({ day: '2026-03-01', key: `k${n}`, team: 't', model, tag: '' }),
      requests: 1,
      errors: 1,
      input_tokens: n,
    }));
    await store.add(rows, batchOf(model, 1));
    const read = (await store.read({ from: '2026-03-01', to: '2026-03-01' })).filter((row) => row.model === model);
    assert.equal(read.length, 2000);
    assert.equal(
      read.reduce((sum, row) => sum + row.input_tokens, 0),
      1999 * 1000,
    );
  });
}
