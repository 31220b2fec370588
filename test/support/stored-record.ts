import { newRunId } from '../../src/base/ids.ts';
import type { RunRecord } from '../../src/store/run-store.ts';

/** A record of a run in progress with this stored request. */
export function recordOf(request: string): RunRecord {
  return {
    id: newRunId(),
    user: 'ann',
    keyId: 'ann',
    api: 'responses',
    model: 'm',
    kind: 'research',
    status: 'in_progress',
    createdAt: 1,
    startedAt: 1,
    endedAt: null,
    expiresAt: 2,
    cancelRequested: false,
    last: 2,
    request,
    metadata: '{}',
    listed: '{}',
  };
}
