import type { LimitStore } from '../../src/store/limit-store.ts';
import type { ServedStorage } from '../../src/store/shared/store-server.ts';
import type { SqliteRunStore } from '../../src/store/sqlite/store.ts';

/** What the first process of a gateway shares of an embedded store. */
export function storageOf(runs: SqliteRunStore, limits: LimitStore = runs.limits): ServedStorage {
  return {
    runs,
    limits,
    ...runs.beside,
    secret: () => runs.secret(),
  };
}
