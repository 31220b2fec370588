import assert from 'node:assert/strict';
import { AppendedBatches } from '../../../src/runs/executing/log/appended-batches.ts';
import type { AppendBatch } from '../../../src/store/run-store.ts';
import { frames } from '../../contract/run-store-fixture.ts';

/** Batches of one to three events, every seventh with a transcript entry, every eleventh with that alone. */
function batches(count: number, from = 3): AppendBatch[] {
  const made: AppendBatch[] = [];
  let first = from;
  for (let n = 0; n < count; n++) {
    const events = n % 11 === 10 ? 0 : 1 + (n % 3);
    const entry = n % 7 === 6 || events === 0 ? { transcript: [`"entry ${n}"`], entriesBefore: n } : {};
    made.push({ token: 'a', first, count: events, frames: frames(first, first + events - 1), ...entry });
    first += events;
  }
  return made;
}

describe('AppendedBatches', () => {
  it('returns exactly the events that were asked for, also from the middle of a block', () => {
    const appended = new AppendedBatches();
    for (const first of [3, 4, 5]) appended.add({ token: 'a', first, count: 1, frames: frames(first, first) });
    for (const [first, last] of [
      [3, 3],
      [4, 4],
      [3, 4],
      [4, 5],
    ] as const) {
      const [batch, ...more] = appended.from(first, last) ?? assert.fail();
      assert.deepEqual([batch?.first, batch?.count, more.length], [first, last - first + 1, 0]);
      assert.deepEqual(Buffer.from(batch?.frames ?? []), frames(first, last));
    }
  });

  it('returns everything from any batch on: the same bytes, each transcript entry with its events', () => {
    const appended = new AppendedBatches();
    const all = batches(400);
    for (const batch of all) appended.add(batch);
    const last = (all.at(-1)?.first ?? 0) + (all.at(-1)?.count ?? 0) - 1;
    for (const batch of all) {
      if (batch.count === 0) continue;
      const again = appended.from(batch.first, last) ?? assert.fail(`nothing from ${batch.first}`);
      assert.deepEqual(Buffer.concat(again.map((each) => each.frames)), frames(batch.first, last));
      let next = batch.first;
      for (const each of again) {
        assert.equal(each.first, next);
        next += each.count;
      }
      const entries = (list: readonly AppendBatch[]) => list.flatMap((each) => each.transcript ?? []);
      // An entry without events just before it may have been lost with it; the store says if it was not.
      const from = all.findIndex((each) => each.first === batch.first);
      assert.deepEqual(entries(again), entries(all.slice(from)));
    }
    assert.ok((appended.from(3, last)?.length ?? 400) < 300, 'small batches are joined');
  });

  it('is bounded, and returns nothing rather than a part', () => {
    const appended = new AppendedBatches();
    const size = frames(3, 3).length;
    const count = Math.ceil((600 * 1024) / size);
    for (let n = 3; n < 3 + count; n++) appended.add({ token: 'a', first: n, count: 1, frames: frames(n, n) });
    assert.equal(appended.from(3, 2 + count), undefined);
    const kept = appended.from(2 + count - 100, 2 + count);
    assert.deepEqual(Buffer.concat((kept ?? []).map((each) => each.frames)), frames(2 + count - 100, 2 + count));
  });
});
