import assert from 'node:assert/strict';
import { newRunId } from '../../src/base/ids.ts';
import { type DeliveryStore, LONGEST_WAIT_MS } from '../../src/store/side-stores/delivery-store.ts';

/** The contract of `DeliveryStore`, for any backend. `advance` moves the store's clock forward by milliseconds. */
export function testDeliveries(
  open: () => { store: DeliveryStore; peer: DeliveryStore; advance(ms: number): void },
): void {
  const keepMs = 3_600_000;
  const due = (store: DeliveryStore, leaseMs = 10_000) => store.takeDue({ limit: 100, leaseMs });

  it('returns a due run once, and again when its lease has expired', async () => {
    const { store, peer, advance } = open();
    const run = newRunId();
    await store.schedule(run, { dueInMs: 1000 });
    assert.deepEqual(await due(store), []);
    advance(1000);
    assert.deepEqual(await due(store), [run]);
    assert.deepEqual([await due(store), await due(peer)], [[], []]);
    advance(10_000);
    assert.deepEqual(await due(store), [run], 'a delivery that its taker never finished is due again');
    await store.remove(run);
  });

  it('returns a run that is due later than any can be, because the clock ran ahead and came back', async () => {
    const { store, advance } = open();
    const [waiting, ahead, taken] = [newRunId(), newRunId(), newRunId()];
    await store.schedule(waiting, { dueInMs: LONGEST_WAIT_MS });
    advance(3 * 24 * 3_600_000);
    await store.put(ahead, { before: undefined, state: 'failed', dueInMs: 5000, keepMs });
    await store.schedule(taken, { dueInMs: 0 });
    assert.deepEqual(await due(store), [waiting, taken]);
    await store.put(waiting, { before: undefined, state: 'waits', dueInMs: LONGEST_WAIT_MS, keepMs });
    assert.deepEqual(await due(store), []);
    advance(-3 * 24 * 3_600_000);
    assert.deepEqual(new Set(await due(store)), new Set([waiting, ahead, taken]));
    assert.deepEqual(await due(store), [], 'they are leased like others');
    for (const run of [waiting, ahead, taken]) await store.remove(run);
  });

  it('returns the longest overdue runs first, at most `limit`', async () => {
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

  it('schedule() can only make a run due earlier', async () => {
    const { store } = open();
    const run = newRunId();
    await store.schedule(run, { dueInMs: 60_000 });
    await store.schedule(run, { dueInMs: 0 });
    await store.schedule(run, { dueInMs: 60_000 });
    assert.deepEqual(await due(store), [run]);
    await store.remove(run);
  });

  it('put() replaces the state only if the caller knows the current one', async () => {
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
    assert.deepEqual(await due(store), [], 'not due without a due time');
    assert.equal(await store.get(run), 'done');
    await store.schedule(run, { dueInMs: 0 });
    assert.deepEqual(await due(store), [run], 'due again once scheduled');
    assert.equal(await store.get(run), 'done');
    await store.remove(run);
    assert.equal(await store.get(run), undefined);
  });

  it('never gives the same run to two concurrent takers', async () => {
    const { store, peer } = open();
    const runs = Array.from({ length: 20 }, newRunId);
    for (const run of runs) await store.schedule(run, { dueInMs: 0 });
    const takers = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? store : peer));
    const taken = await Promise.all(takers.map((taker) => taker.takeDue({ limit: 5, leaseMs: 60_000 })));
    assert.deepEqual(taken.flat().sort(), runs.sort());
    for (const run of runs) await store.remove(run);
  });
}
