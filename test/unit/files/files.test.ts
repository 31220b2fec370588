import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import { mock } from 'node:test';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { CredentialCipher } from '../../../src/base/secrets/encrypt.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { Files, publicFileId } from '../../../src/files/files.ts';
import type { FileStore } from '../../../src/store/side-stores/file-store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { until } from '../../support/http-gateway.ts';
import { S3Server } from '../../support/s3/s3-server.ts';

const HOUR = 3_600_000;
const signal = new AbortController().signal;

/** Files in a store that speaks S3. */
async function setUp() {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await S3Server.start());
  const { endpoint, region, bucket, credentials } = server;
  const config = configSchema.parse({
    providers: {},
    models: {},
    keys: [{ id: 'ann', secret: 'sk-ann' }],
    files: {
      url: `s3://${bucket}`,
      endpoint,
      region,
      access_key_id: credentials.accessKeyId,
      secret_access_key: credentials.secretAccessKey,
    },
  });
  const store = stack.adopt(openSqliteStore('memory:', { sync: 'normal', log: silentLogger }), (open) => open.close());
  const clock = { at: Date.now(), now: () => clock.at };
  const { entries, files: stored } = store.sideStores;
  /** Files whose records are damaged. */
  const damaged = new Set<string>();
  const get: FileStore['get'] = async (id) => {
    if (damaged.has(id)) throw new GatewayError('internal_error', 'The run store failed.');
    return await stored.get(id);
  };
  /** Records that cannot be read, of files that expired before all others. */
  const unreadable: null[] = [];
  const expired: FileStore['expired'] = async ({ now, limit, skip }) => {
    const others = await stored.expired({ now, limit, skip: Math.max(0, skip - unreadable.length) });
    return [...unreadable.slice(skip), ...others].slice(0, limit);
  };
  /** The ciphers of API keys. */
  const ciphers = new Map([['key', new CredentialCipher('00'.repeat(32), [])]]);
  const files = stack.use(
    new Files({
      store: { ...stored, get, expired },
      entries,
      config,
      cipherOf: (id) => ciphers.get(id),
      clock,
      log: silentLogger,
    }),
  );
  const add = async (keepMs?: number) => {
    await using taken = await files.receive(Readable.from([Buffer.from('some text')]), { user: 'ann', signal });
    return await files.add(taken, { user: 'ann', name: 'a.txt', purpose: 'user_data', type: 'text/plain', keepMs });
  };
  const owned = stack.move();
  return {
    server,
    files,
    ciphers,
    stored,
    clock,
    damaged,
    unreadable,
    add,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

describe('files of a response that is not stored', () => {
  it('are encrypted with their API key, with their names, also while they are removed', async () => {
    await using world = await setUp();
    const file = { user: 'ann', name: 'canary.txt', purpose: 'user_data', type: 'text/plain', sealedBy: 'key' };
    const added = await world.files.save(Buffer.from('a canary'), file, signal);
    const id = publicFileId(added.id);
    const inStore = async () =>
      JSON.stringify([await world.stored.get(added.id), [...world.server.objects.values()].map(String)]);
    assert.doesNotMatch(await inStore(), /canary/);
    const found = await world.files.find('ann', id);
    assert.deepEqual([found.name, found.bytes], ['canary.txt', 8]);
    using attached = await world.files.readAttached('ann', id, signal);
    assert.deepEqual([attached?.name, attached?.bytes.toString()], ['canary.txt', 'a canary']);
    world.server.fault = ({ operation }) =>
      operation === 'DeleteObject' ? { status: 403, code: 'AccessDenied' } : undefined;
    await assert.rejects(world.files.remove(found), { code: 'store_unavailable' });
    assert.doesNotMatch(await inStore(), /canary/);
    world.ciphers.delete('key');
    await assert.rejects(world.files.find('ann', id), { code: 'not_found' });
    assert.equal(await world.files.readAttached('ann', id, signal), undefined);
  });
});

describe('uploaded files', () => {
  it('stay until their bytes are deleted, and a failed removal can be repeated', async () => {
    await using world = await setUp();
    const file = await world.add();
    const id = publicFileId(file.id);
    world.server.fault = ({ operation }) =>
      operation === 'DeleteObject' ? { status: 403, code: 'AccessDenied' } : undefined;
    await assert.rejects(world.files.remove(file), { code: 'store_unavailable' });
    assert.equal((await world.files.find('ann', id)).id, file.id);
    world.server.fault = () => undefined;
    await world.files.remove(file);
    await assert.rejects(world.files.find('ann', id), { code: 'not_found' });
    assert.equal(world.server.objects.size, 0);
  });

  it('are gone everywhere once they expire, even before they are removed', async () => {
    await using world = await setUp();
    const [short, long] = [await world.add(HOUR), await world.add()];
    const listed = async () => {
      const { files } = await world.files.list({ user: 'ann', limit: 10, order: 'asc' });
      return files.map(({ id }) => id).toSorted();
    };
    assert.deepEqual(await listed(), [short.id, long.id].toSorted());
    world.clock.at += HOUR;
    assert.deepEqual(await listed(), [long.id]);
    await assert.rejects(world.files.find('ann', publicFileId(short.id)), { code: 'not_found' });
    assert.equal(await world.files.readAttached('ann', publicFileId(short.id), signal), undefined);
  });

  it('are gone at once, and with all that belongs to them later, if the process dies while they are removed', async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      await using world = await setUp();
      const file = await world.add();
      const dying = Promise.withResolvers<void>();
      let removals = 0;
      world.files.onRemove(async () => {
        if (removals++ > 0) return;
        dying.resolve();
        await new Promise(() => {});
      });
      void world.files.remove(file);
      await dying.promise;
      const page = await world.files.list({ user: 'ann', limit: 10, order: 'asc' });
      assert.deepEqual(page.files, []);
      await assert.rejects(world.files.find('ann', publicFileId(file.id)), { code: 'not_found' });
      mock.timers.tick(60_000);
      await until(async () => ((await world.stored.get(file.id)) ? undefined : true));
      assert.equal(removals, 2);
    } finally {
      mock.timers.reset();
    }
  });

  it('are taken out of everything only once nobody can read them any more', async () => {
    await using world = await setUp();
    const file = await world.add();
    const left: number[] = [];
    world.files.onRemove(async () => void left.push(world.server.objects.size));
    await world.files.remove(file);
    assert.deepEqual(left, [0]);
  });

  it('hide no others while they are expired and not removed yet', async () => {
    await using world = await setUp();
    const oldest = await world.add();
    world.clock.at += 1;
    const seen = await world.add(HOUR);
    for (let n = 0; n < 3; n++) {
      world.clock.at += 1;
      await world.add(HOUR);
    }
    world.clock.at += HOUR;
    const page = await world.files.list({ user: 'ann', limit: 2, order: 'desc' });
    assert.deepEqual([page.files.map(({ id }) => id), page.hasMore], [[oldest.id], false]);
    const after = await world.files.cursor('ann', { id: publicFileId(seen.id), param: 'after' });
    const next = await world.files.list({ user: 'ann', limit: 2, order: 'desc', after });
    assert.deepEqual(
      next.files.map(({ id }) => id),
      [oldest.id],
    );
  });

  it('are removed when they expire although a hundred others cannot be', async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      await using world = await setUp();
      const locked = new Set<string>();
      while (locked.size < 100) locked.add((await world.add(HOUR)).id);
      for (const after of [1, 2]) await world.add(HOUR + after);
      world.server.fault = ({ operation, key }) =>
        operation === 'DeleteObject' && locked.has(key) ? { status: 403, code: 'AccessDenied' } : undefined;
      world.clock.at += 2 * HOUR;
      mock.timers.tick(60_000);
      await until(() => (world.server.objects.size === 100 ? true : undefined));
      assert.deepEqual(new Set(world.server.objects.keys()), locked);
    } finally {
      mock.timers.reset();
    }
  });

  it('are removed when they expire although a hundred records cannot be read', async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      await using world = await setUp();
      for (let n = 0; n < 100; n++) world.unreadable.push(null);
      await world.add(HOUR);
      world.clock.at += 2 * HOUR;
      mock.timers.tick(60_000);
      await until(() => (world.server.objects.size === 0 ? true : undefined));
    } finally {
      mock.timers.reset();
    }
  });

  it('leave no bytes without a record, although a record is damaged and other bytes cannot be removed', async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      await using world = await setUp();
      const { server, damaged } = world;
      const known = await world.add();
      damaged.add(known.id);
      const locked = `0${randomUUID().slice(1)}`;
      const changed = new Date(Date.now() - 7 * HOUR);
      const bytes = { body: Buffer.from('lost'), changed };
      for (const id of [locked, randomUUID(), `f${randomUUID().slice(1)}`]) server.objects.set(id, bytes);
      Object.assign(server.objects.get(known.id) ?? {}, { changed });
      server.fault = ({ operation, key }) =>
        operation === 'DeleteObject' && key === locked ? { status: 403, code: 'AccessDenied' } : undefined;
      world.clock.at += HOUR;
      mock.timers.tick(60_000);
      await until(() => (server.objects.size === 2 ? true : undefined));
      assert.deepEqual([...server.objects.keys()].toSorted(), [locked, known.id].toSorted());
    } finally {
      mock.timers.reset();
    }
  });

  it('leave nothing attached to the signal of a reader that finds no bytes', async () => {
    await using world = await setUp();
    const file = await world.add();
    world.server.objects.clear();
    const reader = new AbortController();
    await assert.rejects(world.files.stream(file, reader.signal), { code: 'not_found' });
    world.server.fault = () => ({ status: 403, code: 'AccessDenied' });
    await assert.rejects(world.files.stream(file, reader.signal), { code: 'store_unavailable' });
    assert.equal(getEventListeners(reader.signal, 'abort').length, 0);
  });

  it('count as gone for a reader of documents if their bytes are missing', async () => {
    await using world = await setUp();
    const file = await world.add();
    const read = () => world.files.readAttached('ann', publicFileId(file.id), signal);
    Object.assign(world.server.objects.get(file.id) ?? {}, { body: Buffer.from('some') });
    assert.equal(await read(), undefined);
    world.server.objects.clear();
    assert.equal(await read(), undefined);
  });
});
