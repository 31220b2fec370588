import assert from 'node:assert/strict';
import { newRunId } from '../../src/base/ids.ts';
import type { DeliveryStore } from '../../src/store/side-stores/delivery-store.ts';

/** What every `DeliveryStore` does. `advance` moves the store's clock on by so many milliseconds. */
export function testDeliveries(
  open: () => { store: DeliveryStore; peer: DeliveryStore; advance(ms: number): void },
): void {
  const keepMs = 3_600_000;
  const due = (store: DeliveryStore, leaseMs = 10_000) => store.takeDue({ limit: 100, leaseMs });

  it('a run is due when its time has come, and to nobody else for as long as it is being looked at', async () => {
    const { store, peer, advance } = open();
    const run = newRunId();
    await store.schedule(run, { dueInMs: 1000 });
    assert.deepEqual(await due(store), []);
    advance(1000);
    assert.deepEqual(await due(store), [run]);
    assert.deepEqual([await due(store), await due(peer)], [[], []]);
    advance(10_000);
    assert.deepEqual(await due(store), [run], 'whoever took it is gone');
    await store.remove(run);
  });

  it('those that have waited longest come first, at most as many as are asked for', async () => {
    const { store, advance } = open();
    const [first, second, third] = [newRunId(), newRunId(), newRunId()];
    await store.schedule(second, { dueInMs: 200 });
    await store.schedule(first, { dueInMs: 100 });
    await store.schedule(third, { dueInMs: 300 });
    assert.equal(await store.count(), 3);
    advance(1000);
    assert.deepEqual(await store.takeDue({ limit: 2, leaseMs: 1000 }), [first, second]);
    assert.deepEqual(await store.takeDue({ limit: 2, leaseMs: 1000 }), [third]);
    for (const run of [first, second, third]) await store.remove(run);
    assert.equal(await store.count(), 0);
  });

  it('a look that is asked for brings one forward and puts none off', async () => {
    const { store } = open();
    const run = newRunId();
    await store.schedule(run, { dueInMs: 60_000 });
    await store.schedule(run, { dueInMs: 0 });
    await store.schedule(run, { dueInMs: 60_000 });
    assert.deepEqual(await due(store), [run]);
    await store.remove(run);
  });

  it('how far a run is is changed by one who knows how far it was', async () => {
    const { store, advance } = open();
    const run = newRunId();
    const put = (before: string | undefined, state: string, dueInMs?: number) =>
      store.put(run, { before, state, dueInMs, keepMs });
    assert.equal(await store.get(run), undefined);
    assert.equal(await put('never', 'first'), false);
    assert.equal(await put(undefined, 'first', 500), true);
    assert.equal(await put(undefined, 'other'), false);
    assert.equal(await store.get(run), 'first');
    advance(500);
    assert.deepEqual(await due(store), [run]);
    assert.equal(await put('first', 'done'), true);
    advance(60_000);
    assert.deepEqual(await due(store), [], 'never again');
    assert.equal(await store.get(run), 'done');
    await store.schedule(run, { dueInMs: 0 });
    assert.deepEqual(await due(store), [run], 'unless it is asked for');
    assert.equal(await store.get(run), 'done');
    await store.remove(run);
    assert.equal(await store.get(run), undefined);
  });

  it('of several that take at once each gets others', async () => {
    const { store, peer } = open();
    const runs = Array.from({ length: 20 }, newRunId);
    for (const run of runs) await store.schedule(run, { dueInMs: 0 });
    const takers = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? store : peer));
    const taken = await Promise.all(takers.map((taker) => taker.takeDue({ limit: 5, leaseMs: 60_000 })));
    assert.deepEqual(taken.flat().sort(), runs.sort());
    for (const run of runs) await store.remove(run);
  });
}
