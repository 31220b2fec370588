import assert from 'node:assert/strict';
import { eventually } from '../support/eventually.ts';
import {
  claimedRun,
  ending,
  events,
  frames,
  LEASE,
  LiveReader,
  newRun,
  type StoreFixture,
} from './run-store-fixture.ts';

/** Subscriptions and notices. */
export function liveContract(open: () => Promise<StoreFixture>): void {
  describe('subscribe', () => {
    it('delivers later appends in order, on any instance', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const { run, token } = await claimedRun(store);
      for (const instance of [store, peer]) {
        const reader = new LiveReader(instance, run.id);
        using _ = await instance.subscribe(run.id, reader.handlers);
        await reader.catchUp();
        const from = (await store.get(run.id))?.last ?? 0;
        for (let n = from + 1; n <= from + 20; n += 2) await store.append(run.id, events(token, n, n + 1));
        await eventually('all events', () => reader.last === from + 20 || undefined);
        assert.deepEqual(await reader.bytes(), frames(1, from + 20));
      }
    });

    it('marks the last batch', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const { run, token } = await claimedRun(store);
      const reader = new LiveReader(peer, run.id);
      using _ = await peer.subscribe(run.id, reader.handlers);
      await store.append(run.id, ending(token, 3, 'completed'));
      await eventually('the end', () => reader.batches.at(-1)?.end || undefined);
    });

    it('delivers no refused or duplicate append', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const { run, token } = await claimedRun(store);
      const seen: number[] = [];
      using _ = await store.subscribe(run.id, { onBatch: (batch) => seen.push(batch.last), onGap: () => {} });
      await store.append(run.id, events('other', 3, 3));
      await store.append(run.id, events(token, 9, 9));
      await store.append(run.id, events(token, 3, 3));
      await store.append(run.id, events(token, 3, 3));
      await store.append(run.id, events(token, 4, 4));
      await eventually('both', () => seen.includes(4) || undefined);
      assert.deepEqual(seen, [3, 4]);
    });

    it('delivers only to subscribers of the run, not to those that unsubscribed', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const [one, two] = [await claimedRun(store), await claimedRun(store)];
      const seen: string[] = [];
      const note = (text: string) => ({ onBatch: () => void seen.push(text), onGap: () => {} });
      const removed = await store.subscribe(one.run.id, note('removed'));
      using _stays = await store.subscribe(one.run.id, note('stays'));
      using _other = await store.subscribe(two.run.id, note('other'));
      removed[Symbol.dispose]();
      await store.append(one.run.id, events(one.token, 3, 3));
      await eventually('delivery', () => seen.length > 0 || undefined);
      await store.append(two.run.id, events(two.token, 3, 3));
      await eventually('the other', () => seen.includes('other') || undefined);
      assert.deepEqual(seen, ['stays', 'other']);
    });

    it("delivers the next owner's appends to a reader on the former owner's instance", async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const { run, token } = await claimedRun(store);
      const reader = new LiveReader(store, run.id);
      using _ = await store.subscribe(run.id, reader.handlers);
      await reader.catchUp();
      await store.append(run.id, events(token, 3, 4));
      const next = await peer.claim(run.id, { ...LEASE, force: true });
      await peer.append(run.id, events(next?.token ?? '', 5, 6));
      assert.deepEqual(await store.renew(run.id, { token, leaseMs: 10_000 }), { result: 'fenced' });
      await eventually('what was appended meanwhile', () => reader.last === 6 || undefined);
      await peer.append(run.id, ending(next?.token ?? '', 7, 'completed'));
      await eventually('the end', () => reader.batches.at(-1)?.end || undefined);
    });

    it('does so even if the former owner did not notice that its lease expired', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const run = newRun();
      const leaseMs = 50;
      await store.create({ ...run, claim: { leaseMs } });
      const reader = new LiveReader(store, run.id);
      using _ = await store.subscribe(run.id, reader.handlers);
      await reader.catchUp();
      const next = await peer.claim(run.id, { ...LEASE, force: true });
      await peer.append(run.id, events(next?.token ?? '', 3, 4));
      await eventually('what was appended', () => reader.last === 4 || undefined);
      await peer.append(run.id, ending(next?.token ?? '', 5, 'completed'));
      await eventually('the end', () => reader.batches.at(-1)?.end || undefined);
    });

    it('reports a gap to readers of a deleted run', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const { run } = await claimedRun(store);
      let gaps = 0;
      using _ = await peer.subscribe(run.id, { onBatch: () => {}, onGap: () => gaps++ });
      await store.delete(run.id);
      await eventually('notice', () => gaps > 0 || undefined);
    });
  });

  describe('onChange', () => {
    it('reports new, released and cancelled runs', async () => {
      await using fixture = await open();
      const { store, peer } = fixture;
      const changes: string[] = [];
      const run = newRun();
      using _ = peer.onChange((change) => changes.push(`${change.type} ${change.id === run.id}`));
      await store.create(run);
      await eventually('created', () => changes.length === 1 || undefined);
      const claim = await store.claimNext(LEASE);
      await store.release(run.id, { token: claim?.token ?? '' });
      await eventually('released', () => changes.length === 2 || undefined);
      await store.requestCancel(run.id);
      await eventually('cancelled', () => changes.length === 3 || undefined);
      assert.deepEqual(changes, ['claimable true', 'claimable true', 'cancel true']);
    });

    it('reports nothing to listeners that were removed', async () => {
      await using fixture = await open();
      const { store } = fixture;
      const changes: string[] = [];
      store.onChange(() => changes.push('left'))[Symbol.dispose]();
      using _ = store.onChange(() => changes.push('here'));
      await store.create(newRun());
      await eventually('notice', () => changes.length > 0 || undefined);
      assert.deepEqual(changes, ['here']);
    });
  });
}
