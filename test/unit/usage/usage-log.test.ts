import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { Registry } from 'prom-client';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { UsageRow, UsageStore } from '../../../src/store/side-stores/usage-store.ts';
import { emptyTotals } from '../../../src/upstream/usage-totals.ts';
import { UsageLog } from '../../../src/usage/usage.ts';

/** A store that fails before or after it stores, as `faults` say. */
function faultyStore() {
  const added = new Map<string, readonly UsageRow[]>();
  const store: UsageStore = {
    async add(rows, { id }) {
      if (faults[0] === 'before') throw new Error(faults.shift());
      if (!added.has(id)) added.set(id, rows);
      if (faults[0] === 'behind') throw new Error(faults.shift());
    },
    async read() {
      return [...added.values()].flat();
    },
    async removeBefore() {},
  };
  const faults: string[] = [];
  return { store, faults };
}

describe('UsageLog', () => {
  it('repeats a batch under the same id until it is stored, and then stores what came since', async () => {
    const { store, faults } = faultyStore();
    const log = new UsageLog({ store, registry: new Registry(), clock: systemClock, log: silentLogger });
    const call = { labels: { key: 'k', model: 'm' }, used: { ...emptyTotals(), inputTokens: 7 }, failed: false };
    faults.push('behind', 'before', 'behind');
    for (let n = 0; n < 4; n++) {
      log.add(call);
      await log.flush();
    }
    assert.deepEqual(faults, []);
    const rows = await log.day('2026-11-26');
    assert.deepEqual(
      ['requests', 'input_tokens'].map((name) => rows.reduce((sum, row) => sum + Number(Reflect.get(row, name)), 0)),
      [4, 28],
    );
    await log[Symbol.asyncDispose]();
  });

  it('stores usage within a tenth of a second, and asks a store that is away once a second', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { store, faults } = faultyStore();
      await using log = new UsageLog({ store, registry: new Registry(), clock: systemClock, log: silentLogger });
      const stored = async (ms: number) => {
        mock.timers.tick(ms);
        await new Promise(setImmediate);
        return (await log.day('2026-11-26')).length;
      };
      log.add({ labels: { key: 'k', model: 'm' }, used: emptyTotals(), failed: false });
      faults.push('before');
      assert.deepEqual([await stored(100), faults.length], [0, 0]);
      assert.deepEqual([await stored(999), await stored(1)], [0, 1]);
    } finally {
      mock.timers.reset();
    }
  });

  it('counts a call once, however often it is updated while under way', async () => {
    const { store } = faultyStore();
    await using log = new UsageLog({ store, registry: new Registry(), clock: systemClock, log: silentLogger });
    const call = log.begin({ key: 'k', model: 'm' });
    const used = (inputTokens: number, cost: number) => ({ ...emptyTotals(), inputTokens, cost });
    call.update(used(10, 0.1));
    await log.flush();
    call.update(used(25, 0.2));
    call.end(used(30, 0.4), { failed: true });
    await log.flush();
    const rows = await log.day('2026-11-26');
    const counted = ['requests', 'errors', 'input_tokens', 'cost_nanos'] as const;
    assert.deepEqual(
      counted.map((name) => rows.reduce((sum, row) => sum + row[name], 0)),
      [1, 1, 30, 4e8],
    );
  });

  it('loses no tokens while the store is away for long, only tags beyond a bound', async () => {
    const { store, faults } = faultyStore();
    await using log = new UsageLog({ store, registry: new Registry(), clock: systemClock, log: silentLogger });
    const used = { ...emptyTotals(), inputTokens: 1 };
    faults.push(...Array.from({ length: 1000 }, () => 'before'));
    for (let n = 0; n < 25_000; n++) {
      log.add({ labels: { key: `k${n % 25}`, model: 'm', tag: `t${Math.floor(n / 25)}` }, used, failed: false });
    }
    await log.flush();
    faults.length = 0;
    await log.flush();
    const rows = await log.day('2026-11-26');
    assert.ok(rows.length <= 20_025, `${rows.length} rows`);
    assert.equal(
      rows.reduce((sum, row) => sum + row.input_tokens, 0),
      25_000,
    );
  });

  it('has rows for 1000 tags of a key in a day, and one for all others together', async () => {
    const { store } = faultyStore();
    await using log = new UsageLog({ store, registry: new Registry(), clock: systemClock, log: silentLogger });
    const add = (key: string, tag: string) =>
      log.add({ labels: { key, model: 'm', tag }, used: { ...emptyTotals(), inputTokens: 1 }, failed: false });
    for (let n = 0; n < 1500; n++) add('k', `tag ${n}`);
    add('k', 'tag 7');
    add('other', 'tag 1200');
    await log.flush();
    const rows = await log.day('2026-11-26');
    assert.deepEqual(
      rows.filter(({ tag }) => tag === 'other').map(({ input_tokens }) => input_tokens),
      [500],
    );
    assert.equal(rows.find(({ key, tag }) => key === 'k' && tag === 'tag 7')?.input_tokens, 2);
    assert.equal(rows.length, 1002);
  });

  it('has metrics for 1000 pairs of key and model, and one for all others together', async () => {
    const registry = new Registry();
    await using log = new UsageLog({ store: faultyStore().store, registry, clock: systemClock, log: silentLogger });
    const used = { ...emptyTotals(), inputTokens: 1 };
    for (let n = 0; n < 1100; n++) log.add({ labels: { key: `k${n}`, model: 'm' }, used, failed: false });
    for (let n = 0; n < 10; n++) log.add({ labels: { key: 'k7', model: `m${n}` }, used, failed: false });
    const lines = (await registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith('gateway_usage_tokens_total{'));
    assert.equal(lines.length, 1001);
    assert.match(lines.find((line) => line.includes('key="other"')) ?? '', / 110$/);
  });

  it('ends a flush even if calls come faster than the store takes them', async () => {
    const { store } = faultyStore();
    const call = { labels: { key: 'k', model: 'm' }, used: emptyTotals(), failed: false };
    let batches = 0;
    const slow: UsageStore = {
      ...store,
      async add() {
        if (++batches < 100) log.add(call);
      },
    };
    await using log = new UsageLog({ store: slow, registry: new Registry(), clock: systemClock, log: silentLogger });
    log.add(call);
    await log.flush();
    assert.equal(batches, 1);
  });

  it('reads days as they are stored, without trying to write what waits', async () => {
    const { store, faults } = faultyStore();
    await using log = new UsageLog({ store, registry: new Registry(), clock: systemClock, log: silentLogger });
    faults.push('before');
    log.add({ labels: { key: 'k', model: 'm' }, used: emptyTotals(), failed: false });
    for (let day = 1; day <= 9; day++) await log.day(`2026-11-0${day}`);
    assert.deepEqual(faults, ['before']);
  });
});
