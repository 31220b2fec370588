import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/base/logger.ts';
import { RedisKeys } from '../../src/store/redis/keys.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { connectStore } from '../../src/store/shared/store-client.ts';
import { serveStore } from '../../src/store/shared/store-server.ts';
import type { ConversationItem, ConversationStore } from '../../src/store/side-stores/conversation-store.ts';
import type { SideStores } from '../../src/store/side-stores/side-stores.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { ask, type RedisCluster, startCluster } from '../support/redis-groups.ts';
import { storageOf } from '../support/storage-of.ts';
import { testDeliveries } from './deliveries.ts';
import { testEntries } from './entries.ts';
import { testFiles } from './files.ts';
import { testClock } from './run-store-fixture.ts';
import { testUsage } from './usage.ts';

const KEEP = { keepMs: 3_600_000 };
const HOLD = { ...KEEP, version: 1 };
const MAX = { items: 1000, bytes: 1_000_000 };

interface Fixture extends AsyncDisposable {
  store: SideStores & { secret(): Promise<string> };
  /** Another instance of the same store. */
  peer: Fixture['store'];
  clock: ReturnType<typeof testClock>;
  /** Whether `clock` alone decides when something expires. Redis uses its own clock. */
  expiresByClock: boolean;
}

/** The contracts of `src/store/side-stores/` and of `Storage.secret`, for any backend. */
function sideStoreContracts(name: string, open: () => Promise<Fixture>): void {
  describe(`side store contracts: ${name}`, () => {
    let fixture: Fixture;
    let store: ConversationStore;
    beforeEach(async () => {
      fixture = await open();
      store = fixture.store.conversations;
    });
    afterEach(() => fixture[Symbol.asyncDispose]());

    it('ConversationStore creates a conversation once and shows it to every instance', async () => {
      const { id } = await created(store, items('a', 'b'));
      await created(store, items('other'), id);
      const found = await fixture.peer.conversations.get(id);
      assert.deepEqual(found, {
        id,
        user: 'ada {}',
        createdAt: 1234,
        metadata: '{"a":"é"}',
        items: 2,
        version: 2,
        bytes: 'é'.length + 1 + 2 * JSON.stringify({ id: 'a', text: '' }).length,
        holder: null,
      });
      assert.equal(await store.get(randomUUID()), undefined);
      const page = { limit: 10, order: 'asc' as const };
      assert.deepEqual(await store.items(randomUUID(), page), { items: [], hasMore: false });
    });

    it('ConversationStore.add appends a batch of items completely or not at all', async () => {
      const { id } = await created(store, items('a'));
      assert.equal(await store.add(id, items('b', 'c'), { ...KEEP, max: MAX }), 'added');
      assert.equal(await store.add(id, items('c', 'd'), { ...KEEP, max: MAX }), 'added');
      assert.deepEqual(await ids(store, id), ['a', 'b', 'c', 'd'], 'an item that is there already stays as it is');
      assert.equal(await store.add(id, items('e', 'f'), { ...KEEP, max: { ...MAX, items: 5 } }), 'full');
      const bytes = (await store.get(id))?.bytes ?? 0;
      assert.equal(await store.add(id, items('e'), { ...KEEP, max: { ...MAX, bytes: bytes + 10 } }), 'full');
      assert.deepEqual(await ids(store, id), ['a', 'b', 'c', 'd']);
      assert.equal((await store.get(id))?.items, 4);
      assert.equal(await store.add(randomUUID(), items('e'), { ...KEEP, max: MAX }), 'missing');
    });

    it('ConversationStore.items pages in both orders, even if items are added in between', async () => {
      const { id } = await created(store, items('a', 'b', 'c', 'd', 'e'));
      const page = async (order: 'asc' | 'desc', after?: string) => {
        const found = await store.items(id, { limit: 2, order, ...(after !== undefined && { after }) });
        assert.ok(typeof found === 'object');
        return [found.items.map((item) => item.id).join(''), found.hasMore];
      };
      assert.deepEqual(await page('asc'), ['ab', true]);
      assert.deepEqual(await page('asc', 'b'), ['cd', true]);
      assert.deepEqual(await page('asc', 'd'), ['e', false]);
      assert.deepEqual(await page('asc', 'e'), ['', false]);
      assert.deepEqual(await page('desc'), ['ed', true]);
      await store.add(id, items('f'), { ...KEEP, max: MAX });
      assert.deepEqual(await page('desc', 'd'), ['cb', true]);
      assert.deepEqual(await page('desc', 'b'), ['a', false]);
      assert.equal(await store.items(id, { limit: 2, order: 'asc', after: 'x' }), 'unknown_cursor');
      assert.partialDeepStrictEqual(await store.item(id, 'c'), items('c')[0]);
      assert.equal(await store.item(id, 'x'), undefined);
    });

    it('ConversationStore.items continues from the place of a removed item', async () => {
      const { id } = await created(store, items('a', 'b', 'c', 'd'));
      const following = async (place: number | undefined, order: 'asc' | 'desc') => {
        const found = await store.items(id, { limit: 9, order, after: place });
        return typeof found === 'object' && found.items.map((item) => item.id).join('');
      };
      const [c, d] = [(await store.item(id, 'c'))?.place, (await store.item(id, 'd'))?.place];
      await store.removeItem(id, 'c', KEEP);
      assert.deepEqual([await following(c, 'asc'), await following(c, 'desc')], ['d', 'ba']);
      await store.removeItem(id, 'd', KEEP);
      assert.deepEqual([await following(d, 'asc'), await following(d, 'desc')], ['', 'ba']);
      await store.add(id, items('e'), { ...KEEP, max: MAX });
      assert.deepEqual([await following(d, 'asc'), await following(d, 'desc')], ['e', 'ba'], 'no place is used again');
    });

    it('ConversationStore removes one item, or a conversation with all its items', async () => {
      const { id } = await created(store, items('a', 'b'));
      assert.equal(await store.removeItem(id, 'a', KEEP), true);
      assert.equal(await store.removeItem(id, 'a', KEEP), false);
      assert.deepEqual(await ids(store, id), ['b']);
      const left = await store.get(id);
      assert.deepEqual([left?.items, left?.bytes, left?.version], [1, items('b')[0]?.json.length, 3]);
      assert.equal(await store.removeItem(randomUUID(), 'a', KEEP), false);
      assert.deepEqual([await store.delete(id), await store.delete(id)], [true, false]);
      assert.equal(await store.get(id), undefined);
      assert.equal(await store.item(id, 'b'), undefined);
      await created(store, [], id);
      assert.deepEqual(await ids(store, id), [], 'nothing of the deleted conversation is left');
    });

    it('ConversationStore.setMetadata replaces the metadata', async () => {
      const { id } = await created(store, []);
      assert.equal(await store.setMetadata(id, '{"b":2}', KEEP), true);
      assert.equal((await store.get(id))?.metadata, '{"b":2}');
      assert.equal(await store.setMetadata(randomUUID(), '{}', KEEP), false);
    });

    it('ConversationStore.hold locks a conversation for one run, which finishes it once', async () => {
      const { id } = await created(store, items('a'));
      assert.equal(await store.hold(id, 'run-1', HOLD), 'held');
      assert.equal(await store.hold(id, 'run-1', HOLD), 'held', 'the holder may ask again');
      const busy = await fixture.peer.conversations.hold(id, 'run-2', HOLD);
      assert.ok(typeof busy === 'object' && busy.run === 'run-1' && busy.heldMs >= 0 && busy.heldMs < 60_000);
      assert.equal((await store.get(id))?.holder?.run, 'run-1');
      assert.equal(await store.finish(id, 'run-2', items('x'), KEEP), false);
      const both = await Promise.all([
        store.finish(id, 'run-1', items('b', 'c'), KEEP),
        fixture.peer.conversations.finish(id, 'run-1', items('d'), KEEP),
      ]);
      assert.deepEqual(both.toSorted(), [false, true]);
      assert.deepEqual(await ids(store, id), both[0] ? ['a', 'b', 'c'] : ['a', 'd']);
      assert.equal((await store.get(id))?.holder, null);
      assert.equal(await store.hold(id, 'run-2', HOLD), 'changed', 'the version read is out of date');
      const version = (await store.get(id))?.version ?? 0;
      assert.equal(await store.hold(id, 'run-2', { ...KEEP, version }), 'held');
      assert.equal(await store.hold(randomUUID(), 'run-2', HOLD), 'missing');
      assert.equal(await store.finish(randomUUID(), 'run-2', [], KEEP), false);
    });

    it('ConversationStore.hold grants one of many concurrent runs', async () => {
      const { id } = await created(store, items('a'));
      const stores = [store, fixture.peer.conversations];
      const asked = Array.from({ length: 20 }, (_, n) => stores[n % 2]?.hold(id, `run-${n}`, HOLD));
      assert.equal((await Promise.all(asked)).filter((result) => result === 'held').length, 1);
      const holder = (await store.get(id))?.holder?.run ?? '';
      await store.add(id, items('b'), { ...KEEP, max: { items: 9, bytes: 999 } });
      assert.equal(await store.hold(id, holder, HOLD), 'held', 'added items do not end the hold');
    });

    it('ConversationStore expires conversations; every change extends their time', async function () {
      if (!fixture.expiresByClock) return this.skip();
      const { id } = await created(store, items('a'));
      const kept = await created(store, items('a'));
      fixture.clock.ms += KEEP.keepMs - 1000;
      await store.setMetadata(kept.id, '{}', KEEP);
      fixture.clock.ms += 1000;
      assert.equal(await store.get(id), undefined);
      assert.deepEqual(await ids(store, kept.id), ['a']);
    });

    it('Storage.secret is the same for all instances', async () => {
      const secret = await fixture.store.secret();
      assert.ok(secret.length >= 32);
      assert.deepEqual([await fixture.peer.secret(), await fixture.store.secret()], [secret, secret]);
      await using other = await open();
      if (other.store !== fixture.store) assert.notEqual(await other.store.secret(), secret);
    });

    describe('FileStore', () => {
      testFiles(() => ({ store: fixture.store.files, peer: fixture.peer.files }));
    });

    describe('EntryStore', () => {
      testEntries(() => ({ store: fixture.store.entries, peer: fixture.peer.entries }));
    });

    describe('UsageStore', () => {
      testUsage(() => ({ store: fixture.store.usage, peer: fixture.peer.usage }));
    });

    describe('DeliveryStore', () => {
      testDeliveries(() => ({
        store: fixture.store.deliveries,
        peer: fixture.peer.deliveries,
        advance: (ms) => {
          fixture.clock.ms += ms;
        },
      }));
    });
  });
}

