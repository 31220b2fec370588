import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { noteRemoval, removedFrom, resolveCursor } from '../../src/store/removed-records.ts';
import type { Entry, EntryStore } from '../../src/store/side-stores/entry-store.ts';

/** The contract of `src/store/side-stores/entry-store.ts`, for any backend. */
export function testEntries(open: () => { store: EntryStore; peer: EntryStore }): void {
  it('add() stores an entry once, visible to every instance, up to `max` entries', async () => {
    const { store, peer } = open();
    const list = `keys of {ada} ${randomUUID()}`;
    const first = entryOf({ id: 'a {}', value: '{"é":1}' });
    assert.equal(await store.add(list, first), 'added');
    assert.equal(await peer.add(list, { ...first, value: 'other' }), 'there');
    assert.deepEqual(await peer.get(list, 'a {}'), first);
    assert.equal(await peer.get(list, 'b'), undefined);
    assert.equal(await peer.get(randomUUID(), 'a {}'), undefined);
    assert.equal(await store.add(list, entryOf({ id: 'b' }), { max: 1 }), 'full');
    assert.equal(await store.add(list, first, { max: 1 }), 'there');
    assert.equal(await store.add(list, entryOf({ id: 'b' }), { max: 2 }), 'added');
  });

  it('replace() changes an entry only if it is still as it was read', async () => {
    const { store, peer } = open();
    const list = randomUUID();
    const before = entryOf({ id: 'a' });
    await store.add(list, before);
    const done = { ...before, state: 'done', value: '2', createdAt: 99 };
    assert.deepEqual((await Promise.all([store, peer].map((one) => one.replace(list, done, { before })))).toSorted(), [
      false,
      true,
    ]);
    assert.deepEqual(await store.get(list, 'a'), { ...done, createdAt: before.createdAt });
    assert.deepEqual(await store.counts(list), { done: 1 });
    assert.equal(await store.replace(list, done, { before: entryOf({ id: 'b' }) }), false);
    assert.deepEqual([await peer.remove(list, 'a'), await store.remove(list, 'a')], [true, false]);
    assert.equal(await store.replace(list, before, { before: done }), false, 'a removed entry is not restored');
    assert.deepEqual(await store.counts(list), {});
  });

  it('page() lists entries in both orders, and by state', async () => {
    const { store } = open();
    const list = randomUUID();
    for (let n = 0; n < 6; n++) {
      await store.add(list, entryOf({ id: `${n}`, createdAt: n < 2 ? 5 : 10 + n, state: n === 3 ? 'failed' : 'open' }));
    }
    const page = async (query: Partial<Parameters<EntryStore['page']>[1]>) => {
      const { entries, hasMore } = await store.page(list, { limit: 2, order: 'asc', ...query });
      return [entries.map(({ id }) => id).join(''), hasMore];
    };
    const after = (id: number) => ({ after: { id: `${id}`, createdAt: id < 2 ? 5 : 10 + id } });
    assert.deepEqual(await page({}), ['01', true]);
    assert.deepEqual(await page(after(0)), ['12', true]);
    assert.deepEqual(await page({ ...after(3) }), ['45', false]);
    assert.deepEqual(await page({ order: 'desc' }), ['54', true]);
    assert.deepEqual(await page({ order: 'desc', ...after(2) }), ['10', false]);
    assert.deepEqual(await page({ state: 'failed' }), ['3', false]);
    assert.deepEqual(await page({ state: 'open', ...after(2) }), ['45', false]);
    assert.deepEqual(await page({ state: 'none' }), ['', false]);
    assert.deepEqual(await store.counts(list), { open: 5, failed: 1 });
    await store.remove(list, '2');
    assert.deepEqual(await page(after(2)), ['34', true], 'a page can start after a removed entry');
    assert.deepEqual(await page({ order: 'desc', ...after(2) }), ['10', false]);
    await store.remove(list, '1');
    assert.deepEqual(await page(after(1)), ['34', true], 'and does not repeat others of the same millisecond');
    await store.add(list, entryOf({ id: '1', createdAt: 5 }));
    await store.remove(list, '0');
    assert.deepEqual(await page({ order: 'desc', ...after(0) }), ['', false]);
    await store.clear(list);
    assert.deepEqual(
      [await page({}), await page({ state: 'open' }), await store.counts(list)],
      [['', false], ['', false], {}],
    );
  });

  it('keepNewest removes the oldest entries', async () => {
    const { store } = open();
    const list = randomUUID();
    for (let n = 0; n < 5; n++) await store.add(list, entryOf({ id: `${n}`, createdAt: n }), { keepNewest: 3 });
    const { entries } = await store.page(list, { limit: 10, order: 'asc' });
    assert.deepEqual(
      entries.map(({ id }) => id),
      ['2', '3', '4'],
    );
    assert.deepEqual(await store.counts(list), { open: 3 });
  });

  it('keepNewest always keeps the entry that was just added, whatever its createdAt', async () => {
    const { store } = open();
    const list = randomUUID();
    for (let n = 9; n > 4; n--) await store.add(list, entryOf({ id: `${n}`, createdAt: n }), { keepNewest: 3 });
    const { entries } = await store.page(list, { limit: 10, order: 'asc' });
    assert.ok(entries.length === 3 && entries.some(({ id }) => id === '5'), entries.map(({ id }) => id).join());
  });

  it('cursors of the entries removed last still resolve, in whichever order they were removed', async () => {
    const { store } = open();
    const list = randomUUID();
    const resolve = (id: string) => resolveCursor(store, list, { id, param: 'after', find: async () => undefined });
    let now = 1000;
    for (let n = 300; n > 0; n--) {
      await noteRemoval(store, list, { id: `${n}`, place: n, now: now++ });
      assert.equal(await resolve(`${n}`), n);
    }
    await noteRemoval(store, list, { id: '1', place: 77, now });
    assert.equal(await resolve('1'), 77, 'an entry that was added and removed again has its latest place');
    await assert.rejects(resolve('300'), /there is no 300 in this list/);
  });

  it('cursors of entries that an earlier version removed still resolve', async () => {
    const { store } = open();
    const list = randomUUID();
    await store.add(removedFrom(list), entryOf({ id: 'a', value: '', createdAt: 77 }));
    const cursor = { id: 'a', param: 'after', find: async () => undefined };
    assert.equal(await resolveCursor(store, list, cursor), 77);
  });

  it('revision() changes with every change of the list', async () => {
    const { store, peer } = open();
    const list = randomUUID();
    const seen = new Set([await peer.revision(list)]);
    const entry = entryOf({ id: 'a' });
    const changed = async (change: Promise<unknown>) => {
      await change;
      const revision = await peer.revision(list);
      assert.ok(!seen.has(revision), `${revision}`);
      seen.add(revision);
    };
    assert.deepEqual([...seen], [0]);
    await changed(store.add(list, entry));
    await changed(store.replace(list, { ...entry, value: '2' }, { before: entry }));
    await store.remove(list, 'a');
    assert.equal(await peer.revision(list), 0);
    await changed(store.add(list, entry));
    await changed(store.add(list, { ...entry, id: 'b' }));
    await changed(store.remove(list, 'b'));
    const last = await peer.revision(list);
    await store.remove(list, 'b');
    assert.equal(await peer.revision(list), last, 'nothing was changed');
    await store.clear(list);
    assert.equal(await peer.revision(list), 0);
    await changed(store.add(list, entry));
  });
}

function entryOf(entry: Partial<Entry> & { id: string }): Entry {
  return { state: 'open', value: '1', createdAt: 7, ...entry };
}
