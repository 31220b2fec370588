import assert from 'node:assert/strict';
import { silentLogger } from '../../../src/base/logger.ts';
import { storeUnavailable } from '../../../src/store/failure.ts';
import type { EntryStore } from '../../../src/store/side-stores/entry-store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { FileBatches } from '../../../src/vector-stores/file-batches.ts';
import { VectorStores } from '../../../src/vector-stores/vector-stores.ts';
import { turnsDuring } from '../../support/loop-turns.ts';

const DAY = 86_400_000;

/** Vector stores whose records cannot be changed while `isAway`. */
function setUp() {
  using stack = new DisposableStack();
  const store = stack.adopt(openSqliteStore('memory:', { sync: 'normal', log: silentLogger }), (open) => open.close());
  const clock = { at: Date.now(), now: () => clock.at };
  const world = { isAway: false };
  const { entries: kept, readings } = store.sideStores;
  const entries: EntryStore = {
    ...kept,
    async replace(...args) {
      if (world.isAway) throw storeUnavailable('it is away');
      return await kept.replace(...args);
    },
  };
  const stores = new VectorStores({ entries, readings, clock });
  const batches = new FileBatches({ entries, stores, clock });
  const owned = stack.move();
  return Object.assign(world, { clock, stores, batches, [Symbol.dispose]: () => owned.dispose() });
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
