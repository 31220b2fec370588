import { silentLogger } from '../../src/base/logger.ts';
import { memoryLimits } from '../../src/store/memory-limits.ts';
import { connectStore } from '../../src/store/shared/store-client.ts';
import { serveStore } from '../../src/store/shared/store-server.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { storageOf } from '../support/storage-of.ts';
import { runStoreContract } from './run-store.ts';
import { testClock } from './run-store-fixture.ts';

runStoreContract('SQLite, shared with other processes of the gateway', async () => {
  const clock = testClock();
  const held = openSqliteStore('memory:', { sync: 'normal', log: silentLogger, clock });
  const server = await serveStore(storageOf(held, memoryLimits(clock.now.bind(clock))));
  const here = await connectStore(server.path);
  const there = await connectStore(server.path);
  return {
    store: here.runs,
    peer: there.runs,
    clock,
    async [Symbol.asyncDispose]() {
      await Promise.all([here.runs.close(), there.runs.close()]);
      await server[Symbol.asyncDispose]();
      await held.close();
    },
  };
});
