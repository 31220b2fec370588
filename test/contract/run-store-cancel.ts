import assert from 'node:assert/strict';
import { newRunId } from '../../src/base/ids.ts';
import type { RunStore } from '../../src/store/run-store.ts';
import { patience } from '../support/time-limit.ts';
import {
  claimed,
  claimedRun,
  endedRun,
  ending,
  events,
  LEASE,
  newRun,
  readAll,
  type StoreFixture,
} from './run-store-fixture.ts';

/** Cancelling: once accepted, a cancel is never lost. */
export function cancelContract(open: () => Promise<StoreFixture>): void {
  describe('requestCancel', function () {
    // The race below ends two thousand runs.
    this.timeout(patience(60));
    it('once accepted, lets the run end only as cancelled', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const { run, token } = await claimedRun(store);
      assert.deepEqual(await peer.requestCancel(run.id), { result: 'accepted' });
      assert.deepEqual(await peer.requestCancel(run.id), { result: 'accepted' });
      assert.equal((await store.get(run.id))?.cancelRequested, true);
      for (const status of ['completed', 'failed'] as const) {
        assert.deepEqual(await store.append(run.id, ending(token, 3, status)), { result: 'cancelled', last: 2 });
      }
      assert.deepEqual(await store.append(run.id, events(token, 3, 4)), { result: 'ok', last: 4, cancel: true });
      assert.equal((await store.append(run.id, ending(token, 5, 'cancelled'))).result, 'ok');
      const ended = await store.get(run.id);
      assert.deepEqual([ended?.status, ended?.cancelRequested], ['cancelled', true]);
    });

    it('is reported by the next append, duplicate append or renewal', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      await store.append(run.id, events(token, 3, 3));
      await store.requestCancel(run.id);
      assert.deepEqual(await store.renew(run.id, { ...LEASE, token }), { result: 'ok', cancel: true });
      assert.deepEqual(await store.append(run.id, events(token, 3, 3)), { result: 'duplicate', last: 3, cancel: true });
      assert.deepEqual(await store.append(run.id, events(token, 4, 4)), { result: 'ok', last: 4, cancel: true });
    });

    it('survives a change of owner', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const { run } = await claimedRun(store);
      await store.requestCancel(run.id);
      const next = await claimed(peer, run.id);
      assert.equal(next.run.cancelRequested, true);
      assert.equal((await peer.append(run.id, ending(next.token, 3, 'completed'))).result, 'cancelled');
    });

    it('of a run that has not started keeps startedAt null', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const run = newRun();
      await store.create(run);
      await store.requestCancel(run.id);
      const { token, run: taken } = await claimed(peer, run.id);
      assert.equal(taken.startedAt, null);
      await peer.append(run.id, ending(token, 3, 'cancelled'));
      assert.equal((await store.get(run.id))?.startedAt, null);
    });

    it('of a queued run is accepted, and the next claimer ends it', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const run = newRun();
      await store.create(run);
      assert.deepEqual(await store.requestCancel(run.id), { result: 'accepted' });
      const claim = await claimed(store, run.id);
      assert.equal((await store.append(run.id, ending(claim.token, 3, 'cancelled'))).result, 'ok');
      assert.equal((await store.get(run.id))?.status, 'cancelled');
    });

    it('of an ended run returns its status, of an unknown run "missing"', async () => {
      await using fixture = await open();
      const { store } = fixture;
      for (const status of ['completed', 'failed', 'cancelled'] as const) {
        const { run } = await endedRun(store, { status });
        assert.deepEqual(await store.requestCancel(run.id), { result: 'ended', status });
        assert.equal((await store.get(run.id))?.cancelRequested, false);
      }
      assert.deepEqual(await store.requestCancel(newRunId()), { result: 'missing' });
    });

    it('races completion two thousand times: each run ends once, and an accepted cancel wins', async () => {
      await using fixture = await open();
      const outcomes = { cancelled: 0, completed: 0 };
      for (let round = 0; round < 20; round++) {
        const ends = await Promise.all(Array.from({ length: 100 }, () => race(fixture)));
        for (const end of ends) outcomes[end]++;
      }
      assert.equal(outcomes.cancelled + outcomes.completed, 2000);
      assert.ok(outcomes.cancelled > 0 && outcomes.completed > 0, JSON.stringify(outcomes));
    });
  });
}

/** One run that is completed and cancelled at about the same time, from two instances. */
async function race({ store, peer }: StoreFixture): Promise<'cancelled' | 'completed'> {
  const { run, token } = await claimedRun(store);
  const complete = async () => {
    await pause();
    return await store.append(run.id, ending(token, 3, 'completed'));
  };
  const cancel = async () => {
    await pause();
    return await peer.requestCancel(run.id);
  };
  const [end, answer] = await Promise.all([complete(), cancel()]);
  if (answer.result === 'accepted') {
    assert.equal(end.result, 'cancelled');
    assert.equal((await store.append(run.id, ending(token, 3, 'cancelled'))).result, 'ok');
  } else {
    assert.deepEqual(answer, { result: 'ended', status: 'completed' });
    assert.equal(end.result, 'ok');
  }
  return await endOf(store, run.id);
}

async function endOf(store: RunStore, id: string): Promise<'cancelled' | 'completed'> {
  const record = await store.get(id);
  const { last, end } = await readAll(store, id);
  assert.deepEqual([last, end], [3, true]);
  assert.ok(record?.status === 'cancelled' || record?.status === 'completed');
  return record.status;
}

async function pause(): Promise<void> {
  for (let ticks = Math.floor(Math.random() * 3); ticks > 0; ticks--) await new Promise(setImmediate);
}
