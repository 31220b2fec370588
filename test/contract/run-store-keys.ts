import assert from 'node:assert/strict';
import type { RunStore, SubmissionKey } from '../../src/store/run-store.ts';
import { claimed, endedRun, ending, newRun, type StoreFixture } from './run-store-fixture.ts';

const DAY_MS = 24 * 3_600_000;
const AFTER_END_MS = 120_000;

function idempotency(hash: string): SubmissionKey {
  return { kind: 'idempotency', hash, fingerprint: `body of ${hash}`, ttlMs: DAY_MS };
}

function retry(hash: string): SubmissionKey {
  return { kind: 'retry', hash, fingerprint: `body of ${hash}`, ttlMs: AFTER_END_MS };
}

/** The run that a submission with these keys became: its own, or the one that holds a key. */
async function submit(store: RunStore, keys: SubmissionKey[]): Promise<{ id: string; own: boolean }> {
  const run = newRun({ keys });
  const result = await store.create(run);
  if (typeof result === 'string') {
    assert.equal(result, 'created');
    return { id: run.id, own: true };
  }
  assert.ok('taken' in result);
  return { id: result.taken.runId, own: false };
}

/** Repeated submissions (docs/api.md, "In general"): one run for one key. */
export function keyContract(open: () => Promise<StoreFixture>): void {
  describe('submission keys', () => {
    it('a repeat returns the existing run and stores nothing', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const run = newRun({ keys: [idempotency('a')] });
      assert.equal(await store.create(run), 'created');
      const repeat = newRun({ keys: [{ ...idempotency('a'), fingerprint: 'another body' }] });
      assert.deepEqual(await peer.create(repeat), {
        taken: { kind: 'idempotency', fingerprint: 'body of a', runId: run.id, run: await store.get(run.id) },
      });
      assert.equal(await store.get(repeat.id), undefined);
      assert.deepEqual(await store.countOpen(), { queued: 1, inProgress: 0 });
      const { runs } = await store.list({ user: 'ada', api: 'responses', limit: 10 });
      assert.deepEqual(
        runs.map(({ id }) => id),
        [run.id],
      );
    });

    it('concurrent submissions with one key on two instances create one run', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      for (const key of [idempotency('a'), retry('a')]) {
        const all = await Promise.all(Array.from({ length: 20 }, (_, n) => submit(n % 2 ? store : peer, [key])));
        assert.equal(all.filter(({ own }) => own).length, 1);
        assert.equal(new Set(all.map(({ id }) => id)).size, 1);
      }
      assert.deepEqual(await store.countOpen(), { queued: 2, inProgress: 0 });
    });

    it('keys of different kinds or hashes are independent', async () => {
      await using fixture = await open();
      const { store } = fixture;
      for (const key of [idempotency('a'), idempotency('b'), retry('a'), retry('b')]) {
        assert.equal((await submit(store, [key])).own, true);
      }
    });

    it('create() repeated with the same id returns "exists"', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const run = newRun({ keys: [idempotency('a'), retry('a')] });
      assert.equal(await store.create(run), 'created');
      assert.equal(await store.create(run), 'exists');
    });

    it('a submission with one key taken claims none of its other keys', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const first = await submit(store, [retry('taken')]);
      assert.deepEqual(await submit(store, [idempotency('free'), retry('taken')]), { id: first.id, own: false });
      assert.equal((await submit(store, [idempotency('free')])).own, true);
    });

    it('an idempotency key holds for its ttl since creation, even after the run ended', async () => {
      await using fixture = await open();
      const { store, clock } = fixture;
      const { run } = await endedRun(store, { keys: [idempotency('a')] });
      clock.ms += DAY_MS - 1;
      assert.deepEqual(await submit(store, [idempotency('a')]), { id: run.id, own: false });
      clock.ms += 1;
      assert.equal((await submit(store, [idempotency('a')])).own, true);
    });

    it('an idempotency key outlives its deleted run, and then holds no run', async () => {
      await using fixture = await open();
      const { store, peer, clock } = fixture;
      const { run } = await endedRun(store, { keys: [idempotency('a')] });
      await store.delete(run.id);
      const holder = { kind: 'idempotency', fingerprint: 'body of a', runId: run.id, run: undefined };
      assert.deepEqual(await peer.findKey([idempotency('a')]), holder);
      assert.deepEqual(await peer.create(newRun({ keys: [idempotency('a')] })), { taken: holder });
      clock.ms += DAY_MS;
      assert.equal(await peer.findKey([idempotency('a')]), undefined);
      assert.equal((await submit(store, [idempotency('a')])).own, true);
    });

    it('a retry key holds while its run is open, and for its ttl after the end', async () => {
      await using fixture = await open();
      const { store, peer, clock } = fixture;
      const run = newRun({ keys: [retry('a')] });
      await store.create(run);
      clock.ms += 3 * DAY_MS;
      assert.deepEqual(await submit(peer, [retry('a')]), { id: run.id, own: false });
      const { token } = await claimed(store, run.id);
      await store.append(run.id, ending(token, 3, 'completed'));
      clock.ms += AFTER_END_MS - 1;
      assert.deepEqual(await submit(peer, [retry('a')]), { id: run.id, own: false });
      assert.equal((await peer.findKey([retry('a')]))?.run?.status, 'completed');
      clock.ms += 1;
      assert.equal(await peer.findKey([retry('a')]), undefined);
      assert.equal((await submit(peer, [retry('a')])).own, true);
    });

    it('a retry key is deleted with its run', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const { run } = await endedRun(store, { keys: [retry('a')] });
      await store.delete(run.id);
      assert.equal(await peer.findKey([retry('a')]), undefined);
      assert.equal((await submit(peer, [retry('a')])).own, true);
    });

    it('findKey returns the run of the first key that is held, if any', async () => {
      await using fixture = await open();
      const { store } = fixture;
      assert.equal(await store.findKey([idempotency('a'), retry('a')]), undefined);
      const { id } = await submit(store, [retry('a')]);
      const found = await store.findKey([idempotency('a'), retry('a')]);
      assert.deepEqual(found, { kind: 'retry', fingerprint: 'body of a', runId: id, run: await store.get(id) });
    });
  });
}
