import assert from 'node:assert/strict';
import { newRunId } from '../../src/base/ids.ts';
import {
  claimedRun,
  endedRun,
  ending,
  events,
  frame,
  frames,
  LEASE,
  newRun,
  readAll,
  type StoreFixture,
  T0,
} from './run-store-fixture.ts';

const NO_FRAMES = new Uint8Array();

/** Appends, reads, transcripts. */
export function logContract(open: () => Promise<StoreFixture>): void {
  describe('append', () => {
    it('adds events after the last one', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      assert.deepEqual(await store.append(run.id, events(token, 3, 7)), { result: 'ok', last: 7, cancel: false });
      assert.deepEqual(await store.append(run.id, events(token, 8, 8)), { result: 'ok', last: 8, cancel: false });
      assert.equal((await store.get(run.id))?.last, 8);
      assert.deepEqual(await readAll(store, run.id), { bytes: frames(1, 8), last: 8, end: false });
    });

    it('refuses a gap and an overlap and says where the log ends', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      assert.deepEqual(await store.append(run.id, events(token, 4, 5)), { result: 'gap', last: 2 });
      assert.deepEqual(await store.append(run.id, events(token, 2, 3)), { result: 'gap', last: 2 });
      assert.deepEqual(await readAll(store, run.id), { bytes: frames(1, 2), last: 2, end: false });
    });

    it('recognises a duplicate batch', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      const batch = events(token, 3, 5, { transcript: ['{"step":1}'] });
      await store.append(run.id, batch);
      assert.deepEqual(await store.append(run.id, batch), { result: 'duplicate', last: 5, cancel: false });
      await store.append(run.id, events(token, 6, 6));
      assert.deepEqual(await store.append(run.id, batch), { result: 'duplicate', last: 6, cancel: false });
      assert.deepEqual(await readAll(store, run.id), { bytes: frames(1, 6), last: 6, end: false });
      assert.deepEqual(await store.readTranscript(run.id), ['{"step":1}']);
    });

    it('recognises a duplicate end, but only from its owner', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      const end = ending(token, 3, 'completed');
      assert.equal((await store.append(run.id, end)).result, 'ok');
      assert.deepEqual(await store.append(run.id, end), { result: 'duplicate', last: 3, cancel: false });
      assert.deepEqual(await store.append(run.id, { ...end, token: 'other' }), { result: 'closed' });
    });

    it('refuses a writer without the claim before it checks anything else', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      await store.append(run.id, events(token, 3, 3));
      const fenced = { result: 'fenced' };
      assert.deepEqual(await store.append(run.id, events('other', 4, 4)), fenced);
      assert.deepEqual(await store.append(run.id, events('other', 3, 3)), fenced);
      assert.deepEqual(await store.append(run.id, events('other', 9, 9)), fenced);
      assert.deepEqual(await store.append(run.id, events('', 4, 4)), fenced);
    });

    it('refuses every writer while nobody has claimed the run', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const run = newRun();
      await store.create(run);
      for (const token of ['', 'other']) {
        assert.deepEqual(await store.append(run.id, events(token, 3, 3)), { result: 'fenced' });
      }
      const claim = await store.claimNext(LEASE);
      await store.release(run.id, { token: claim?.token ?? '' });
      assert.deepEqual(await store.append(run.id, events('', 3, 3)), { result: 'fenced' });
    });

    it('refuses everything after the end, and unknown runs', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await endedRun(store);
      assert.deepEqual(await store.append(run.id, events(token, 4, 4)), { result: 'closed' });
      assert.deepEqual(await store.append(run.id, ending(token, 4, 'failed')), { result: 'closed' });
      const step = { token, first: 4, count: 0, frames: NO_FRAMES, transcript: ['{}'] };
      assert.deepEqual(await store.append(run.id, step), { result: 'closed' });
      assert.deepEqual(await store.append(newRunId(), events(token, 3, 3)), { result: 'missing' });
      assert.deepEqual(await readAll(store, run.id), { bytes: frames(1, 3), last: 3, end: true });
      assert.deepEqual(await store.readTranscript(run.id), []);
    });

    it('sets status, endedAt and expiresAt with the terminal event', async () => {
      for (const status of ['completed', 'failed', 'cancelled'] as const) {
        await using fixture = await open();
        const { store } = fixture;
        const { run, token } = await claimedRun(store);
        const end = { status, at: T0 + 77, retainMs: 88 };
        assert.equal((await store.append(run.id, events(token, 3, 9, { end, transcript: ['{}'] }))).result, 'ok');
        const ended = await store.get(run.id);
        assert.deepEqual([ended?.status, ended?.endedAt, ended?.expiresAt, ended?.last], [status, T0 + 77, T0 + 88, 9]);
        assert.deepEqual(await store.countOpen(), { queued: 0, inProgress: 0 });
      }
    });

    it('takes large batches', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      const big = frame(3, 'x'.repeat(2_000_000));
      await store.append(run.id, { token, first: 3, count: 1, frames: big });
      assert.deepEqual((await readAll(store, run.id, { after: 2 })).bytes, big);
    });

    it('keeps the order of appends that were not awaited', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      const results = await Promise.all([3, 4, 5, 6].map((n) => store.append(run.id, events(token, n, n))));
      assert.deepEqual(
        results.map((result) => result.result),
        ['ok', 'ok', 'ok', 'ok'],
      );
      assert.deepEqual((await readAll(store, run.id)).bytes, frames(1, 6));
    });

    it('throws a TypeError for invalid calls and writes nothing', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      await assert.rejects(store.append(run.id, { token, first: 0, count: 1, frames: frame(1) }), TypeError);
      await assert.rejects(store.append(run.id, { token, first: 3, count: 0, frames: frame(3) }), TypeError);
      const end = { status: 'completed' as const, at: T0, retainMs: 0 };
      await assert.rejects(store.append(run.id, { token, first: 3, count: 0, frames: NO_FRAMES, end }), TypeError);
      assert.equal((await store.get(run.id))?.last, 2);
    });
  });

  describe('transcript', () => {
    it('grows with appends and is read back in order', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      const entries = Array.from({ length: 30 }, (_, n) => JSON.stringify({ n, text: 'ü\n\0"'.repeat(n) }));
      await store.append(run.id, events(token, 3, 4, { transcript: entries.slice(0, 10) }));
      await store.append(run.id, { token, first: 5, count: 0, frames: NO_FRAMES, transcript: entries.slice(10, 20) });
      await store.append(run.id, ending(token, 5, 'completed', { transcript: entries.slice(20) }));
      assert.deepEqual(await store.readTranscript(run.id), entries);
      assert.equal((await store.get(run.id))?.last, 5);
    });

    it('does not grow with a refused append', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      const step = { first: 3, count: 0, frames: NO_FRAMES, transcript: ['{}'] };
      assert.deepEqual(await store.append(run.id, { ...step, token: 'other' }), { result: 'fenced' });
      assert.deepEqual(await store.append(run.id, { ...step, token, first: 9 }), { result: 'gap', last: 2 });
      assert.deepEqual(await store.readTranscript(run.id), []);
    });

    it('recognises a duplicate step without events by `entriesBefore`', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      const step = { token, first: 3, count: 0, frames: NO_FRAMES };
      const first = { ...step, transcript: ['1', '2'], entriesBefore: 0 };
      const second = { ...step, transcript: ['3'], entriesBefore: 2 };
      assert.equal((await store.append(run.id, first)).result, 'ok');
      assert.equal((await store.append(run.id, first)).result, 'duplicate');
      assert.equal((await store.append(run.id, second)).result, 'ok');
      assert.equal((await store.append(run.id, second)).result, 'duplicate');
      assert.deepEqual(await store.readTranscript(run.id), ['1', '2', '3']);
    });
  });

  describe('read', () => {
    it('returns only events after the cursor, even within a batch', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      await store.append(run.id, events(token, 3, 10));
      await store.append(run.id, ending(token, 11, 'completed'));
      for (let after = 0; after <= 11; after++) {
        const { bytes, last, end } = await readAll(store, run.id, { after });
        assert.deepEqual(bytes, after === 11 ? Buffer.alloc(0) : frames(after + 1, 11));
        assert.equal(last, 11);
        assert.equal(end, after < 11);
      }
      assert.deepEqual(await store.read(run.id, { after: 100, maxBytes: 1000 }), []);
    });

    it('returns about `maxBytes`, at least one batch', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      for (let n = 0; n < 20; n++) await store.append(run.id, events(token, 3 + n * 10, 12 + n * 10));
      const one = await store.read(run.id, { after: 2, maxBytes: 1 });
      assert.equal(one.at(-1)?.last, 12);
      const limit = frames(3, 12).length * 5;
      const some = await store.read(run.id, { after: 2, maxBytes: limit });
      const bytes = some.reduce((sum, batch) => sum + batch.frames.length, 0);
      assert.ok(bytes >= limit / 2 && bytes <= 2 * limit, `${bytes} of ${limit}`);
    });

    it('readLast returns the batch with the terminal event', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      await store.append(run.id, events(token, 3, 5));
      assert.equal((await store.readLast(run.id))?.end, false);
      await store.append(run.id, events(token, 6, 7, { end: { status: 'failed', at: T0, retainMs: 1e6 } }));
      const last = await store.readLast(run.id);
      assert.deepEqual(last && { ...last, frames: Buffer.from(last.frames) }, {
        first: 6,
        last: 7,
        end: true,
        frames: frames(6, 7),
      });
    });
  });

  describe('compression', () => {
    it('returns the same bytes from every cursor', async () => {
      await using fixture = await open();
      const { store, peer, clock } = fixture;
      const { run, token } = await claimedRun(store);
      clock.ms = T0 + 5000;
      for (let n = 3; n < 303; n += 10) await store.append(run.id, events(token, n, n + 9, { transcript: [`${n}`] }));
      await store.append(run.id, ending(token, 303, 'completed'));
      const live = await claimedRun(store);
      const transcript = await store.readTranscript(run.id);
      const last = await store.readLast(run.id);
      clock.ms = T0 + 5999;
      assert.equal(await store.compressEnded({ endedForMs: 1000, limit: 10 }), 0);
      clock.ms = T0 + 6000;
      assert.equal(await store.compressEnded({ endedForMs: 1000, limit: 10 }), 1);
      assert.equal(await store.compressEnded({ endedForMs: 1000, limit: 10 }), 0);
      for (const reader of [store, peer]) {
        for (const after of [0, 1, 2, 3, 57, 302, 303]) {
          for (const maxBytes of [1, 1000, 1_000_000]) {
            const { bytes, end } = await readAll(reader, run.id, { after, maxBytes });
            assert.deepEqual(bytes, after === 303 ? Buffer.alloc(0) : frames(after + 1, 303));
            assert.equal(end, after < 303);
          }
        }
        assert.deepEqual(await reader.readTranscript(run.id), transcript);
        assert.deepEqual((await reader.readLast(run.id))?.last, last?.last);
        assert.equal((await reader.readLast(run.id))?.end, true);
      }
      assert.equal((await store.append(live.run.id, events(live.token, 3, 3))).result, 'ok');
      clock.ms = T0 + 65_000;
      assert.equal(await store.removeExpired({ limit: 10 }), 1);
      assert.deepEqual(await peer.read(run.id, { after: 0, maxBytes: 1000 }), []);
    });

    it('leaves the run ended: no append, claim or cancel', async () => {
      await using fixture = await open();
      const { store, clock } = fixture;
      const { run, token } = await endedRun(store);
      clock.ms = T0 + 5000;
      await store.compressEnded({ endedForMs: 0, limit: 10 });
      assert.deepEqual(await store.append(run.id, events(token, 4, 4)), { result: 'closed' });
      assert.equal(await store.claim(run.id, { ...LEASE, force: true }), undefined);
      assert.deepEqual(await store.requestCancel(run.id), { result: 'ended', status: 'completed' });
      assert.equal((await store.get(run.id))?.status, 'completed');
      assert.equal(await store.delete(run.id), true);
      assert.equal(await store.get(run.id), undefined);
    });
  });
}
