import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { FileRecord, FileStore } from '../../src/store/side-stores/file-store.ts';

/** The contract of `FileStore`, for any backend. */
export function testFiles(open: () => { store: FileStore; peer: FileStore }): void {
  const fileOf = (user: string, changes: Partial<FileRecord> = {}): FileRecord => ({
    id: randomUUID(),
    user,
    name: 'notes {1}é.md',
    purpose: 'user_data',
    type: 'text/markdown',
    bytes: 100,
    createdAt: 1000,
    expiresAt: null,
    ...changes,
  });
  const most = 1000;

  it('add() stores a file once, visible to every instance until it is removed', async () => {
    const { store, peer } = open();
    const file = fileOf('ada {}', { expiresAt: 5 });
    assert.equal(await store.add(file, { maxBytes: most }), 'added');
    assert.equal(await store.add({ ...file, name: 'other' }, { maxBytes: most }), 'added', 'a repeat changes nothing');
    assert.deepEqual(await peer.get(file.id), file);
    assert.equal(await store.get(randomUUID()), undefined);
    assert.equal(await peer.remove(file.id), true);
    assert.equal(await store.remove(file.id), false);
    assert.equal(await store.get(file.id), undefined);
    assert.deepEqual((await store.list({ user: 'ada {}', limit: 10, order: 'asc' })).files, []);
  });

  it('add() keeps each user below maxBytes; removed files no longer count', async () => {
    const { store, peer } = open();
    const user = randomUUID();
    const files = Array.from({ length: 12 }, () => fileOf(user));
    const results = await Promise.all(files.map((file, n) => (n % 2 ? store : peer).add(file, { maxBytes: most })));
    assert.equal(results.filter((result) => result === 'added').length, 10);
    const refused = files[results.indexOf('full')];
    assert.ok(refused);
    assert.equal(await store.get(refused.id), undefined);
    const kept = files[results.indexOf('added')];
    await store.remove(kept?.id ?? '');
    assert.equal(await peer.add(refused, { maxBytes: most }), 'added');
    assert.equal(await peer.add(fileOf('somebody else'), { maxBytes: most }), 'added');
  });

  it('list() pages in both orders, and by purpose', async () => {
    const { store } = open();
    const user = randomUUID();
    const files = Array.from({ length: 5 }, (_, n) =>
      fileOf(user, { createdAt: 10 + n, purpose: n === 3 ? 'vision' : 'user_data', bytes: n }),
    );
    for (const file of files) await store.add(file, { maxBytes: most });
    await store.add(fileOf(randomUUID()), { maxBytes: most });
    const page = async (query: Partial<Parameters<FileStore['list']>[0]>) => {
      const found = await store.list({ user, limit: 2, order: 'asc', ...query });
      return [found.files.map(({ bytes }) => bytes).join(''), found.hasMore];
    };
    assert.deepEqual(await page({}), ['01', true]);
    assert.deepEqual(await page({ after: files[1] }), ['23', true]);
    assert.deepEqual(await page({ after: files[3] }), ['4', false]);
    assert.deepEqual(await page({ order: 'desc' }), ['43', true]);
    assert.deepEqual(await page({ order: 'desc', after: files[1] }), ['0', false]);
    assert.deepEqual(await page({ purpose: 'vision' }), ['3', false]);
    assert.deepEqual(await page({ purpose: 'user_data', after: files[2], limit: 1 }), ['4', false]);
  });

  it('expired() finds files whose time has come', async () => {
    const { store } = open();
    const user = randomUUID();
    const [over, later, never] = [fileOf(user, { expiresAt: 50 }), fileOf(user, { expiresAt: 60 }), fileOf(user)];
    for (const file of [later, never, over]) await store.add(file, { maxBytes: most });
    const found = async (now: number, skip = 0) =>
      (await store.expired({ now, limit: 10, skip })).map((file) => file?.id);
    assert.deepEqual(await found(49), []);
    assert.deepEqual(await found(60), [over.id, later.id]);
    assert.deepEqual(await found(60, 1), [later.id]);
    await store.remove(over.id);
    assert.deepEqual(await found(60), [later.id]);
  });

  it('setExpiry() changes when a file expires, and nothing of one that is gone', async () => {
    const { store, peer } = open();
    const file = fileOf(randomUUID());
    await store.add(file, { maxBytes: most });
    const states = async () => [await peer.get(file.id), await peer.expired({ now: 70, limit: 10, skip: 0 })];
    const over = { ...file, expiresAt: 70 };
    await store.setExpiry(over);
    assert.deepEqual(await states(), [over, [over]]);
    await store.setExpiry(file);
    assert.deepEqual(await states(), [file, []]);
    await store.remove(file.id);
    await store.setExpiry(over);
    assert.deepEqual(await states(), [undefined, []]);
  });
}
