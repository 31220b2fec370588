import { cancelContract } from './run-store-cancel.ts';
import { claimContract } from './run-store-claims.ts';
import type { StoreFixture } from './run-store-fixture.ts';
import { keyContract } from './run-store-keys.ts';
import { liveContract } from './run-store-live.ts';
import { logContract } from './run-store-log.ts';
import { propertyContract } from './run-store-properties.ts';
import { recordContract } from './run-store-records.ts';

/**
 * The contract of `src/store/run-store.ts`, for any backend: `open` returns an empty store. Promises of a single
 * backend have tests of their own.
 */
export function runStoreContract(name: string, open: () => Promise<StoreFixture>): void {
  describe(`RunStore contract: ${name}`, () => {
    recordContract(open);
    keyContract(open);
    claimContract(open);
    logContract(open);
    liveContract(open);
    cancelContract(open);
    propertyContract(open);
  });
}
