import assert from 'node:assert/strict';
import { Instances } from '../../../src/store/instances.ts';
import type { LimitStore } from '../../../src/store/limit-store.ts';
import { memoryLimits } from '../../../src/store/memory-limits.ts';

describe('instances that share a store', () => {
  const start = () => {
    let now = 1_000_000;
    const clock = { now: () => now };
    const memory = memoryLimits(clock.now);
    // Shared, as in a store: each instance sees the slots of the others.
    const places = memory.slots({ name: 'instances' });
    const limits: LimitStore = { ...memory, slots: () => places };
    const instance = (id: string) => {
      now += 1;
      return new Instances({ limits, clock, id, executing: () => 3, recent: () => recentOf(id) });
    };
    return { instance, places, pass: (ms: number) => (now += ms) };
  };
  const failures = Array.from({ length: 60 }, (_, n) => ({ where: 'run', code: `code_${n}`, count: 1, lastAt: n }));
  const recentOf = (id: string) => ({
    attempts: [{ provider: `of ${id}`, attempts: 5, failed: 1, p50: 20, p95: 90 }],
    failures,
  });
  const idsOf = async (instances: Instances) => (await instances.list()).map(({ id }) => id);

  it('list each other in order of their start, and themselves even before they announce', async () => {
    const { instance } = start();
    await using one = instance('one');
    await using two = instance('two');
    assert.deepEqual(await idsOf(two), ['two']);
    for (const each of [one, two, one]) await each.announce();
    assert.deepEqual(await idsOf(one), ['one', 'two']);
    assert.deepEqual(await idsOf(two), ['one', 'two']);
    const [, other] = await one.list();
    assert.equal(other?.executing, 3);
    assert.deepEqual(other?.recent?.attempts, recentOf('two').attempts);
    assert.deepEqual(other?.recent?.failures, failures.slice(0, 20), 'bounded, the most frequent first');
  });

  it('forget a killed instance after a while, and one that stopped in order at once', async () => {
    const { instance, pass } = start();
    await using one = instance('one');
    const two = instance('two');
    await using three = instance('three');
    for (const each of [one, two, three]) await each.announce();
    await two[Symbol.asyncDispose]();
    await using four = instance('four');
    assert.deepEqual(await idsOf(four), ['one', 'three', 'four']);
    pass(10_000);
    await one.announce();
    pass(10_000);
    assert.deepEqual(await idsOf(four), ['one', 'four']);
  });

  it('occupy one slot each, and ignore slots that they cannot read', async () => {
    const { instance, places, pass } = start();
    await using one = instance('one');
    for (let n = 0; n < 5; n += 1) {
      await one.announce();
      pass(100);
    }
    assert.equal(await places.count('all'), 1, 'older places are given back');
    await places.take('all', '{"id":"odd"}', { limit: 10, ttlMs: 60_000 });
    await places.take('all', 'no JSON', { limit: 10, ttlMs: 60_000 });
    assert.deepEqual(await idsOf(one), ['one']);
  });
});
