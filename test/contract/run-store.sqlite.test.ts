import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/base/logger.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { runStoreContract } from './run-store.ts';
import { testClock } from './run-store-fixture.ts';

runStoreContract('SQLite in memory', async () => {
  const clock = testClock();
  const store = openSqliteStore('memory:', { sync: 'normal', log: silentLogger, clock });
  return { store, peer: store, clock, [Symbol.asyncDispose]: () => store.close() };
});

runStoreContract('SQLite in a folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'run-store-'));
  const clock = testClock();
  const store = openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger, clock });
  return {
    store,
    peer: store,
    clock,
    async [Symbol.asyncDispose]() {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
});
