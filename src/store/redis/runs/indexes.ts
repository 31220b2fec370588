import type { RunId } from '../../../base/ids.ts';
import { RUN_APIS, type RunApi } from '../../run-store.ts';
import type { Sharded } from '../keys.ts';
import { RedisPart, type RedisParts } from '../part.ts';
import { type Facts, maybeText, numberReply, withScores } from '../replies.ts';
import { SCRIPTS } from '../scripts.ts';
import { type IndexedRun, MISSING_AFTER_MS, type RedisLists } from './lists.ts';

/**
 * The sorted sets over many runs. They live in other slots than the runs, so they cannot change in the same step: an
 * entry is added before its run is created, and whoever meets an entry that its run contradicts puts it right.
 */
export class Indexes extends RedisPart {
  readonly #lists: RedisLists;
  #lastMs = 0;
  #sameMs = 0;

  constructor(parts: RedisParts & { lists: RedisLists }) {
    super(parts);
    this.#lists = parts.lists;
  }

  /** Adds a run that is about to be created; its position among all runs. A repeat changes nothing. */
  async announce(run: IndexedRun & { createdAt: number }): Promise<number> {
    const position = this.#position(run.createdAt);
    await Promise.all([
      this.#lists.add(run, position),
      this.command('ZADD', this.keys.queued.of(run.id), 'NX', `${position}`, run.id),
    ]);
    return position;
  }

  /** Creation order: milliseconds times 1 000, plus a count within the millisecond. */
  #position(createdAt: number): number {
    this.#sameMs = createdAt === this.#lastMs ? Math.min(this.#sameMs + 1, 999) : 0;
    this.#lastMs = createdAt;
    return createdAt * 1000 + this.#sameMs;
  }

  async leaveQueue(id: RunId): Promise<void> {
    await this.command('ZREM', this.keys.queued.of(id), id);
  }

  /** The run is claimed until then; 0 where it was given back. It leaves the one set only once it is in the other. */
  async markClaimed(id: RunId, until: number): Promise<void> {
    await this.extend(id, until);
    await this.leaveQueue(id);
  }

  /** Moves the end of a claim. Also where the index has lost it: in a cluster a failover of another master may do that. */
  async extend(id: RunId, until: number): Promise<void> {
    await this.command('ZADD', this.keys.claimed.of(id), `${until}`, id);
  }

  async markEnded(id: RunId, run: Facts): Promise<void> {
    const endedAt = run.endedByStore ?? run.endedAt ?? 0;
    await Promise.all([
      this.close(id),
      this.#lists.markEnded({ id, ...run }),
      this.command('ZADD', this.keys.expiry.of(id), `${run.expiresAt}`, expiryMember({ id, ...run })),
      this.command('ZADD', this.keys.uncompressed.of(id), `${endedAt}`, id),
    ]);
  }

  /** The run is not open any more. */
  async close(id: RunId): Promise<void> {
    await Promise.all([this.leaveQueue(id), this.command('ZREM', this.keys.claimed.of(id), id)]);
  }

  /** The run is gone. What its record said is not known where it went by itself. */
  async remove(
    run: { id: RunId; user: string; api: RunApi },
    facts: Pick<Facts, 'model' | 'status'> | undefined,
  ): Promise<void> {
    await Promise.all([
      this.close(run.id),
      this.#lists.remove(run, facts),
      this.command('ZREM', this.keys.expiry.of(run.id), expiryMember(run)),
      this.command('ZREM', this.keys.uncompressed.of(run.id), run.id),
    ]);
  }

  async count(): Promise<{ queued: number; inProgress: number }> {
    const [queued, inProgress] = await Promise.all([this.#count(this.keys.queued), this.#count(this.keys.claimed)]);
    return { queued, inProgress };
  }

  async #count(set: Sharded): Promise<number> {
    const counts = await Promise.all(set.all.map((key) => this.command('ZCARD', key)));
    return counts.reduce((sum: number, count) => sum + numberReply.parse(count), 0);
  }

  /** Open runs that nobody seems to hold: those whose claim has run out, then queued ones, oldest first. */
  async free(limit: number): Promise<RunId[]> {
    const [abandoned, queued] = await Promise.all([this.abandoned(limit), this.queued(limit)]);
    return [...new Set([...abandoned, ...queued])].slice(0, limit);
  }

  /** Runs that were not claimed yet, oldest first. */
  async queued(limit: number): Promise<RunId[]> {
    const ask = (key: string) => this.command('ZRANGE', key, '0', `${limit - 1}`, 'WITHSCORES');
    return await this.#merged(this.keys.queued, limit, ask);
  }

  /** Those whose claim has run out or was given back, or was made before the clock went back. */
  async abandoned(limit: number): Promise<RunId[]> {
    const args = [this.now(), `${limit}`];
    return await this.#merged(this.keys.claimed, limit, (key) => this.script(SCRIPTS.abandoned, [key], args));
  }

  /** Members of a set by time whose time was so long ago, oldest first. */
  async #due(set: Sharded, { agoMs, limit }: { agoMs: number; limit: number }): Promise<string[]> {
    const args = [this.now(), `${agoMs}`, `${limit}`];
    return await this.#merged(set, limit, (key) => this.script(SCRIPTS.due, [key], args));
  }

  /** Members with the lowest scores of all shards; `ask` answers with the lowest of one, each with its score. */
  async #merged(set: Sharded, limit: number, ask: (key: string) => Promise<unknown>): Promise<string[]> {
    const replies = await Promise.all(set.all.map(async (key) => withScores(await ask(key))));
    const all = replies.length === 1 ? (replies[0] ?? []) : replies.flat().sort((a, b) => a.score - b.score);
    return all.slice(0, limit).map(({ member }) => member);
  }

  /** Takes a run that is not there out of the open ones. False where it may be in the making. */
  async dropMissing(id: RunId, now: number): Promise<boolean> {
    const score = maybeText.parse(await this.command('ZSCORE', this.keys.queued.of(id), id));
    if (score !== null && Number(score) / 1000 > now - MISSING_AFTER_MS) return false;
    await this.close(id);
    return true;
  }

  async expired(limit: number): Promise<{ id: RunId; user: string; api: RunApi }[]> {
    return (await this.#due(this.keys.expiry, { agoMs: 0, limit })).map(parseExpiryMember);
  }

  uncompressed(options: { endedForMs: number; limit: number }): Promise<RunId[]> {
    return this.#due(this.keys.uncompressed, { agoMs: options.endedForMs, limit: options.limit });
  }

  async markCompressed(id: RunId): Promise<void> {
    await this.command('ZREM', this.keys.uncompressed.of(id), id);
  }
}

/** With its owner, so that lists can be cleaned after the run itself has gone. */
function expiryMember(run: { id: RunId; user: string; api: RunApi }): string {
  return `${run.id} ${run.api} ${run.user}`;
}

function parseExpiryMember(member: string): { id: RunId; user: string; api: RunApi } {
  const [id = '', api = '', ...user] = member.split(' ');
  return { id, api: RUN_APIS.find((known) => known === api) ?? 'responses', user: user.join(' ') };
}
