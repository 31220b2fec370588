import { sleep } from '../../base/abort.ts';
import type { Logger } from '../../base/logger.ts';
import type { Claim, RunStore } from '../../store/run-store.ts';
import { claimNumber } from '../../store/token.ts';
import type { AppendedBatches } from './log/appended-batches.ts';
import type { FoundLog } from './log/found-log.ts';
import { LEASE_MS, type RunLease } from './run-lease.ts';

/** How long an owner waits for what its own process may have claimed, in milliseconds. */
const OFFER_MS = 500;
const OFFER_LOOK_MS = 25;

/** What an owner knows of its run when the store does not know the owner. */
export interface RegainOptions {
  store: RunStore;
  lease: RunLease;
  /** The log and the transcript as this owner found them. */
  found: FoundLog;
  /** What it has appended since. */
  appended: AppendedBatches;
  log: Logger;
}

/**
 * A failover took back the claim of a live owner, or its whole run: the run is claimed anew, or created again as the owner
 * found it. The last event that the store has by then; what came after it is the owner's to send again. Undefined where
 * the run is not this owner's any more: another one has it, it has ended, or it was deleted. Waiting for replicas instead
 * is the operator's choice; without either, readers see a log that is forked, and tool calls are made again.
 */
export async function regainRun(options: RegainOptions): Promise<number | undefined> {
  const { store, lease, log } = options;
  const { id } = lease.run;
  let claim = lease.takeOffered() ?? (await store.claim(id, { leaseMs: LEASE_MS, force: false }));
  if (!claim && !(await store.get(id))) return await createAgain(options);
  claim ??= await offeredSoon(lease);
  if (!claim) return undefined;
  if (!(await isOurs(options, claim))) {
    await store.release(id, { token: claim.token });
    return undefined;
  }
  lease.token = claim.token;
  log.warn({ run: id, last: claim.run.last }, 'the store lost a claim, the run is claimed anew');
  return claim.run.last;
}

/** This very process may have claimed the run as a free one, and be about to find that it drives it. */
async function offeredSoon(lease: RunLease): Promise<Claim | undefined> {
  for (let waited = 0; waited < OFFER_MS; waited += OFFER_LOOK_MS) {
    const offered = lease.takeOffered();
    if (offered) return offered;
    await sleep(OFFER_LOOK_MS);
  }
  return lease.takeOffered();
}

/**
 * Whether the log that the store has is the beginning of ours. Had another owner held the run in between, there would be
 * a claim too many, or other bytes.
 */
async function isOurs(
  { store, lease, appended, found }: RegainOptions,
  claim: { token: string; run: { last: number } },
): Promise<boolean> {
  if (claimNumber(claim.token) > claimNumber(lease.token)) return false;
  const stored = await store.readLast(lease.run.id);
  if (!stored || stored.last <= found.last) return true;
  const kept = appended.from(Math.max(stored.first, found.last + 1), stored.last);
  if (!kept) return false;
  const bytes = Buffer.concat(kept.map(({ frames }) => frames));
  return Buffer.from(stored.frames).subarray(-bytes.length).equals(bytes);
}

async function createAgain({ store, lease, found, log }: RegainOptions): Promise<number | undefined> {
  const { run, token, keys, cancelled: cancelRequested } = lease;
  const { frames, last: frameCount, transcript } = found;
  if (!store.restore || !frames) return undefined;
  const lost = { ...run, frames, frameCount, keys, token, leaseMs: LEASE_MS, cancelRequested };
  if ((await store.restore(lost)) === 'exists') return undefined;
  log.warn({ run: run.id }, 'the store lost a run that is driven here, it is created again');
  if (transcript.length > 0) {
    const entries = { transcript, entriesBefore: 0 };
    await store.append(run.id, { token, first: frameCount + 1, count: 0, frames: new Uint8Array(), ...entries });
  }
  return frameCount;
}
