import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { LiveConfig } from '../../src/config/live-config.ts';
import { configSchema } from '../../src/config/schema.ts';
import { secretHash } from '../../src/config/secrets.ts';
import { StoredKeys } from '../../src/keys/stored-keys.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { EntryStore } from '../../src/store/side-stores/entry-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { until } from '../support/http-gateway.ts';
import { turnsDuring } from '../support/loop-turns.ts';
import { redisOrSkip } from '../support/redis.ts';

const FILE = configSchema.parse({ providers: {}, models: {}, keys: [{ id: 'boss', secret: 'sk-boss' }] });

/** The parts of a gateway instance that handle keys. */
async function instance(store: EntryStore) {
  const live = new LiveConfig(FILE);
  const fails = { next: false };
  const replace = async (next: typeof FILE) => {
    if (fails.next) {
      fails.next = false;
      throw new Error('not now');
    }
    live.replace(next);
  };
  const keys = new StoredKeys({ store, live, replace, clock: systemClock, log: silentLogger });
  await keys.start();
  return {
    keys,
    live,
    fails,
    ids: () =>
      live
        .current()
        .keys.map(({ id }) => id)
        .join(),
  };
}

function sharedKeys(name: string, open: (test: Mocha.Context) => Promise<{ stores: EntryStore[] } & AsyncDisposable>) {
  it(`apply a change on every instance, over ${name}`, async function () {
    await using shared = await open(this);
    const [one, two] = await Promise.all(shared.stores.map(instance));
    assert.ok(one && two);
    await using _one = one.keys;
    await using _two = two.keys;
    const { secret } = await one.keys.create('eve', {});
    assert.equal(one.ids(), 'boss,eve');
    await until(async () => two.ids() === 'boss,eve' || undefined);
    const encrypted = two.live.cipherOf('eve')?.encrypt('a token') ?? '';
    await two.keys.rotate('eve', { overlapMs: 60_000 });
    await until(async () => one.ids() === 'boss,eve,eve' || undefined);
    assert.equal(one.live.cipherOf('eve')?.decrypt(encrypted), 'a token');
    await two.keys.rotate('eve', { overlapMs: 0 });
    await until(async () => one.ids() === 'boss,eve' || undefined);
    assert.equal(one.live.cipherOf('eve')?.decrypt(encrypted), 'a token', 'also after the overlap');
    assert.ok(secret.length > 0);
    await Promise.all(
      [one, two].map(({ keys }, n) =>
        keys.update('eve', (settings) => ({ ...settings, tags: [...(settings.tags ?? []), `t${n}`] })),
      ),
    );
    assert.deepEqual((await one.keys.get('eve')).settings.tags?.toSorted(), ['t0', 't1'], 'no change is lost');
    await one.keys.remove('eve');
    await until(async () => two.ids() === 'boss' || undefined);
    await one.keys.create('ann', {});
    const file = configSchema.parse({
      providers: {},
      models: {},
      keys: [
        { id: 'boss', secret: 'sk-2' },
        { id: 'ann', secret: 'sk-3' },
      ],
    });
    await one.keys.reload(file);
    assert.equal(one.ids(), 'boss,ann', 'the key of the file wins');
    await one.keys.reload(FILE);
    assert.equal(one.ids(), 'boss,ann', 'the key of the store is back');
  });
}

describe('StoredKeys', () => {
  it('keep the former file if the new configuration cannot be applied', async () => {
    const store = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const { keys, ids, fails } = await instance(store.sideStores.entries);
    await using _ = keys;
    const next = configSchema.parse({ providers: {}, models: {}, keys: [{ id: 'chief', secret: 'sk-chief' }] });
    fails.next = true;
    await assert.rejects(keys.reload(next), /not now/);
    await keys.create('eve', {});
    assert.equal(ids(), 'boss,eve');
    await keys.reload(next);
    assert.equal(ids(), 'chief,eve');
    await store.close();
  });

  it('leave turns of the event loop to others when one of thousands changes', async () => {
    const store = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const { entries } = store.sideStores;
    const record = { v: 1, settings: { limits: { requests_per_minute: 60 } }, createdAt: 0 };
    const ids = Array.from({ length: 9000 }, (_, n) => `key-${n}`);
    await Promise.all(
      ids.map((id) => {
        const value = JSON.stringify({ ...record, id, hashes: [{ sha256: secretHash({ secret: id }) }] });
        return entries.add('keys', { id, state: 'active', value, createdAt: 0 });
      }),
    );
    const { keys } = await instance(entries);
    await using _ = keys;
    const turns = await turnsDuring(() => keys.create('eve', {}));
    // Reading the keys page by page leaves eleven.
    assert.ok(turns > 12, `${turns} turns`);
    await store.close();
  });

  sharedKeys('SQLite', async () => {
    const store = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const { entries } = store.sideStores;
    return { stores: [entries, entries], [Symbol.asyncDispose]: () => store.close() };
  });

  sharedKeys('Redis', async (test) => {
    const server = await redisOrSkip(test);
    const options = { url: server.url, log: silentLogger, prefix: randomUUID() };
    const [one, two] = await Promise.all([openRedisStore(options), openRedisStore(options)]);
    return {
      stores: [one.entries, two.entries],
      async [Symbol.asyncDispose]() {
        await Promise.all([one.runs.close(), two.runs.close()]);
        await server[Symbol.asyncDispose]();
      },
    };
  });
});
