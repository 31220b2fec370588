import assert from 'node:assert/strict';
import { silentLogger } from '../../../src/base/logger.ts';
import { AppendedBatches } from '../../../src/runs/executing/log/appended-batches.ts';
import { LogAtClaim } from '../../../src/runs/executing/log/log-at-claim.ts';
import { regainRun } from '../../../src/runs/executing/regain-run.ts';
import { RunLease } from '../../../src/runs/executing/run-lease.ts';
import type { Claim, RunStore } from '../../../src/store/run-store.ts';
import { newToken } from '../../../src/store/token.ts';
import { claimed, claimedRun, events, LEASE } from '../../contract/run-store-fixture.ts';
import { memoryStore } from '../../support/wrapped-store.ts';

describe('an owner whose claim the store no longer knows', () => {
  let store: RunStore;
  beforeEach(async () => {
    store = await memoryStore();
  });
  afterEach(() => store.close());

  /** The run as its owner knows it, with its claim of this number. */
  async function ownerOf(claim: Claim, number: number) {
    const parts = { store, log: silentLogger };
    const lease = new RunLease({ ...claim, token: newToken(number) }, parts);
    const logAtClaim = new LogAtClaim();
    for (const batch of await store.read(claim.run.id, { after: 0, maxBytes: 1000 })) logAtClaim.add(batch);
    return { ...parts, lease, logAtClaim, appended: new AppendedBatches() };
  }

  /** Whether nobody holds the run. */
  const isFree = async (id: string) => (await store.claim(id, { ...LEASE, force: false })) !== undefined;

  it('gets the claim that its own process took meanwhile', async () => {
    const first = await claimedRun(store);
    const owner = await ownerOf(first, 2);
    const taken = await claimed(store, first.run.id);
    const regaining = regainRun(owner);
    owner.lease.recheck = async () => (await regaining) !== undefined;
    await owner.lease.offer(taken);
    assert.equal(await regaining, first.run.last);
    assert.equal(owner.lease.token, taken.token);
    assert.equal(await isFree(first.run.id), false, 'the claim is kept');
  });

  it('gets a run back whose log is a part of its own', async () => {
    const first = await claimedRun(store);
    const { id } = first.run;
    const owner = await ownerOf(first, 2);
    for (const number of [3, 4]) owner.appended.add(events(owner.lease.token, number, number));
    await store.append(id, events(first.token, 3, 3));
    await store.release(id, first);
    assert.equal(await regainRun(owner), 3);
    assert.equal(await isFree(id), false);
  });

  it('gives up a run that was deleted, in a store that never loses one', async () => {
    const owner = await ownerOf(await claimedRun(store), 1);
    await store.delete(owner.lease.run.id);
    assert.equal(await regainRun(owner), undefined);
  });

  it('leaves a run free that another owner held in between', async () => {
    const first = await claimedRun(store);
    const owner = await ownerOf(first, 1);
    const other = await claimed(store, first.run.id);
    await store.release(first.run.id, other);
    assert.equal(await regainRun(owner), undefined);
    assert.equal(await isFree(first.run.id), true);
  });

  it('leaves a run free to which another owner appended something else', async () => {
    const first = await claimedRun(store);
    const { id } = first.run;
    const owner = await ownerOf(first, 2);
    owner.appended.add(events(owner.lease.token, 3, 3, { frames: Buffer.from('data: mine\n\n') }));
    await store.append(id, events(first.token, 3, 3, { frames: Buffer.from('data: else\n\n') }));
    await store.release(id, first);
    assert.equal(await regainRun(owner), undefined);
    assert.equal(await isFree(id), true);
  });
});
