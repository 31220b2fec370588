import type { LimitStore } from '../../src/store/limit-store.ts';
import type { SharedStorage } from '../../src/store/side-stores/side-stores.ts';
import type { SqliteRunStore } from '../../src/store/sqlite/store.ts';

/** The storage of a gateway with an embedded store. */
export function storageOf(runs: SqliteRunStore, limits: LimitStore = runs.limits): SharedStorage {
  return {
    runs,
    limits,
    ...runs.sideStores,
    secret: () => runs.secret(),
  };
}
