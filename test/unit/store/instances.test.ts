import assert from 'node:assert/strict';
import { Keyv } from 'keyv';
import { silentLogger } from '../../../src/base/logger.ts';
import { type Caches, keyvCache } from '../../../src/store/cache.ts';
import { Instances } from '../../../src/store/instances.ts';

describe('instances that share a store', () => {
  const start = () => {
    let now = 1_000_000;
    const clock = { now: () => now };
    // As in Redis: what one writes the other reads.
    const store = new Map();
    const caches: Caches = {
      open: (options) => keyvCache(new Keyv({ store }), { ...options, log: silentLogger }),
    };
    const instance = (id: string) => {
      now += 1;
      return new Instances({ caches, clock, id, executing: () => 3 });
    };
    return { instance, caches, clock, pass: (ms: number) => (now += ms) };
  };
  const idsOf = async (instances: Instances) => (await instances.list()).map(({ id }) => id);

  it('see each other in the order of their start, and each sees itself at once', async () => {
    const { instance } = start();
    await using one = instance('one');
    await using two = instance('two');
    assert.deepEqual(await idsOf(two), ['two']);
    await one.announce();
    await two.announce();
    assert.deepEqual(await idsOf(one), ['one', 'two']);
    assert.deepEqual(await idsOf(two), ['one', 'two']);
    assert.equal((await one.list())[1]?.executing, 3);
  });

  it('one that was killed is forgotten after a while, one that left in order at once', async () => {
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

  it('what another version wrote is no list, and is replaced', async () => {
    const { instance, caches } = start();
    await using one = instance('one');
    const raw = caches.open<unknown>({ namespace: 'instances', ttlMs: 1000, parse: (value) => value });
    await raw.set('all', [{ id: 'two' }]);
    await one.announce();
    await using two = instance('two');
    assert.deepEqual(await idsOf(two), ['one', 'two']);
  });
});
