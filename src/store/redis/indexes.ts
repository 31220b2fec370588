import type { RunId } from '../../base/ids.ts';
import type { RunApi } from '../run-store.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { maybeText, numberReply, textList } from './replies.ts';

/** An entry of an index whose run is not there is removed once it is this old: a younger one may be in the making. */
const MISSING_AFTER_MS = 60_000;

/**
 * The sorted sets over many runs. They live in other slots than the runs, so they cannot change in the same step: an
 * entry is added before its run is created, and whoever meets an entry that its run contradicts puts it right.
 */
export class Indexes {
  readonly #redis: RedisConnection;
  readonly #keys: Keys;
  #lastMs = 0;
  #sameMs = 0;

  constructor(redis: RedisConnection, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** Adds a run that is about to be created. A repeat changes nothing. */
  async announce(run: { id: RunId; user: string; api: RunApi; createdAt: number }): Promise<void> {
    const position = `${this.#position(run.createdAt)}`;
    await Promise.all([
      this.#redis.command(['ZADD', this.#keys.list(run.user, run.api), 'NX', position, run.id]),
      this.#redis.command(['ZADD', this.#keys.queued, 'NX', position, run.id]),
    ]);
  }

  /** Creation order: milliseconds times 1 000, plus a count within the millisecond. */
  #position(createdAt: number): number {
    this.#sameMs = createdAt === this.#lastMs ? Math.min(this.#sameMs + 1, 999) : 0;
    this.#lastMs = createdAt;
    return createdAt * 1000 + this.#sameMs;
  }

  async markQueued(id: RunId, queued: boolean): Promise<void> {
    if (!queued) await this.#redis.command(['ZREM', this.#keys.queued, id]);
  }

  /** The run is claimed until then; 0 where it was given back. */
  async markClaimed(id: RunId, until: number): Promise<void> {
    await Promise.all([
      this.#redis.command(['ZREM', this.#keys.queued, id]),
      this.#redis.command(['ZADD', this.#keys.claimed, `${until}`, id]),
    ]);
  }

  /** Moves the end of a claim that is in the index. */
  async extend(id: RunId, until: number): Promise<void> {
    await this.#redis.command(['ZADD', this.#keys.claimed, 'XX', `${until}`, id]);
  }

  async markEnded(run: { id: RunId; user: string; api: RunApi; endedAt: number; expiresAt: number }): Promise<void> {
    await Promise.all([
      this.close(run.id),
      this.#redis.command(['ZADD', this.#keys.expiry, `${run.expiresAt}`, expiryMember(run)]),
      this.#redis.command(['ZADD', this.#keys.unsealed, `${run.endedAt}`, run.id]),
    ]);
  }

  /** The run is not open any more. */
  async close(id: RunId): Promise<void> {
    await Promise.all([
      this.#redis.command(['ZREM', this.#keys.queued, id]),
      this.#redis.command(['ZREM', this.#keys.claimed, id]),
    ]);
  }

  async remove(run: { id: RunId; user: string; api: RunApi }): Promise<void> {
    await Promise.all([
      this.close(run.id),
      this.#redis.command(['ZREM', this.#keys.list(run.user, run.api), run.id]),
      this.#redis.command(['ZREM', this.#keys.expiry, expiryMember(run)]),
      this.#redis.command(['ZREM', this.#keys.unsealed, run.id]),
    ]);
  }

  async count(): Promise<{ queued: number; inProgress: number }> {
    const [queued, inProgress] = await Promise.all([
      this.#redis.command(['ZCARD', this.#keys.queued]),
      this.#redis.command(['ZCARD', this.#keys.claimed]),
    ]);
    return { queued: numberReply.parse(queued), inProgress: numberReply.parse(inProgress) };
  }

  /** Open runs that nobody seems to hold: those whose claim has run out, then queued ones, oldest first. */
  async free(now: number, limit: number): Promise<RunId[]> {
    const [abandoned, queued] = await Promise.all([
      this.#redis.command(['ZRANGEBYSCORE', this.#keys.claimed, '-inf', `${now}`, 'LIMIT', '0', `${limit}`]),
      this.#redis.command(['ZRANGE', this.#keys.queued, '0', `${limit - 1}`]),
    ]);
    return [...new Set([...textList.parse(abandoned), ...textList.parse(queued)])].slice(0, limit);
  }

  /** Takes a run that is not there out of the open ones. False where it may be in the making. */
  async dropMissing(id: RunId, now: number): Promise<boolean> {
    const score = maybeText.parse(await this.#redis.command(['ZSCORE', this.#keys.queued, id]));
    if (score !== null && Number(score) / 1000 > now - MISSING_AFTER_MS) return false;
    await this.close(id);
    return true;
  }

  /** Ids of a user's list from `rank` on, newest first. */
  async listFrom(list: { user: string; api: RunApi }, rank: number, count: number): Promise<RunId[]> {
    const key = this.#keys.list(list.user, list.api);
    return textList.parse(await this.#redis.command(['ZREVRANGE', key, `${rank}`, `${rank + count - 1}`]));
  }

  /** Place of a run in its list, 0 for the newest. */
  async rank(list: { user: string; api: RunApi }, id: RunId): Promise<number | null> {
    const reply = await this.#redis.command(['ZREVRANK', this.#keys.list(list.user, list.api), id]);
    return reply === null ? null : numberReply.parse(reply);
  }

  /** Takes runs out of a list that are not there any more, except ones that may be in the making. */
  async dropFromList(list: { user: string; api: RunApi }, ids: readonly RunId[], now: number): Promise<void> {
    const key = this.#keys.list(list.user, list.api);
    for (const id of ids) {
      const score = maybeText.parse(await this.#redis.command(['ZSCORE', key, id]));
      if (Number(score) / 1000 <= now - MISSING_AFTER_MS) await this.#redis.command(['ZREM', key, id]);
    }
  }

  /** Takes a run out of a list that turned out not to be its own. */
  async dropForeign(list: { user: string; api: RunApi }, id: RunId): Promise<void> {
    await this.#redis.command(['ZREM', this.#keys.list(list.user, list.api), id]);
  }

  async expired(now: number, limit: number): Promise<{ id: RunId; user: string; api: RunApi }[]> {
    const range = ['ZRANGEBYSCORE', this.#keys.expiry, '-inf', `${now}`, 'LIMIT', '0', `${limit}`];
    return textList.parse(await this.#redis.command(range)).map(parseExpiryMember);
  }

  async unsealed(endedBefore: number, limit: number): Promise<RunId[]> {
    const range = ['ZRANGEBYSCORE', this.#keys.unsealed, '-inf', `${endedBefore}`, 'LIMIT', '0', `${limit}`];
    return textList.parse(await this.#redis.command(range));
  }

  async markSealed(id: RunId): Promise<void> {
    await this.#redis.command(['ZREM', this.#keys.unsealed, id]);
  }
}

/** With its owner, so that lists can be cleaned after the run itself has gone. */
function expiryMember(run: { id: RunId; user: string; api: RunApi }): string {
  return `${run.id} ${run.api} ${run.user}`;
}

function parseExpiryMember(member: string): { id: RunId; user: string; api: RunApi } {
  const [id = '', api = '', ...user] = member.split(' ');
  return { id, api: api === 'async' || api === 'chat_completions' ? api : 'responses', user: user.join(' ') };
}
