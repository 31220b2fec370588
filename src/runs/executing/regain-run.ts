import { sleep } from '../../base/abort.ts';
import type { Logger } from '../../base/logger.ts';
import type { Claim, RunStore } from '../../store/run-store.ts';
import { claimNumber } from '../../store/token.ts';
import type { AppendedBatches } from './log/appended-batches.ts';
import type { LogAtClaim } from './log/log-at-claim.ts';
import { LEASE_MS, type RunLease } from './run-lease.ts';

/** How long an owner waits for its own process to offer it a claim, in milliseconds. */
const OFFER_MS = 500;
const OFFER_LOOK_MS = 25;

/** What the owner knows about its run when the store no longer knows the owner. */
export interface RegainOptions {
  store: RunStore;
  lease: RunLease;
  /** Log and transcript when this owner claimed the run. */
  logAtClaim: LogAtClaim;
  /** The batches that it has appended since. */
  appended: AppendedBatches;
  log: Logger;
}

/**
 * Recovers from a failover that lost the claim of a live owner, or its whole run: claims the run anew, or creates it again
 * as it was when claimed. Resolves to the last event that the store has then; later ones are the owner's to send again.
 * Undefined if the run is no longer this owner's: another one has it, it has ended, or it was deleted. Operators may have
 * Redis wait for replicas instead; with neither, readers would see a forked log, and tool calls would be made twice.
 */
export async function regainRun(options: RegainOptions): Promise<number | undefined> {
  const { store, lease, log } = options;
  const { id } = lease.run;
  let claim = lease.takeOffered() ?? (await store.claim(id, { leaseMs: LEASE_MS, force: false }));
  if (!claim && !(await store.get(id))) return await recreateRun(options);
  claim ??= await waitForOffer(lease);
  if (!claim) return undefined;
  if (!(await isOurs(options, claim))) {
    await store.release(id, { token: claim.token });
    return undefined;
  }
  lease.token = claim.token;
  log.warn({ run: id, last: claim.run.last }, 'the store lost a claim, the run is claimed anew');
  return claim.run.last;
}

/** Waits for this process to offer the claim: it may have claimed the run as a free one and not noticed yet that it drives it. */
async function waitForOffer(lease: RunLease): Promise<Claim | undefined> {
  for (let waited = 0; waited < OFFER_MS; waited += OFFER_LOOK_MS) {
    const offered = lease.takeOffered();
    if (offered) return offered;
    await sleep(OFFER_LOOK_MS);
  }
  return lease.takeOffered();
}

/**
 * Whether the store's log is a prefix of ours. If another owner held the run in between, the claim number is too high or
 * the bytes differ.
 */
async function isOurs(
  { store, lease, appended, logAtClaim }: RegainOptions,
  claim: { token: string; run: { last: number } },
): Promise<boolean> {
  if (claimNumber(claim.token) > claimNumber(lease.token)) return false;
  const stored = await store.readLast(lease.run.id);
  if (!stored || stored.last <= logAtClaim.last) return true;
  const ours = appended.from(Math.max(stored.first, logAtClaim.last + 1), stored.last);
  if (!ours) return false;
  const bytes = Buffer.concat(ours.map(({ frames }) => frames));
  return Buffer.from(stored.frames).subarray(-bytes.length).equals(bytes);
}

async function recreateRun({ store, lease, logAtClaim, log }: RegainOptions): Promise<number | undefined> {
  const { run, token, keys, cancelled: cancelRequested } = lease;
  const { frames, last: frameCount, transcript } = logAtClaim;
  if (!store.restore || !frames) return undefined;
  const lost = { ...run, frames, frameCount, keys, token, leaseMs: LEASE_MS, cancelRequested, transcript };
  if ((await store.restore(lost)) === 'exists') return undefined;
  log.warn({ run: run.id }, 'the store lost a run that is driven here, it is created again');
  return frameCount;
}
