import assert from 'node:assert/strict';
import { newRunId } from '../../src/base/ids.ts';
import type { ListedStatus, ListQuery, RunCursor, RunStatus, RunStore, RunSummary } from '../../src/store/run-store.ts';
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
  T0,
} from './run-store-fixture.ts';

/** Records, lists, counts, deletion, expiry. */
export function recordContract(open: () => Promise<StoreFixture>): void {
  describe('records', () => {
    it('a created run is queued and has its initial events', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const run = newRun();
      assert.equal(await store.create(run), 'created');
      const { frames, frameCount, ...rest } = run;
      assert.deepEqual(await store.get(run.id), {
        ...rest,
        status: 'queued',
        startedAt: null,
        endedAt: null,
        cancelRequested: false,
        last: frameCount,
      });
      const log = await readAll(store, run.id);
      assert.deepEqual(log, { bytes: Buffer.from(frames), last: frameCount, end: false });
    });

    it('creating a run twice changes nothing', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const run = newRun();
      await store.create(run);
      assert.equal(await store.create({ ...run, user: 'eve', request: '{}' }), 'exists');
      assert.equal((await store.get(run.id))?.user, 'ada');
      assert.equal((await store.list({ user: 'eve', api: 'responses', limit: 10 })).runs.length, 0);
      assert.equal((await store.list({ user: 'ada', api: 'responses', limit: 10 })).runs.length, 1);
    });

    it('any text and large requests are stored unchanged', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const request = JSON.stringify({ input: 'ünï "quoted" \u{1f600} \0 \n'.repeat(20_000) });
      const run = newRun({ request, metadata: JSON.stringify({ a: '' }), listed: '{"a":"é"}', user: 'a:b {c} ü' });
      await store.create(run);
      const found = await store.get(run.id);
      assert.equal(found?.request, request);
      assert.equal(found?.user, run.user);
      const first = async () => (await store.list({ user: run.user, api: 'responses', limit: 1 })).runs[0];
      assert.deepEqual([(await first())?.metadata, (await first())?.listed], [run.metadata, run.listed]);
      const { token } = await claimed(store, run.id);
      const end = { status: 'completed', at: T0, retainMs: 60_000, listed: '{"b":"🙂"}' } as const;
      const entry = '{"t":"x"}';
      await store.append(run.id, events(token, 3, 3, { transcript: [entry], end }));
      assert.deepEqual([(await first())?.listed, await store.readTranscript(run.id)], [end.listed, [entry]]);
    });

    it('an unknown run is undefined, has no events and no transcript', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const id = newRunId();
      assert.equal(await store.get(id), undefined);
      assert.deepEqual(await store.read(id, { after: 0, maxBytes: 1000 }), []);
      assert.equal(await store.readLast(id), undefined);
      assert.deepEqual(await store.readTranscript(id), []);
    });

    it('lists leave out runs whose records cannot be read, and go on with the others', async () => {
      await using fixture = await open();
      const { store, clock } = fixture;
      const ids: string[] = [];
      for (const changes of [{}, { kind: 'of the future' }, {}, { kind: 'of the future' }, {}]) {
        const run = Object.assign(newRun({ createdAt: T0 + ids.length }), changes);
        assert.equal(await store.create(run), 'created');
        ids.push(run.id);
      }
      const sound = [ids[4], ids[2], ids[0]];
      // Old enough for a list to drop what does not exist.
      clock.ms += 120_000;
      for (const filter of [{}, { model: 'deep' }, { status: ['queued'] as const }, {}]) {
        const pages: string[] = [];
        for (let after: RunCursor | undefined; ; ) {
          const page = await store.list({ user: 'ada', api: 'responses', limit: 1, after, ...filter });
          pages.push(...page.runs.map(({ id }) => id));
          after = page.runs.at(-1);
          if (!page.hasMore) break;
        }
        assert.deepEqual(pages, sound, JSON.stringify(filter));
      }
    });

    it('countOpen counts open runs by status', async () => {
      await using fixture = await open();
      const { store } = fixture;
      await store.create(newRun());
      await store.create(newRun());
      await claimedRun(store);
      await endedRun(store);
      assert.deepEqual(await store.countOpen(), { queued: 2, inProgress: 1 });
    });

    it('a deleted run is gone with its log, transcript, claim and list entry', async () => {
      await using fixture = await open();
      const { store, clock } = fixture;
      const { run, token } = await claimedRun(store);
      const frames = Buffer.alloc(0);
      await store.append(run.id, { token, first: 3, count: 0, frames, transcript: ['{}'] });
      assert.equal(await store.delete(run.id), true);
      assert.equal(await store.delete(run.id), false);
      assert.equal(await store.get(run.id), undefined);
      assert.deepEqual(await store.read(run.id, { after: 0, maxBytes: 1000 }), []);
      assert.deepEqual(await store.readTranscript(run.id), []);
      assert.deepEqual(await store.list({ user: 'ada', api: 'responses', limit: 10 }), { runs: [], hasMore: false });
      assert.deepEqual(await store.countOpen(), { queued: 0, inProgress: 0 });
      clock.ms = T0 + 1e9;
      assert.equal(await store.claimNext(LEASE), undefined);
      assert.deepEqual(await store.append(run.id, ending(token, 3, 'completed')), { result: 'missing' });
      assert.deepEqual(await store.renew(run.id, { ...LEASE, token }), { result: 'fenced' });
    });
  });

  describe('lists', () => {
    it("show only the user's runs of one interface, newest first even within one millisecond", async () => {
      await using fixture = await open();
      const { store } = fixture;
      const runs = [0, 0, 0, 5, 5].map((offset) => newRun({ createdAt: T0 + offset }));
      for (const run of runs) await store.create(run);
      await store.create(newRun({ user: 'eve' }));
      await store.create(newRun({ api: 'async' }));
      const { runs: listed, hasMore } = await store.list({ user: 'ada', api: 'responses', limit: 10 });
      assert.deepEqual(
        listed.map((run) => run.id),
        runs.map((run) => run.id).reverse(),
      );
      assert.equal(hasMore, false);
      assert.equal('request' in (listed[0] ?? {}), false);
    });

    it('are paged with a cursor without gaps or repeats', async () => {
      await using fixture = await open();
      const { store } = fixture;
      for (let n = 0; n < 23; n++) await store.create(newRun({ createdAt: T0 + Math.floor(n / 4) }));
      const { runs: whole } = await store.list({ user: 'ada', api: 'responses', limit: 100 });
      const walked: RunSummary[] = [];
      for (let hasMore = true; hasMore; ) {
        const after = walked.at(-1);
        const page = await store.list({ user: 'ada', api: 'responses', limit: 5, after });
        walked.push(...page.runs);
        hasMore = page.hasMore;
        assert.equal(page.runs.length, hasMore ? 5 : 3);
      }
      assert.deepEqual(walked, whole);
    });

    it('set hasMore to false if the page ends with the list', async () => {
      await using fixture = await open();
      const { store } = fixture;
      for (let n = 0; n < 4; n++) await store.create(newRun());
      assert.equal((await store.list({ user: 'ada', api: 'responses', limit: 4 })).hasMore, false);
      assert.equal((await store.list({ user: 'ada', api: 'responses', limit: 3 })).hasMore, true);
    });

    it('filter by status and model, and show the current state', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const queued = newRun({ model: 'other' });
      await store.create(queued);
      const { run: working, token } = await claimedRun(store);
      await store.append(working.id, { token, first: 3, count: 1, frames: Buffer.from('a: b\n\n') });
      const { run: done } = await endedRun(store, { model: 'other' });
      const { run: failed } = await endedRun(store, { status: 'failed' });
      const { run: cut } = await endedRun(store, { model: 'other', listed: '{"status":"incomplete"}' });
      const ids = async (filter: { status?: ListedStatus[]; model?: string }) =>
        (await store.list({ user: 'ada', api: 'responses', limit: 10, ...filter })).runs.map((run) => run.id);
      assert.deepEqual(await ids({ status: ['queued'] }), [queued.id]);
      assert.deepEqual(await ids({ status: ['completed', 'failed'] }), [failed.id, done.id]);
      assert.deepEqual(await ids({ status: ['incomplete'] }), [cut.id]);
      assert.deepEqual(await ids({ status: ['completed', 'incomplete'] }), [cut.id, done.id]);
      assert.deepEqual(await ids({ model: 'other' }), [cut.id, done.id, queued.id]);
      assert.deepEqual(await ids({ model: 'other', status: ['completed'] }), [done.id]);
      assert.deepEqual(await ids({ status: ['cancelled'] }), []);
      const listed = await store.list({ user: 'ada', api: 'responses', limit: 10, status: ['in_progress'] });
      assert.equal(listed.runs[0]?.last, 3);
      await store.delete(cut.id);
      assert.deepEqual(await ids({ status: ['incomplete'] }), []);
    });

    it('page in both orders with `after` and `before`, with and without filters', async () => {
      await using fixture = await open();
      const { store, clock } = fixture;
      // Several models and states mixed, several runs in one millisecond.
      const made: (RunCursor & { model: string; done: boolean })[] = [];
      for (let n = 0; n < 40; n++) {
        const model = `model ${n % 3}`;
        const done = n % 4 === 0;
        const changes = { model, createdAt: T0 + Math.floor(n / 3) };
        const { run } = done ? await endedRun(store, changes) : await claimedRun(store, changes);
        made.push({ ...run, model, done });
      }
      clock.ms += 1;
      const filters = [{}, { model: 'model 1' }, { status: ['completed'] as RunStatus[] }];
      const both = { model: 'model 2', status: ['in_progress'] as RunStatus[] };
      for (const filter of [...filters, both]) {
        const { model, status } = { model: undefined, status: undefined, ...filter };
        const matching = made.filter(
          (run) => (!model || run.model === model) && (!status || run.done === status.includes('completed')),
        );
        for (const order of ['asc', 'desc'] as const) {
          const expected = matching.map(({ id }) => id);
          if (order === 'desc') expected.reverse();
          const page = async (cursor: Pick<ListQuery, 'after' | 'before'>, limit = 4) => {
            const query = { user: 'ada', api: 'responses', order, limit, ...filter, ...cursor } as const;
            const { runs, hasMore } = await store.list(query);
            return { ids: runs.map((run) => run.id), hasMore };
          };
          assert.deepEqual(await page({}, 100), { ids: expected, hasMore: false });
          const [third, sixth] = [expected[2], expected[5]].map((id) => made.find((run) => run.id === id));
          assert.deepEqual(await page({ after: third }), { ids: expected.slice(3, 7), hasMore: true });
          assert.deepEqual(await page({ before: sixth }), { ids: expected.slice(1, 5), hasMore: true });
          assert.deepEqual(await page({ before: third }), { ids: expected.slice(0, 2), hasMore: false });
          assert.deepEqual(await page({ after: third, before: sixth }), {
            ids: expected.slice(3, 5),
            hasMore: false,
          });
        }
      }
      // A cursor may name a run that the filter excludes.
      const open1 = made.find(({ done }) => !done);
      const later = await store.list({
        user: 'ada',
        api: 'responses',
        order: 'asc',
        limit: 1,
        status: ['completed'],
        after: open1,
      });
      assert.equal(later.runs[0]?.id, made.filter(({ done }) => done)[1]?.id);
    });

    it('page on from a run that was deleted', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const made = Array.from({ length: 7 }, (_, n) => newRun({ createdAt: T0 + n }));
      for (const run of made) await store.create(run);
      const gone = made[3];
      assert.ok(gone);
      await store.delete(gone.id);
      const page = async (query: Omit<ListQuery, 'user' | 'api' | 'limit'>) => {
        const { runs, hasMore } = await store.list({ user: 'ada', api: 'responses', limit: 2, ...query });
        return [runs.map(({ id }) => made.findIndex((run) => run.id === id)).join(), hasMore];
      };
      assert.deepEqual(await page({ after: gone }), ['2,1', true]);
      assert.deepEqual(await page({ before: gone }), ['5,4', true]);
      assert.deepEqual(await page({ after: gone, order: 'asc' }), ['4,5', true]);
      assert.deepEqual(await page({ before: gone, order: 'asc' }), ['1,2', true]);
      assert.deepEqual(await page({ after: gone, model: 'deep' }), ['2,1', true]);
      assert.deepEqual(await page({ after: gone, before: made[1] }), ['2', false]);
      assert.deepEqual(await page({ after: made[5], before: gone }), ['4', false]);
    });

    it('omit a deleted run, whatever the filter', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run: ended } = await endedRun(store);
      const { run: working } = await claimedRun(store);
      for (const { id } of [ended, working]) await store.delete(id);
      for (const filter of [{}, { model: 'deep' }, { status: ['completed', 'in_progress'] as RunStatus[] }]) {
        assert.deepEqual(await store.list({ user: 'ada', api: 'responses', limit: 10, ...filter }), {
          runs: [],
          hasMore: false,
        });
      }
    });

    it('find a rare match among many others', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const rare = newRun({ model: 'rare', createdAt: T0 - 1 });
      await store.create(rare);
      for (let n = 0; n < 300; n++) await store.create(newRun({ createdAt: T0 + n }));
      const found = await store.list({ user: 'ada', api: 'responses', limit: 2, model: 'rare' });
      assert.deepEqual(
        found.runs.map((run) => run.id),
        [rare.id],
      );
      assert.equal(found.hasMore, false);
    });
  });

  describe('expiry', () => {
    it('removes ended runs whose time has come, at most `limit`', async () => {
      await using fixture = await open();
      const { store, clock } = fixture;
      for (let n = 0; n < 3; n++) await endedRun(store, { retainMs: 100 });
      const { run: kept } = await endedRun(store, { retainMs: 1000 });
      const { run: working } = await claimedRun(store, { expiresAt: T0 + 100 });
      clock.ms = T0 + 99;
      assert.equal(await store.removeExpired({ limit: 10 }), 0);
      clock.ms = T0 + 100;
      assert.equal(await store.removeExpired({ limit: 2 }), 2);
      assert.equal(await store.removeExpired({ limit: 2 }), 1);
      assert.equal(await store.removeExpired({ limit: 2 }), 0);
      const { runs } = await store.list({ user: 'ada', api: 'responses', limit: 10 });
      assert.deepEqual(runs.map((run) => run.id).sort(), [kept.id, working.id].sort());
      assert.equal(runs.find((run) => run.id === kept.id)?.expiresAt, T0 + 1000);
    });

    it('also removes runs of the "unstored" API, which are in no list', async () => {
      await using fixture = await open();
      const { store, clock } = fixture;
      const { run } = await endedRun(store, { retainMs: 100, api: 'unstored' });
      for (const api of ['responses', 'async'] as const) {
        assert.deepEqual((await store.list({ user: 'ada', api, limit: 10 })).runs, []);
      }
      assert.equal((await store.get(run.id))?.api, 'unstored');
      clock.ms = T0 + 100;
      assert.equal(await store.removeExpired({ limit: 10 }), 1);
      assert.equal(await store.removeExpired({ limit: 10 }), 0);
      assert.equal(await store.get(run.id), undefined);
      assert.deepEqual((await store.list({ user: 'ada', api: 'unstored', limit: 10 })).runs, []);
    });

    it('lets concurrent sweeps remove everything: each returns `limit` while there may be more', async () => {
      await using fixture = await open();
      const { store, peer, clock } = fixture;
      for (let n = 0; n < 8; n++) await endedRun(store, { retainMs: 100 });
      await store.compressEnded({ endedForMs: 0, limit: 8 });
      clock.ms = T0 + 100;
      const sweep = async (which: RunStore) => {
        while ((await which.removeExpired({ limit: 2 })) === 2);
        assert.deepEqual((await which.list({ user: 'ada', api: 'responses', limit: 10 })).runs, []);
      };
      await Promise.all([sweep(store), sweep(peer)]);
    });

    it('lets concurrent compressions finish: each returns `limit` while there may be more', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      for (let n = 0; n < 6; n++) await endedRun(store);
      const compress = async (which: RunStore) => {
        while ((await which.compressEnded({ endedForMs: 0, limit: 2 })) === 2);
        assert.equal(await which.compressEnded({ endedForMs: 0, limit: 2 }), 0);
      };
      await Promise.all([compress(store), compress(peer)]);
    });
  });

  describe('state', () => {
    it('check() reports a working store', async () => {
      await using fixture = await open();
      assert.deepEqual(await fixture.store.check(), { ok: true });
    });

    it('an instance sees what another one wrote', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const run = newRun();
      await store.create(run);
      const claim = await claimed(peer, run.id);
      await store.append(run.id, ending(claim.token, 3, 'completed'));
      assert.equal((await peer.get(run.id))?.status, 'completed');
      assert.deepEqual(await readAll(peer, run.id), await readAll(store, run.id));
    });
  });
}
