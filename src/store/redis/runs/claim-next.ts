import type { RunId } from '../../../base/ids.ts';
import type { Claim } from '../../run-store.ts';
import type { Indexes } from './indexes.ts';
import type { WaitingRuns } from './waiting.ts';

/** How many free runs a claimer looks at before it asks again. */
const CANDIDATES = 10;
const MOST_ROUNDS = 50;

/** What became of a try: a claim, or whether the indexes were put right, which had called the run free. */
export interface Tried {
  claim?: Claim;
  corrected: boolean;
}

type Try = (id: RunId) => Promise<Tried>;

/** Claims what `RunStore.claimNext` says. */
export async function claimNext(
  { indexes, waiting, claim }: { indexes: Indexes; waiting: WaitingRuns; claim: Try },
  { queued = false }: { queued?: boolean },
): Promise<Claim | undefined> {
  const left = queued ? undefined : await claimFirst(() => indexes.abandoned(CANDIDATES), claim);
  if (left) return left;
  for (let id = await waiting.next(); id !== undefined; id = await waiting.next()) {
    const tried = await claim(id);
    if (tried.claim) return tried.claim;
  }
  // What waits without a turn.
  return await claimFirst(() => indexes.queued(CANDIDATES), claim);
}

/** Claims the first free one of what `ask` finds, asking again while the indexes had to be put right. */
async function claimFirst(ask: () => Promise<RunId[]>, claim: Try): Promise<Claim | undefined> {
  for (let moved = true, round = 0; moved && round < MOST_ROUNDS; round++) {
    moved = false;
    for (const id of await ask()) {
      const tried = await claim(id);
      if (tried.claim) return tried.claim;
      moved ||= tried.corrected;
    }
  }
  return undefined;
}
