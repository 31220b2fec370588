import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/base/logger.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { runStoreContract } from './run-store.ts';

runStoreContract('SQLite in memory', async () => {
  const store = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
  return { store, peer: store, [Symbol.asyncDispose]: () => store.close() };
});

runStoreContract('SQLite in a folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'run-store-'));
  const store = openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger });
  return {
    store,
    peer: store,
    async [Symbol.asyncDispose]() {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
});
