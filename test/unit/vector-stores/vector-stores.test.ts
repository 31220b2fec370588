import assert from 'node:assert/strict';
import { silentLogger } from '../../../src/base/logger.ts';
import { storeUnavailable } from '../../../src/store/failure.ts';
import type { DeliveryStore } from '../../../src/store/side-stores/delivery-store.ts';
import type { EntryStore } from '../../../src/store/side-stores/entry-store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { DocumentReader } from '../../../src/vector-stores/document-reader.ts';
import { FileBatches } from '../../../src/vector-stores/file-batches.ts';
import { VectorStores } from '../../../src/vector-stores/vector-stores.ts';
import { eventually } from '../../support/eventually.ts';
import { turnsDuring } from '../../support/loop-turns.ts';
import { patience } from '../../support/time-limit.ts';

const DAY = 86_400_000;
const ALL = { limit: 10_000, order: 'asc' } as const;

const VALUE = { name: '', metadata: {} };

/** Vector stores whose records cannot be changed while `isAway`, or once `writesLeft` are done. */
function setUp() {
  using stack = new DisposableStack();
  const store = stack.adopt(openSqliteStore('memory:', { sync: 'normal', log: silentLogger }), (open) => open.close());
  const clock = { at: Date.now(), now: () => clock.at };
  const world = { isAway: false, writesLeft: Number.POSITIVE_INFINITY, isScheduled: false };
  const { entries: kept, readings: schedule } = store.sideStores;
  const readings: DeliveryStore = {
    ...schedule,
    async schedule(...args) {
      world.isScheduled = true;
      await schedule.schedule(...args);
    },
  };
  const written = <T>(write: () => T): T => {
    if (world.isAway || world.writesLeft-- <= 0) throw storeUnavailable('it is away');
    return write();
  };
  const entries: EntryStore = {
    ...kept,
    add: async (...args) => await written(() => kept.add(...args)),
    replace: async (...args) => await written(() => kept.replace(...args)),
    remove: async (...args) => await written(() => kept.remove(...args)),
    clear: async (...args) => await written(() => kept.clear(...args)),
  };
  const stores = new VectorStores({ entries, readings, clock });
  const batches = new FileBatches({ entries, stores, clock });
  const owned = stack.move();
  return Object.assign(world, { clock, stores, batches, kept, readings, [Symbol.dispose]: () => owned.dispose() });
}

