import { sleep } from '../../base/abort.ts';
import type { RunId } from '../../base/ids.ts';
import type { RunStore } from '../../store/run-store.ts';
import { retryWhileStoreAway } from './retry-while-store-away.ts';

/** How long a run that a failover lost may be missing before its owner creates it again, in milliseconds. */
const LOST_MS = 3000;
const LOOK_MS = 200;

/**
 * Whether nothing follows event `last`: the run was removed, or the reader began past its end. Where a failover may
 * lose runs, one that is missing is given time to come back.
 */
export async function isGone(
  store: RunStore,
  id: RunId,
  { last, signal }: { last: number; signal: AbortSignal },
): Promise<boolean> {
  for (let waited = 0; ; waited += LOOK_MS) {
    const run = await retryWhileStoreAway(() => store.get(id), signal);
    if (run) return run.endedAt !== null && run.last <= last;
    if (!store.restore || waited >= LOST_MS) return true;
    await sleep(LOOK_MS, { signal });
  }
}
