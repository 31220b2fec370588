import assert from 'node:assert/strict';
import { abortable } from '../../../src/base/abort.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { getStoreFileContent } from '../../../src/http/routes/vector-stores/files.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { DocumentReader } from '../../../src/vector-stores/document-reader.ts';
import { VectorStores } from '../../../src/vector-stores/vector-stores.ts';
import { eventually } from '../../support/eventually.ts';

it('a document that cannot be read now is read later, and those beside it at once', async () => {
  const store = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
  const { entries, readings } = store.sideStores;
  const stores = new VectorStores({ entries, readings, clock: systemClock });
  const tried: string[] = [];
  const parts = {
    files: { readAttached: async (_user: string, name: string) => ({ name, [Symbol.dispose]() {} }) },
    texts: {
      async read({ name }: { name: string }) {
        tried.push(name);
        if (name === 'file-1' && tried.length < 3) throw new GatewayError('overloaded', 'Too many are being read.');
        return { title: '', text: 'text' };
      },
    },
    indexes: { acquireOwnership: () => true, change: async () => {} },
  };
  await using reader = new DocumentReader({
    ...({ ...parts } as never as ConstructorParameters<typeof DocumentReader>[0]),
    stores,
    readings,
    clock: systemClock,
    log: silentLogger,
  });
  reader.start();
  const kept = await stores.create('ann', { name: '', metadata: {} });
  const file = { user: 'ann', name: 'a', purpose: '', type: '', bytes: 1, createdAt: 0, expiresAt: null };
  await stores.attach(kept, { files: ['1', '2'].map((id) => ({ file: { ...file, id }, attributes: {} })) });
  const counts = await eventually('both are read', async () => {
    const now = await stores.counts(kept.id);
    return now.in_progress === 0 ? now : undefined;
  });
  assert.deepEqual([counts.completed, counts.failed], [2, 0]);
  assert.deepEqual(tried.toSorted(), ['file-1', 'file-1', 'file-2']);
  await reader[Symbol.asyncDispose]();
  await store.close();
});

it('a document whose batch is cancelled while it is read stays cancelled', async () => {
  const store = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
  const { entries, readings } = store.sideStores;
  const stores = new VectorStores({ entries, readings, clock: systemClock });
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const indexed = Promise.withResolvers<void>();
  const parts = {
    files: { readAttached: async (_user: string, name: string) => ({ name, [Symbol.dispose]() {} }) },
    texts: {
      async read() {
        begun.resolve();
        await goOn.promise;
        return { title: '', text: 'text' };
      },
    },
    indexes: { acquireOwnership: () => true, change: async () => indexed.resolve() },
    ...{ stores, readings, clock: systemClock, log: silentLogger },
  };
  const reader = new DocumentReader(parts as never);
  reader.start();
  const kept = await stores.create('ann', { name: '', metadata: {} });
  const file = { user: 'ann', id: '1', name: 'a', purpose: '', type: '', bytes: 1, createdAt: 0, expiresAt: null };
  await stores.attach(kept, { files: [{ file, attributes: {} }] });
  await begun.promise;
  await stores.changeFile(kept.id, 'file-1', (known) => ({ state: 'cancelled', value: known }));
  goOn.resolve();
  await indexed.promise;
  // It waits for the document.
  await reader[Symbol.asyncDispose]();
  assert.equal((await stores.file(kept.id, 'file-1')).state, 'cancelled');
  await store.close();
});

it('a document is not read on for a client that has left', async () => {
  const store = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
  const { entries, readings } = store.sideStores;
  const stores = new VectorStores({ entries, readings, clock: systemClock });
  const begun = Promise.withResolvers<void>();
  const parts = {
    files: { readAttached: async (_user: string, name: string) => ({ name, [Symbol.dispose]() {} }) },
    texts: {
      read(_: unknown, signal: AbortSignal) {
        begun.resolve();
        return abortable(new Promise<never>(() => {}), signal);
      },
    },
    ...{ stores, readings, clock: systemClock, log: silentLogger },
  };
  await using reader = new DocumentReader(parts as never);
  const { id } = await stores.create('ann', { name: '', metadata: {} });
  const file = { user: 'ann', id: '1', name: 'a', purpose: '', type: '', bytes: 1, createdAt: 0, expiresAt: null };
  await stores.attach(await stores.find('ann', id), { files: [{ file, attributes: {} }] });
  const client = new AbortController();
  const call = {
    req: { params: { id, file: 'file-1' } },
    identity: { caller: { user: 'ann' }, context: { signal: client.signal } },
  };
  const answer = getStoreFileContent({ vectorStores: stores, documentReader: reader } as never, call as never);
  await begun.promise;
  client.abort(new Error('left'));
  await assert.rejects(answer, /left/);
  await store.close();
});
