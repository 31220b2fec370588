import type { RunId } from '../../../base/ids.ts';
import { RUN_APIS, type RunApi } from '../../run-store.ts';
import type { ShardedKey } from '../keys.ts';
import { RedisPart, type RedisParts } from '../part.ts';
import { maybeText, numberReply, type RunFacts, scoredMembers } from '../replies.ts';
import { SCRIPTS } from '../scripts.ts';
import { type IndexedRun, MISSING_AFTER_MS, type RedisLists } from './lists.ts';

/**
 * The sorted sets over many runs. They are in other slots than the runs, so both cannot change in one step: an entry is
 * added before its run is created, and whoever finds an entry that contradicts its run corrects it.
 */
export class RedisIndexes extends RedisPart {
  readonly #lists: RedisLists;
  #lastMs = 0;
  #sameMs = 0;

  constructor(parts: RedisParts & { lists: RedisLists }) {
    super(parts);
    this.#lists = parts.lists;
  }

  /** Adds a run that is about to be created, and returns its position among all runs. A repeat changes nothing. */
  async add(run: IndexedRun & { createdAt: number }): Promise<number> {
    const position = this.#position(run.createdAt);
    await Promise.all([
      this.#lists.add(run, position),
      this.command('ZADD', this.keys.queued.of(run.id), 'NX', `${position}`, run.id),
    ]);
    return position;
  }

  /** Order of creation: milliseconds times 1 000, plus a counter within the millisecond. */
  #position(createdAt: number): number {
    this.#sameMs = createdAt === this.#lastMs ? Math.min(this.#sameMs + 1, 999) : 0;
    this.#lastMs = createdAt;
    return createdAt * 1000 + this.#sameMs;
  }

  async removeQueued(id: RunId): Promise<void> {
    await this.command('ZREM', this.keys.queued.of(id), id);
  }

  /**
   * Marks a run as claimed until then, or released with 0. It joins the claimed set before it leaves the queued one.
   */
  async markClaimed(id: RunId, until: number): Promise<void> {
    await this.extendClaim(id, until);
    await this.removeQueued(id);
  }

  /** Sets the end of a claim, even if a failover of another master of a cluster has lost the run from the index. */
  async extendClaim(id: RunId, until: number): Promise<void> {
    await this.command('ZADD', this.keys.claimed.of(id), `${until}`, id);
  }

  async markEnded(id: RunId, run: RunFacts): Promise<void> {
    const endedAt = run.endedByStore ?? run.endedAt ?? 0;
    await Promise.all([
      this.removeOpen(id),
      this.#lists.markEnded({ id, ...run }),
      this.command('ZADD', this.keys.expiry.of(id), `${run.expiresAt}`, expiryMember({ id, ...run })),
      this.command('ZADD', this.keys.uncompressed.of(id), `${endedAt}`, id),
    ]);
  }

  async removeOpen(id: RunId): Promise<void> {
    await Promise.all([this.removeQueued(id), this.command('ZREM', this.keys.claimed.of(id), id)]);
  }

  /** Removes a run from all sets. `facts` are unknown if Redis has expired its record. */
  async remove(
    run: { id: RunId; user: string; api: RunApi },
    facts: Pick<RunFacts, 'model' | 'status' | 'listed'> | undefined,
  ): Promise<void> {
    await Promise.all([
      this.removeOpen(run.id),
      this.#lists.remove(run, facts),
      this.command('ZREM', this.keys.expiry.of(run.id), expiryMember(run)),
      this.command('ZREM', this.keys.uncompressed.of(run.id), run.id),
    ]);
  }

  async count(): Promise<{ queued: number; inProgress: number }> {
    const [queued, inProgress] = await Promise.all([this.#count(this.keys.queued), this.#count(this.keys.claimed)]);
    return { queued, inProgress };
  }

  async #count(set: ShardedKey): Promise<number> {
    const counts = await Promise.all(set.all.map((key) => this.command('ZCARD', key)));
    return counts.reduce((sum: number, count) => sum + numberReply.parse(count), 0);
  }

  /** Open runs that nobody seems to hold: those with an expired claim, then queued ones, oldest first. */
  async findFree(limit: number): Promise<RunId[]> {
    const [abandoned, queued] = await Promise.all([this.findAbandoned(limit), this.findQueued(limit)]);
    return [...new Set([...abandoned, ...queued])].slice(0, limit);
  }

  /** Runs that were never claimed, oldest first. */
  async findQueued(limit: number): Promise<RunId[]> {
    const ask = (key: string) => this.command('ZRANGE', key, '0', `${limit - 1}`, 'WITHSCORES');
    return await this.#findLowest(this.keys.queued, limit, ask);
  }

  /** Runs whose claim has expired, was released, or was made before the clock went back. */
  async findAbandoned(limit: number): Promise<RunId[]> {
    const args = [this.now(), `${limit}`];
    return await this.#findLowest(this.keys.claimed, limit, (key) => this.script(SCRIPTS.abandoned, [key], args));
  }

  /** Members of a set that is sorted by time whose time was at least `agoMs` milliseconds ago, oldest first. */
  async #findDue(set: ShardedKey, { agoMs, limit }: { agoMs: number; limit: number }): Promise<string[]> {
    const args = [this.now(), `${agoMs}`, `${limit}`];
    return await this.#findLowest(set, limit, (key) => this.script(SCRIPTS.due, [key], args));
  }

  /** The members with the lowest scores of all shards. `ask` returns the lowest of one shard, each with its score. */
  async #findLowest(set: ShardedKey, limit: number, ask: (key: string) => Promise<unknown>): Promise<string[]> {
    const replies = await Promise.all(set.all.map(async (key) => scoredMembers(await ask(key))));
    const all = replies.length === 1 ? (replies[0] ?? []) : replies.flat().sort((a, b) => a.score - b.score);
    return all.slice(0, limit).map(({ member }) => member);
  }

  /** Removes a missing run from the sets of open runs. False if it may be about to be created. */
  async dropMissing(id: RunId, now: number): Promise<boolean> {
    const score = maybeText.parse(await this.command('ZSCORE', this.keys.queued.of(id), id));
    if (score !== null && Number(score) / 1000 > now - MISSING_AFTER_MS) return false;
    await this.removeOpen(id);
    return true;
  }

  async findExpired(limit: number): Promise<{ id: RunId; user: string; api: RunApi }[]> {
    return (await this.#findDue(this.keys.expiry, { agoMs: 0, limit })).map(parseExpiryMember);
  }

  findUncompressed(options: { endedForMs: number; limit: number }): Promise<RunId[]> {
    return this.#findDue(this.keys.uncompressed, { agoMs: options.endedForMs, limit: options.limit });
  }

  async markCompressed(id: RunId): Promise<void> {
    await this.command('ZREM', this.keys.uncompressed.of(id), id);
  }
}

/** Contains the owner, so that lists can be cleaned up after the record has expired. */
function expiryMember(run: { id: RunId; user: string; api: RunApi }): string {
  return `${run.id} ${run.api} ${run.user}`;
}

function parseExpiryMember(member: string): { id: RunId; user: string; api: RunApi } {
  const [id = '', api = '', ...user] = member.split(' ');
  return { id, api: RUN_APIS.find((known) => known === api) ?? 'responses', user: user.join(' ') };
}
