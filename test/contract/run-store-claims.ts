import assert from 'node:assert/strict';
import { newRunId, type RunId } from '../../src/base/ids.ts';
import type { RunStore } from '../../src/store/run-store.ts';
import { claimedRun, endedRun, ending, events, LEASE, newRun, type StoreFixture, T0 } from './run-store-fixture.ts';

/** Who may work on a run. */
export function claimContract(open: () => Promise<StoreFixture>): void {
  describe('claims', () => {
    it('claimNext gives queued runs oldest first, each once', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const runs = [1, 2, 3].map((offset) => newRun({ createdAt: T0 + offset }));
      for (const run of runs) await store.create(run);
      for (const run of runs) assert.equal((await peer.claimNext(LEASE))?.run.id, run.id);
      assert.equal(await store.claimNext(LEASE), undefined);
    });

    it('claimNext alternates between keys, oldest run of each key first', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      let at = T0;
      const create = async (keyId: string) => {
        const run = newRun({ keyId, createdAt: at++ });
        await store.create(run);
        return run.id;
      };
      const many: RunId[] = [];
      for (let n = 0; n < 6; n++) many.push(await create('many'));
      const next = async (of: RunStore) => (await of.claimNext(LEASE))?.run.id;
      assert.equal(await next(store), many[0]);
      const few = [await create('few'), await create('few')];
      const one = await create('one');
      const order = [];
      for (let n = 0; n < 8; n++) order.push(await next(n % 2 ? store : peer));
      assert.deepEqual(order.slice(0, 3).filter((id) => id === many[1]).length, 1, 'keys take turns');
      assert.deepEqual(new Set(order.slice(0, 3)), new Set([many[1], few[0], one]));
      assert.deepEqual(new Set(order.slice(3, 5)), new Set([many[2], few[1]]));
      assert.deepEqual(order.slice(5), many.slice(3));
      assert.equal(await next(store), undefined);
    });

    it('claimNext prefers abandoned runs to queued ones, unless only queued ones are requested', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const left = await claimedRun(store);
      await store.release(left.run.id, { token: left.token });
      const [first, second] = [newRun(), newRun()];
      await store.create(first);
      await store.create(second);
      assert.equal((await peer.claimNext({ ...LEASE, queued: true }))?.run.id, first.id);
      assert.equal((await peer.claimNext(LEASE))?.run.id, left.run.id);
      assert.equal((await peer.claimNext(LEASE))?.run.id, second.id);
      assert.equal(await peer.claimNext({ ...LEASE, queued: true }), undefined);
    });

    it('claimNext leaves out runs whose records cannot be read, queued and abandoned ones', async () => {
      await using fixture = await open();
      const { store, clock } = fixture;
      const create = async (createdAt: number, changes: object = {}) => {
        const run = Object.assign(newRun({ createdAt }), changes);
        assert.equal(await store.create(run), 'created');
        return run.id;
      };
      const spoilt = [await create(T0, { kind: 'of the future' }), await create(T0 + 1, { api: 'unknown' })];
      for (let round = 0; round < 3; round++) {
        const sound = await create(T0 + 2 + round);
        const claim = await store.claimNext(LEASE);
        assert.equal(claim?.run.id, sound);
        await store.append(sound, ending(claim.token, 3, 'completed'));
        assert.equal(await store.claimNext(LEASE), undefined);
        for (const id of spoilt) assert.equal(await store.claim(id, { ...LEASE, force: true }), undefined);
        clock.ms += LEASE.leaseMs + 1;
      }
    });

    it("countQueued counts a key's runs until they are claimed or deleted; released runs do not count", async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const runs = [
        newRun(),
        newRun(),
        newRun({ keyId: 'key' }),
        newRun({ keyId: 'key-a:2' }),
        newRun({ claim: LEASE }),
      ];
      for (const run of runs) await store.create(run);
      assert.equal(await peer.countQueued('key-a'), 2);
      assert.equal(await peer.countQueued('key'), 1);
      assert.equal(await peer.countQueued('nobody'), 0);
      const claim = await peer.claim(runs[0]?.id ?? '', { ...LEASE, force: true });
      assert.equal(await store.countQueued('key-a'), 1);
      assert.ok(claim);
      await peer.release(claim.run.id, claim);
      assert.equal(await store.countQueued('key-a'), 1, 'a released run does not count as queued');
      await peer.delete(runs[1]?.id ?? '');
      assert.equal(await store.countQueued('key-a'), 0);
    });

    it('the first claim sets in_progress and startedAt', async () => {
      await using fixture = await open();
      const { store, clock } = fixture;
      const run = newRun();
      await store.create(run);
      clock.ms = T0 + 7;
      const claim = await store.claimNext(LEASE);
      assert.equal(claim?.run.status, 'in_progress');
      assert.equal(claim?.run.startedAt, T0 + 7);
      assert.equal(claim?.run.request, run.request);
      assert.equal(claim?.run.last, 2);
      clock.ms = T0 + 9;
      const again = await store.claim(run.id, { ...LEASE, force: true });
      assert.equal(again?.run.startedAt, T0 + 7);
      assert.deepEqual(await store.get(run.id), again?.run);
    });

    it('concurrent claimers never get the same run', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      for (let n = 0; n < 20; n++) await store.create(newRun());
      const claims = await Promise.all(Array.from({ length: 30 }, (_, n) => (n % 2 ? store : peer).claimNext(LEASE)));
      const ids = claims.flatMap((claim) => (claim ? [claim.run.id] : []));
      assert.equal(ids.length, 20);
      assert.equal(new Set(ids).size, 20);
      assert.equal(new Set(claims.flatMap((claim) => (claim ? [claim.token] : []))).size, 20);
    });

    it('a run whose lease expired goes to the next claimer, and its former owner is fenced', async () => {
      await using fixture = await open();
      const { store, peer, clock } = fixture;
      const { run, token } = await claimedRun(store);
      clock.ms = T0 + 9_999;
      assert.equal(await peer.claimNext(LEASE), undefined);
      clock.ms = T0 + 10_000;
      const taken = await peer.claimNext(LEASE);
      assert.equal(taken?.run.id, run.id);
      assert.notEqual(taken?.token, token);
      assert.deepEqual(await store.append(run.id, events(token, 3, 3)), { result: 'fenced' });
      assert.deepEqual(await store.renew(run.id, { ...LEASE, token }), { result: 'fenced' });
      assert.equal((await store.append(run.id, events(taken?.token ?? '', 3, 3))).result, 'ok');
    });

    it('findClaimable tells abandoned runs from queued ones', async () => {
      await using fixture = await open();
      const { store, peer, clock } = fixture;
      const queued = newRun();
      await store.create(queued);
      const abandoned = await claimedRun(store);
      const givenBack = await claimedRun(store);
      await store.release(givenBack.run.id, { token: givenBack.token });
      const free = async () => new Set(await peer.findClaimable({ limit: 10, abandoned: true }));
      assert.deepEqual(await free(), new Set([givenBack.run.id]));
      clock.ms += LEASE.leaseMs;
      assert.deepEqual(await free(), new Set([abandoned.run.id, givenBack.run.id]));
      assert.deepEqual(
        new Set(await peer.findClaimable({ limit: 10 })),
        new Set([abandoned.run.id, givenBack.run.id, queued.id]),
      );
    });

    it('an owner whose lease expired may continue if nobody else claimed the run', async () => {
      await using fixture = await open();
      const { store, clock } = fixture;
      const { run, token } = await claimedRun(store, {});
      assert.equal((await store.append(run.id, events(token, 3, 3))).result, 'ok');
      clock.ms = T0 + 20_000;
      const renewed = await store.renew(run.id, { token, leaseMs: 10_000 });
      assert.deepEqual(renewed, { result: 'ok', cancel: false });
      clock.ms = T0 + 29_999;
      assert.equal(await store.claimNext(LEASE), undefined);
      clock.ms = T0 + 30_000;
      assert.ok(await store.claimNext(LEASE));
    });

    it('a run created with a claim is in progress and goes to no other claimer', async () => {
      await using fixture = await open();
      const { store, peer, clock } = fixture;
      const run = newRun({ claim: LEASE });
      const created = await store.create(run);
      assert.ok(typeof created === 'object' && 'token' in created);
      const { token } = created;
      const record = await peer.get(run.id);
      assert.equal(record?.status, 'in_progress');
      assert.equal(record?.startedAt, run.createdAt);
      assert.equal(await peer.claimNext(LEASE), undefined);
      assert.equal(await peer.claim(run.id, { ...LEASE, force: false }), undefined);
      assert.equal((await store.append(run.id, events(token, 3, 3))).result, 'ok');
      assert.deepEqual(await store.renew(run.id, { token, leaseMs: 10_000 }), { result: 'ok', cancel: false });
      clock.ms = T0 + 10_000;
      const taken = await peer.claimNext(LEASE);
      assert.equal(taken?.run.id, run.id);
      assert.equal(taken?.attempts, 2, 'the claim made on creation counts');
      assert.deepEqual(await store.append(run.id, events(token, 4, 4)), { result: 'fenced' });
      assert.equal((await store.append(run.id, events(taken?.token ?? '', 4, 4))).result, 'ok');
    });

    it('concurrent creations with a claim and the same submission key make one run, held by its creator', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const key = { kind: 'idempotency' as const, hash: 'claimed', fingerprint: 'f', ttlMs: 60_000 };
      const runs = Array.from({ length: 6 }, () => newRun({ claim: LEASE, keys: [key] }));
      const results = await Promise.all(runs.map((run, n) => (n % 2 ? store : peer).create(run)));
      const made = results.flatMap((result, n) => (typeof result === 'object' && 'token' in result ? [runs[n]] : []));
      assert.equal(made.length, 1);
      const { length } = results.filter((result) => typeof result === 'object' && 'taken' in result);
      assert.equal(length, 5);
      assert.equal(await store.claimNext(LEASE), undefined);
    });

    it('a held run can only be claimed by force', async () => {
      await using fixture = await open();
      const { store, peer, clock } = fixture;
      const { run, token } = await claimedRun(store);
      assert.equal(await peer.claim(run.id, { ...LEASE, force: false }), undefined);
      assert.deepEqual(await store.renew(run.id, { ...LEASE, token }), { result: 'ok', cancel: false });
      const forced = await peer.claim(run.id, { ...LEASE, force: true });
      assert.equal(forced?.run.id, run.id);
      assert.deepEqual(await store.renew(run.id, { ...LEASE, token }), { result: 'fenced' });
      clock.ms = T0 + 10_000;
      const later = await store.claim(run.id, { ...LEASE, force: false });
      assert.equal(later?.run.id, run.id);
    });

    it('an ended or unknown run cannot be claimed', async () => {
      await using fixture = await open();
      const { store, clock } = fixture;
      const { run } = await endedRun(store);
      clock.ms = T0 + 1e9;
      for (const force of [true, false]) {
        assert.equal(await store.claim(run.id, { ...LEASE, force }), undefined);
        assert.equal(await store.claim(newRunId(), { ...LEASE, force }), undefined);
      }
      assert.equal(await store.claimNext(LEASE), undefined);
    });

    it('a released run can be claimed at once; a release with a wrong token does nothing', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const { run, token } = await claimedRun(store);
      await store.release(run.id, { token: 'not-mine' });
      assert.equal(await peer.claimNext(LEASE), undefined);
      await store.release(run.id, { token });
      assert.deepEqual(await store.append(run.id, events(token, 3, 3)), { result: 'fenced' });
      assert.equal((await store.get(run.id))?.status, 'in_progress');
      assert.equal((await peer.claimNext(LEASE))?.run.id, run.id);
    });
  });

  describe('attempts', () => {
    it('count claims without a finished step', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const run = newRun();
      await store.create(run);
      for (let attempt = 1; attempt <= 5; attempt++) {
        const claim = await store.claim(run.id, { ...LEASE, force: true });
        assert.equal(claim?.attempts, attempt);
        // Appended events alone are no progress.
        const { result } = await store.append(run.id, events(claim?.token ?? '', 2 + attempt, 2 + attempt));
        assert.equal(result, 'ok');
      }
    });

    it('restart at one after a finished step', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run } = await claimedRun(store);
      const second = await store.claim(run.id, { ...LEASE, force: true });
      assert.equal(second?.attempts, 2);
      const step = { transcript: ['{"step":1}'], progress: true };
      await store.append(run.id, events(second?.token ?? '', 3, 3, step));
      assert.equal((await store.claim(run.id, { ...LEASE, force: true }))?.attempts, 1);
      assert.equal((await store.claim(run.id, { ...LEASE, force: true }))?.attempts, 2);
    });

    it('go on counting after entries that finish no step', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run } = await claimedRun(store);
      const second = await store.claim(run.id, { ...LEASE, force: true });
      await store.append(run.id, events(second?.token ?? '', 3, 3, { transcript: ['{"spent":1}'] }));
      assert.equal((await store.claim(run.id, { ...LEASE, force: true }))?.attempts, 3);
      assert.deepEqual(await store.readTranscript(run.id), ['{"spent":1}']);
    });

    it('do not count a claim that was released', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run } = await claimedRun(store);
      const second = await store.claim(run.id, { ...LEASE, force: true });
      await store.release(run.id, { token: second?.token ?? '' });
      const third = await store.claim(run.id, { ...LEASE, force: true });
      assert.equal(third?.attempts, 2);
      await store.append(run.id, events(third?.token ?? '', 3, 3, { transcript: ['{}'], progress: true }));
      await store.release(run.id, { token: third?.token ?? '' });
      assert.equal((await store.claim(run.id, { ...LEASE, force: true }))?.attempts, 1);
    });

    it('count each earlier claim, even if the last one is released again because its answer was lost', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run } = await claimedRun(store);
      await store.claim(run.id, { ...LEASE, force: true });
      const third = await store.claim(run.id, { ...LEASE, force: true });
      for (let n = 0; n < 2; n++) await store.release(run.id, { token: third?.token ?? '' });
      assert.equal((await store.claim(run.id, { ...LEASE, force: true }))?.attempts, 3);
    });

    it('do not count a claim that its former owner releases late, even repeatedly', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const { run, token } = await claimedRun(store);
      const second = await peer.claim(run.id, { ...LEASE, force: true });
      for (let n = 0; n < 3; n++) await store.release(run.id, { token });
      assert.equal(
        (await peer.renew(run.id, { ...LEASE, token: second?.token ?? '' })).result,
        'ok',
        'the second claim still holds',
      );
      const third = await store.claim(run.id, { ...LEASE, force: true });
      assert.equal(third?.attempts, 2, 'the second and the third claim count');
      // Claims before a finished step no longer count.
      await store.append(run.id, events(third?.token ?? '', 3, 3, { transcript: ['{}'], progress: true }));
      await store.claim(run.id, { ...LEASE, force: true });
      await peer.release(run.id, { token: second?.token ?? '' });
      assert.equal((await store.claim(run.id, { ...LEASE, force: true }))?.attempts, 2);
    });
  });
}
