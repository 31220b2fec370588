import type { Clock } from '../../../base/clock.ts';
import type { RunId } from '../../../base/ids.ts';
import type { Claim, FencingToken } from '../../run-store.ts';
import { claimNumber } from '../../token.ts';
import { RedisPart, type RedisParts } from '../part.ts';
import { renewReply } from '../replies.ts';
import { SCRIPTS } from '../scripts.ts';
import type { RedisIndexes } from './indexes.ts';
import type { ClaimOutcome, RedisRecords } from './records.ts';
import type { WaitingRuns } from './waiting.ts';

/** How many free runs are tried before the index is read again. */
const CANDIDATES = 10;
const MAX_ROUNDS = 50;

/** The outcome of an attempt: a claim, or whether it corrected an index that wrongly listed the run as free. */
interface ClaimAttempt {
  claim?: Claim;
  corrected: boolean;
}

interface ClaimParts extends RedisParts {
  clock: Clock;
  records: RedisRecords;
  indexes: RedisIndexes;
  waiting: WaitingRuns;
}

/** Claims, renews and releases runs. */
export class RedisClaims extends RedisPart {
  readonly #parts: ClaimParts;

  constructor(parts: ClaimParts) {
    super(parts);
    this.#parts = parts;
  }

  /** See `RunStore.claimNext`. */
  async claimNext(options: { leaseMs: number; queued?: boolean }): Promise<Claim | undefined> {
    const abandoned = options.queued
      ? undefined
      : await this.#claimFirst(() => this.#parts.indexes.findAbandoned(CANDIDATES), options);
    if (abandoned) return abandoned;
    for (let id = await this.#parts.waiting.next(); id !== undefined; id = await this.#parts.waiting.next()) {
      const { claim } = await this.#tryClaim(id, options);
      if (claim) return claim;
    }
    // Queued runs that are missing from the turns.
    return await this.#claimFirst(() => this.#parts.indexes.findQueued(CANDIDATES), options);
  }

  /** Claims the first free candidate. Looks for candidates again as long as indexes had to be corrected. */
  async #claimFirst(findCandidates: () => Promise<RunId[]>, options: { leaseMs: number }): Promise<Claim | undefined> {
    for (let isCorrected = true, round = 0; isCorrected && round < MAX_ROUNDS; round++) {
      isCorrected = false;
      for (const id of await findCandidates()) {
        const attempt = await this.#tryClaim(id, options);
        if (attempt.claim) return attempt.claim;
        isCorrected ||= attempt.corrected;
      }
    }
    return undefined;
  }

  async #tryClaim(id: RunId, { leaseMs }: { leaseMs: number }): Promise<ClaimAttempt> {
    const attempt = await this.#parts.records.claim(id, { leaseMs, force: false });
    if (attempt.outcome === 'claimed') return { claim: attempt.claim, corrected: false };
    return { corrected: await this.#correct(id, attempt) };
  }

  /** See `RunStore.claim`. */
  async claim(id: RunId, options: { leaseMs: number; force: boolean }): Promise<Claim | undefined> {
    const attempt = await this.#parts.records.claim(id, options);
    if (attempt.outcome === 'claimed') return attempt.claim;
    await this.#correct(id, attempt);
    return undefined;
  }

  /** Corrects indexes that wrongly listed a run as free. Returns whether they changed. */
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
    await this.#parts.indexes.extendClaim(id, reply[2]);
    return { result: 'ok' as const, cancel: reply[1] === 1 };
  }

  /** See `RunStore.release`. `unused`: nobody got the claim, so its number is given to the next one. */
  async release(id: RunId, { token, unused = false }: { token: FencingToken; unused?: boolean }): Promise<void> {
    const args = [token, this.keys.changes, id, `${claimNumber(token)}`, unused ? '1' : '0'];
    const released = await this.script(SCRIPTS.release, [this.keys.run(id)], args);
    if (released === 1) await this.#parts.indexes.markClaimed(id, 0);
  }
}
