import { followLog } from '../../src/runs/reading/follow.ts';
import type { LogBatch, RunStore } from '../../src/store/run-store.ts';

/** A reader that takes batches of a log when it is told to. */
export function logReader(store: RunStore, id: string, after = 0, signal = AbortSignal.timeout(60_000)) {
  const batches = followLog(store, id, { after, signal });
  return {
    next: async (): Promise<LogBatch | undefined> => (await batches.next()).value ?? undefined,
    async rest(): Promise<Buffer> {
      return Buffer.concat((await Array.fromAsync(batches)).map((batch) => batch.frames));
    },
  };
}