async function created(store: ConversationStore, all: ConversationItem[], id: string = randomUUID()) {
  await store.create({ id, user: 'ada {}', createdAt: 1234, metadata: '{"a":"é"}', items: all, ...KEEP });
  return { id };
}

function items(...names: string[]): ConversationItem[] {
  return names.map((id) => ({ id, json: JSON.stringify({ id, text: id === 'a' ? 'é' : '' }) }));
}

async function ids(store: ConversationStore, id: string): Promise<string[]> {
  const found = await store.items(id, { limit: 100, order: 'asc' });
  return typeof found === 'object' ? found.items.map((item) => item.id) : [];
}

sideStoreContracts('SQLite in memory', async () => {
  const clock = testClock();
  const store = openSqliteStore('memory:', { sync: 'normal', log: silentLogger, clock });
  const parts = storageOf(store);
  return { store: parts, peer: parts, clock, expiresByClock: true, [Symbol.asyncDispose]: () => store.close() };
});

sideStoreContracts('SQLite, shared with other processes of the gateway', async () => {
  const clock = testClock();
  const held = openSqliteStore('memory:', { sync: 'normal', log: silentLogger, clock });
  const server = await serveStore(storageOf(held));
  const store = await connectStore(server.path);
  const peer = await connectStore(server.path);
  return {
    store,
    peer,
    clock,
    expiresByClock: true,
    async [Symbol.asyncDispose]() {
      await Promise.all([store.runs.close(), peer.runs.close()]);
      await server[Symbol.asyncDispose]();
      await held.close();
    },
  };
});

