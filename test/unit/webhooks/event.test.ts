import assert from 'node:assert/strict';
import type { RunApi, RunStatus } from '../../../src/store/run-store.ts';
import { eventOf } from '../../../src/webhooks/event.ts';
import { newRun } from '../../contract/run-store-fixture.ts';

/** The event of a run that ended with an event of this type; undefined: its log is gone. */
function eventFor({ api, status, endedAt = 1_750_000_005_999, last }: Ended) {
  const run = { ...newRun(), api, status, startedAt: 1, endedAt, cancelRequested: false, last: 3 };
  const frames = Buffer.from(`event: ${last}\ndata: ${JSON.stringify({ type: last, sequence_number: 3 })}\n\n`);
  const readLast = async () => (last ? { first: 3, last: 3, frames, end: true } : undefined);
  return eventOf(run, { readLast });
}

interface Ended {
  api: RunApi;
  status: RunStatus;
  endedAt?: number | null;
  last?: string;
}

describe('the event of a webhook', () => {
  for (const [api, status, last, type] of [
    ['responses', 'completed', 'response.completed', 'response.completed'],
    ['responses', 'completed', 'response.incomplete', 'response.incomplete'],
    ['responses', 'completed', undefined, 'response.completed'],
    ['responses', 'failed', 'response.failed', 'response.failed'],
    ['responses', 'failed', 'response.incomplete', 'response.failed'],
    ['responses', 'cancelled', 'response.cancelled', 'response.cancelled'],
    ['async', 'completed', 'response.incomplete', 'task.completed'],
    ['async', 'failed', 'response.failed', 'task.failed'],
    ['async', 'cancelled', 'response.cancelled', 'task.cancelled'],
  ] as const) {
    it(`is ${type} for a run over ${api} that is ${status}, whose last event is ${last}`, async () => {
      const event = await eventFor({ api, status, ...(last && { last }) });
      assert.deepEqual([event?.type, event?.created_at, event?.object], [type, 1_750_000_005, 'event']);
    });
  }

  it('does not exist while the run is open', async () => {
    for (const status of ['queued', 'in_progress'] as const) {
      assert.equal(await eventFor({ api: 'responses', status }), undefined);
    }
    assert.equal(await eventFor({ api: 'responses', status: 'completed', endedAt: null }), undefined);
  });
});
