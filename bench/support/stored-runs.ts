import { newRunId, type RunId } from '../../src/base/ids.ts';
import type { RunStore } from '../../src/store/run-store.ts';

/** Runs that are written at a time. */
const AT_ONCE = 2000;
const MODELS = ['deep', 'quick', 'wide'];
const FRAMES = Buffer.from('event: x\ndata: {"type":"x","sequence_number":1}\n\n'.repeat(2));
const LAST_FRAME = Buffer.from(
  'event: response.completed\ndata: {"type":"response.completed","sequence_number":3,"response":{"status":"completed"}}\n\n',
);

export const LARGEST_USER = 'user-0';

/**
 * Stores ended runs, straight through the store, and gives them in the order of their ends. A tenth of all is the
 * largest user's, one in a hundred has failed, three models have a third each. `retainMs`: an hour, unless they are to
 * have expired.
 */
export async function fill(
  store: RunStore,
  {
    runs,
    users,
    retainMs = 3_600_000,
    ...fields
  }: { runs: number; users: number; retainMs?: number; keyId?: string; request?: string; api?: 'async' },
): Promise<{ id: RunId; user: string }[]> {
  const stored: { id: RunId; user: string }[] = [];
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < runs; n = next++) {
      const run = { ...newRun(n, users), ...fields };
      await store.create(run);
      const claim = await store.claim(run.id, { leaseMs: 60_000, force: true });
      const status = n % 100 === 0 ? ('failed' as const) : ('completed' as const);
      const end = { status, at: Date.now(), retainMs };
      await store.append(run.id, { token: claim?.token ?? '', first: 3, count: 1, frames: LAST_FRAME, end });
      stored.push({ id: run.id, user: run.user });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return stored;
}

/** The run with this number, just submitted. */
export function newRun(n: number, users: number) {
  return {
    id: newRunId(),
    user: n % 10 === 0 ? LARGEST_USER : `user-${n % users}`,
    keyId: 'key',
    api: 'responses' as const,
    model: MODELS[n % MODELS.length] ?? '',
    kind: 'research' as const,
    createdAt: Date.now(),
    expiresAt: Date.now() + 3_600_000,
    request: '{"input":[],"request":{}}',
    metadata: '{}',
    listed: '{}',
    frames: FRAMES,
    frameCount: 2,
  };
}