describe('conversations in a SQLite file', () => {
  it('survive a restart, as does the secret, and are swept when expired', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'conversations-'));
    const clock = testClock();
    const open = () => openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger, clock });
    const before = open();
    const { id } = await created(before.sideStores.conversations, items('a', 'b'));
    await before.sideStores.conversations.hold(id, 'run-1', { ...KEEP, version: 2 });
    const secret = await before.secret();
    await before.close();
    const after = open();
    assert.deepEqual(await ids(after.sideStores.conversations, id), ['a', 'b']);
    assert.equal((await after.sideStores.conversations.get(id))?.holder?.run, 'run-1');
    assert.equal(await after.secret(), secret);
    clock.ms += KEEP.keepMs;
    await after.removeExpired({ limit: 10 });
    clock.ms -= KEEP.keepMs;
    assert.equal(await after.sideStores.conversations.get(id), undefined);
    await after.close();
    await rm(folder, { recursive: true });
  });
});

function redisContracts(name: string, url: () => string): void {
  sideStoreContracts(name, async () => {
    const clock = testClock();
    const options = { url: url(), log: silentLogger, prefix: randomUUID(), clock };
    const [store, peer] = [await openRedisStore(options), await openRedisStore(options)];
    return {
      store,
      peer,
      clock,
      expiresByClock: false,
      async [Symbol.asyncDispose]() {
        await Promise.all([store.runs.close(), peer.runs.close()]);
      },
    };
  });
}