describe('vector stores', () => {
  it('hide no others while they are expired and not removed yet', async () => {
    using world = setUp();
    const create = async (expiresAfterDays?: number) => {
      world.clock.at += 1;
      return (await world.stores.create('ann', { name: '', metadata: {}, expiresAfterDays })).id;
    };
    const oldest = await create();
    for (let n = 0; n < 4; n++) await create(1);
    world.clock.at += 2 * DAY;
    const { stores, hasMore } = await world.stores.list('ann', { limit: 2, order: 'desc' });
    assert.deepEqual([stores.map(({ id }) => id), hasMore], [[oldest], false]);
  });

  it('let no search find the old attributes of a file that is attached again', async () => {
    using world = setUp();
    const { stores } = world;
    const changed: string[] = [];
    stores.onChange((id) => changed.push(id));
    const store = await stores.create('ann', { name: '', metadata: {} });
    const file = { user: 'ann', id: '1', name: 'a', purpose: '', type: '', bytes: 1, createdAt: 0, expiresAt: null };
    const attach = (year: number) => stores.attach(store, { files: [{ file, attributes: { year } }] });
    const [added] = await attach(1);
    await stores.changeFile(store.id, added?.id ?? '', (value) => ({ state: 'completed', value }));
    assert.deepEqual(changed, []);
    await attach(2);
    assert.deepEqual(changed, [store.id]);
  });

  it('leave turns of the event loop to others while the files of a large batch are read', async () => {
    using world = setUp();
    const store = await world.stores.create('ann', { name: '', metadata: {} });
    const file = { user: 'ann', name: 'a', purpose: '', type: '', bytes: 1, createdAt: 0, expiresAt: null };
    const files = Array.from({ length: 320 }, (_, n) => ({ file: { ...file, id: `${n}` }, attributes: {} }));
    const batch = await world.batches.create(store, files);
    assert.ok((await turnsDuring(() => world.batches.files(batch))) >= 9);
  });

  it('are searchable if their user sees them, wherever their creation was cut', async () => {
    for (let writes = 0; writes <= 2; writes++) {
      using world = setUp();
      world.writesLeft = writes;
      await world.stores.create('ann', VALUE).catch(() => {});
      const { stores } = await world.stores.list('ann', { limit: 10, order: 'asc' });
      assert.equal(stores.length, writes === 2 ? 1 : 0);
      for (const { id } of stores) assert.equal(await world.stores.userOf(id), 'ann');
    }
  });

  it('are gone at once wherever their removal was cut, and the reader removes the rest', async () => {
    let isWhole = false;
    for (let writes = 0; !isWhole; writes++) {
      using world = setUp();
      const { stores, kept, readings, clock } = world;
      const other = await stores.create('ann', VALUE);
      const store = await stores.create('ann', VALUE);
      const file = { user: 'ann', name: 'a', purpose: '', type: '', bytes: 1, createdAt: 0, expiresAt: null };
      const files = [1, 2].map((n) => ({ file: { ...file, id: `${n}` }, attributes: {} }));
      const batch = await world.batches.create(store, files);
      for (const { id } of await world.batches.files(batch))
        await stores.changeFile(store.id, id, (value) => ({ state: 'completed', value }));
      await stores.attach(other, { files: files.slice(0, 1) });
      Object.assign(world, { writesLeft: writes, isScheduled: false });
      isWhole = await stores.remove(store).then(
        () => true,
        () => false,
      );
      world.writesLeft = Number.POSITIVE_INFINITY;
      const isThere = await stores.find('ann', store.id).then(
        () => true,
        () => false,
      );
      if (!isThere) assert.ok(world.isScheduled, 'the reader looks at it soon');
      else {
        assert.equal(await stores.userOf(store.id), 'ann');
        assert.equal((await stores.counts(store.id)).completed, 2);
        await stores.remove(store);
      }
      const parts = { indexes: { acquireOwnership: () => true, change: async () => {} } };
      await using reader = new DocumentReader({ ...parts, stores, readings, clock, log: silentLogger } as never);
      reader.start();
      const lists = [`files of ${store.id}`, `batches of ${store.id}`, `files of ${batch.id}`, 'stores of file-2'];
      await eventually('the rest is removed', async () => {
        const sizes = await Promise.all(lists.map(async (list) => (await kept.page(list, ALL)).entries.length));
        const seen = (await kept.page('vector stores of ann', ALL)).entries;
        return sizes.every((size) => size === 0) && seen.length === 1 ? true : undefined;
      });
      assert.equal(await stores.userOf(store.id), undefined);
      const places = await kept.page('stores of file-1', ALL);
      assert.deepEqual(
        places.entries.map(({ id }) => id),
        [other.id],
      );
    }
  }).timeout(patience(60));

  it('fail to cancel a batch if its records cannot be changed', async () => {
    using world = setUp();
    const store = await world.stores.create('ann', { name: '', metadata: {} });
    const file = { user: 'ann', name: 'a', purpose: '', type: '', bytes: 1, createdAt: 0, expiresAt: null };
    const files = [1, 2].map((n) => ({ file: { ...file, id: `${n}` }, attributes: {} }));
    const batch = await world.batches.create(store, files);
    world.isAway = true;
    await assert.rejects(world.batches.cancel(batch), { code: 'store_unavailable' });
    world.isAway = false;
    await world.batches.cancel(batch);
    assert.equal((await world.stores.counts(store.id)).cancelled, 2);
  });
});
