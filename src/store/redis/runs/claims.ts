import type { Clock } from '../../../base/clock.ts';
import type { RunId } from '../../../base/ids.ts';
import type { Claim, FencingToken } from '../../run-store.ts';
import { claimNumber } from '../../token.ts';
import { RedisPart, type RedisParts } from '../part.ts';
import { renewReply } from '../replies.ts';
import { SCRIPTS } from '../scripts.ts';
import type { Indexes } from './indexes.ts';
import type { ClaimOutcome, RedisRecords } from './records.ts';
import type { WaitingRuns } from './waiting.ts';

/** How many free runs a claimer looks at before it asks again. */
const CANDIDATES = 10;
const MOST_ROUNDS = 50;

/** What became of a try: a claim, or whether the indexes were put right, which had called the run free. */
interface Tried {
  claim?: Claim;
  corrected: boolean;
}

interface ClaimParts extends RedisParts {
  clock: Clock;
  records: RedisRecords;
  indexes: Indexes;
  waiting: WaitingRuns;
}

/** Who works on a run. */
export class RedisClaims extends RedisPart {
  readonly #parts: ClaimParts;

  constructor(parts: ClaimParts) {
    super(parts);
    this.#parts = parts;
  }

  /** See `RunStore.claimNext`. */
  async takeNext(options: { leaseMs: number; queued?: boolean }): Promise<Claim | undefined> {
    const left = options.queued
      ? undefined
      : await this.#takeFirst(() => this.#parts.indexes.abandoned(CANDIDATES), options);
    if (left) return left;
    for (let id = await this.#parts.waiting.next(); id !== undefined; id = await this.#parts.waiting.next()) {
      const { claim } = await this.#try(id, options);
      if (claim) return claim;
    }
    // What waits without a turn.
    return await this.#takeFirst(() => this.#parts.indexes.queued(CANDIDATES), options);
  }

  /** Claims the first free one of what `ask` finds, asking again while the indexes had to be put right. */
  async #takeFirst(ask: () => Promise<RunId[]>, options: { leaseMs: number }): Promise<Claim | undefined> {
    for (let moved = true, round = 0; moved && round < MOST_ROUNDS; round++) {
      moved = false;
      for (const id of await ask()) {
        const tried = await this.#try(id, options);
        if (tried.claim) return tried.claim;
        moved ||= tried.corrected;
      }
    }
    return undefined;
  }

  async #try(id: RunId, { leaseMs }: { leaseMs: number }): Promise<Tried> {
    const attempt = await this.#parts.records.claim(id, { leaseMs, force: false });
    if (attempt.outcome === 'claimed') return { claim: attempt.claim, corrected: false };
    return { corrected: await this.#correct(id, attempt) };
  }

  /** See `RunStore.claim`. */
  async take(id: RunId, options: { leaseMs: number; force: boolean }): Promise<Claim | undefined> {
    const attempt = await this.#parts.records.claim(id, options);
    if (attempt.outcome === 'claimed') return attempt.claim;
    await this.#correct(id, attempt);
    return undefined;
  }

  /** Puts the indexes right where they called a run free that is not. Whether that changed them. */
  async #correct(id: RunId, found: Exclude<ClaimOutcome, { outcome: 'claimed' }>): Promise<boolean> {
    if (found.outcome === 'missing') return await this.#parts.indexes.dropMissing(id, this.#parts.clock.now());
    if (found.outcome === 'held') await this.#parts.indexes.markClaimed(id, found.until);
    else await this.#parts.records.indexEnd(id);
    return true;
  }

  /** See `RunStore.renew`. */
  async renew(id: RunId, options: { token: FencingToken; leaseMs: number }) {
    const args = [options.token, this.now(), `${options.leaseMs}`];
    const reply = renewReply.parse(await this.script(SCRIPTS.renew, [this.keys.run(id)], args));
    if (reply[0] === 'fenced') return { result: 'fenced' as const };
    await this.#parts.indexes.extend(id, reply[2]);
    return { result: 'ok' as const, cancel: reply[1] === 1 };
  }

  /** See `RunStore.release`. */
  async release(id: RunId, options: { token: FencingToken }): Promise<void> {
    const args = [options.token, this.keys.changes, id, `${claimNumber(options.token)}`];
    const released = await this.script(SCRIPTS.release, [this.keys.run(id)], args);
    if (released === 1) await this.#parts.indexes.markClaimed(id, 0);
  }
}