describe('side stores in Redis', () => {
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());
  redisContracts('Redis', () => server.url);

  it('a file or an entry whose record cannot be read is not gone', async () => {
    const prefix = randomUUID();
    const keys = new RedisKeys(prefix);
    const { files, entries, runs } = await openRedisStore({ url: server.url, log: silentLogger, prefix });
    const file = { id: randomUUID(), user: 'ada', name: 'a', purpose: 'user_data', type: '', bytes: 1, createdAt: 1 };
    const expiring = { ...file, expiresAt: 5 };
    await files.add(expiring, { maxBytes: 10 });
    const store = (record: string) => ask(server.port, 'HSET', keys.filesOf('ada').names[0], file.id, record);
    await store('{"id":1}');
    await assert.rejects(files.get(file.id));
    assert.deepEqual(await files.expired({ now: 10, limit: 10, skip: 0 }), [null], 'it can be skipped');
    await store(JSON.stringify(expiring));
    assert.deepEqual(await files.expired({ now: 10, limit: 10, skip: 0 }), [expiring], 'its expiry was not forgotten');
    await ask(server.port, 'HSET', keys.entries('list').names[0], 'id', '{');
    await assert.rejects(entries.get('list', 'id'));
    await runs.close();
  });

  it('conversations are expired by Redis itself, with their items', async () => {
    const { conversations: store, runs } = await openRedisStore({ url: server.url, log: silentLogger });
    const { id } = await created(store, items('a'));
    await store.add(id, items('b'), { keepMs: 20, max: MAX });
    while (await store.get(id)) await new Promise(setImmediate);
    assert.deepEqual([await ids(store, id), await store.item(id, 'a')], [[], undefined]);
    await runs.close();
  });
});

describe('side stores in a Redis Cluster', () => {
  let cluster: RedisCluster;
  before(async function () {
    await (await redisOrSkip(this))[Symbol.asyncDispose]();
    cluster = await startCluster();
  });
  after(() => cluster?.[Symbol.asyncDispose]());
  redisContracts('Redis Cluster', () => cluster.url);
});
