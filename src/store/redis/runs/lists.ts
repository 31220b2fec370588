import { LRUCache } from 'lru-cache';
import { sleep } from '../../../base/abort.ts';
import type { Clock } from '../../../base/clock.ts';
import { messageOf } from '../../../base/errors.ts';
import type { RunId } from '../../../base/ids.ts';
import type { Logger } from '../../../base/logger.ts';
import {
  BUCKETS,
  type Bucket,
  bucketOf,
  type IndexRange,
  type ListPosition,
  type RunIndexes,
} from '../../list-page.ts';
import type { RunApi, RunSummary } from '../../run-store.ts';
import { RedisPart, type RedisParts } from '../part.ts';
import {
  maybeText,
  numberReply,
  parseSummary,
  type RunFacts,
  SUMMARY_FIELDS,
  scoredMembers,
  textList,
} from '../replies.ts';

/** An index entry without a run is removed once it is this old: the run of a younger one may be about to be created. */
export const MISSING_AFTER_MS = 60_000;
const REPAIR_AGAIN_MS = 60_000;
const MAX_REPAIRED = 2000;
/** Runs that a repair checks in one step. */
const REPAIR_CHUNK = 250;
/** Largest number of open runs of a list that a repair checks: more than the limits of a gateway allow. */
const MAX_OPEN = 2000;

/** A run as the indexes know it. */
export type IndexedRun = { id: RunId } & Pick<RunFacts, 'user' | 'api' | 'model'>;

/** A member of an index, and the key of that index. */
export interface RedisListEntry extends ListPosition {
  tie: RunId;
  key: string;
}

/** While runs start and end, a list and its parts differ briefly: only a lasting difference is repaired. */
const MAX_COUNTS = 4;
const RECOUNT_MS = 20;

type List = { user: string; api: RunApi };

/** A run whose record holds unexpected values. It stays in its list: a newer gateway may read it. */
const UNREADABLE = 'unreadable';
type FoundRun = RunSummary | typeof UNREADABLE | undefined;

/**
 * The lists of users: for each user and interface a sorted set of all runs, and one for each model and bucket (see
 * `Bucket`), so that a filter reads only what matches. These are only indexes; see `RedisIndexes`.
 */
export class RedisLists extends RedisPart {
  /** Lists that were repaired recently, or are being repaired. */
  readonly #repaired = new LRUCache<string, Promise<void>>({ max: MAX_REPAIRED, ttl: REPAIR_AGAIN_MS });
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(parts: RedisParts & { clock: Clock; log: Logger }) {
    super(parts);
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  async add(run: IndexedRun, position: number): Promise<void> {
    const entry = ['NX', `${position}`, run.id];
    await Promise.all([
      this.command('SADD', this.keys.models(run), run.model),
      this.command('ZADD', this.keys.list(run.user, run.api), ...entry),
      this.command('ZADD', this.keys.listPart(run, { model: run.model, bucket: 'open' }), ...entry),
    ]);
  }

  /** Moves an ended run to the index of its status. Works for a run that no index by model has yet. */
  async markEnded(run: IndexedRun & Pick<RunFacts, 'status' | 'listed'>): Promise<void> {
    const { id, model } = run;
    const position = await this.#score(this.keys.list(run.user, run.api), id);
    if (position === null) return;
    await Promise.all([
      this.command('SADD', this.keys.models(run), model),
      this.command('ZADD', this.keys.listPart(run, { model, bucket: bucketOf(run) }), position, id),
      this.command('ZREM', this.keys.listPart(run, { model, bucket: 'open' }), id),
    ]);
  }

  async remove(
    run: List & { id: RunId },
    facts: Pick<RunFacts, 'model' | 'status' | 'listed'> | undefined,
  ): Promise<void> {
    const part = facts && this.keys.listPart(run, { model: facts.model, bucket: bucketOf(facts) });
    await Promise.all(
      [this.keys.list(run.user, run.api), ...(part === undefined ? [] : [part])].map((key) =>
        this.command('ZREM', key, run.id),
      ),
    );
  }

  /**
   * Repairs the indexes by model and bucket: moves runs that have ended, and rebuilds all parts if together they have
   * another number of runs than the list. A gateway of the first version has no such indexes, and an instance may have
   * died between two steps. At most once a minute per list, because the indexes also differ briefly while runs are
   * created.
   */
  async repair(list: List): Promise<void> {
    const name = `${list.api} ${list.user}`;
    const repaired = this.#repaired.get(name) ?? this.#repairNow(list);
    this.#repaired.set(name, repaired, { noUpdateTTL: true });
    try {
      await repaired;
    } catch (thrown) {
      this.#repaired.delete(name);
      throw thrown;
    }
  }

  async #repairNow(list: List): Promise<void> {
    const all = this.keys.list(list.user, list.api);
    for (const model of await this.#models(list)) await this.#moveEnded(list, this.#openKey(list, model));
    const parts = (await this.#models(list)).flatMap((model) =>
      BUCKETS.map((bucket) => this.keys.listPart(list, { model, bucket })),
    );
    const total = await this.#countUnlessEqual(all, parts);
    if (total === undefined) return;
    for (let start = 0; start < total; start += REPAIR_CHUNK) {
      const range = ['ZRANGE', all, `${start}`, `${start + REPAIR_CHUNK - 1}`, 'WITHSCORES'];
      const entries = scoredMembers(await this.command(...range));
      await Promise.all(entries.map((entry) => this.#reindex(list, entry)));
    }
    for (const part of parts) await this.#dropStrangers(part, all);
  }

  /** The number of runs of a list if that of its parts keeps differing from it; undefined if they agree. */
  async #countUnlessEqual(all: string, parts: readonly string[]): Promise<number | undefined> {
    for (let attempt = 1; ; attempt++) {
      const replies = await Promise.all([all, ...parts].map((key) => this.command('ZCARD', key)));
      const [total = 0, ...counts] = replies.map((reply) => numberReply.parse(reply));
      if (counts.reduce((sum, count) => sum + count, 0) === total) return undefined;
      if (attempt === MAX_COUNTS) return total;
      await sleep(RECOUNT_MS);
    }
  }

  async #moveEnded(list: List, open: string): Promise<void> {
    const range = ['ZRANGE', open, '0', `${MAX_OPEN - 1}`, 'WITHSCORES'];
    const entries = scoredMembers(await this.command(...range));
    await Promise.all(entries.map((entry) => this.#reindex(list, entry)));
  }

  /**
   * Moves a run of the list to the index that fits its record. Earlier versions list `incomplete` runs with the completed
   * ones. An open run may be ending: it is only added.
   */
  async #reindex(list: List, { member: id, score }: { member: RunId; score: number }): Promise<void> {
    const run = await this.#summary(id);
    if (!run || run === UNREADABLE) return;
    const { model } = run;
    const partOf = (bucket: Bucket) => this.keys.listPart(list, { model, bucket });
    const own = bucketOf(run);
    await Promise.all([
      this.command('SADD', this.keys.models(list), model),
      this.command('ZADD', partOf(own), `${score}`, id),
    ]);
    if (run.endedAt === null) return;
    const others = BUCKETS.filter((bucket) => bucket !== own);
    await Promise.all(others.map((bucket) => this.command('ZREM', partOf(bucket), id)));
  }

  /** Removes runs from a part that are no longer in the list. */
  async #dropStrangers(part: string, all: string): Promise<void> {
    for (let start = 0; ; start += REPAIR_CHUNK) {
      const range = ['ZRANGE', part, `${start}`, `${start + REPAIR_CHUNK - 1}`];
      const members = textList.parse(await this.command(...range));
      const strangers = await Promise.all(
        members.map(async (id) => ((await this.#score(all, id)) === null ? [id] : [])),
      );
      const gone = strangers.flat();
      if (gone.length > 0) await this.command('ZREM', part, ...gone);
      start -= gone.length;
      if (members.length < REPAIR_CHUNK) return;
    }
  }

  async #models(list: List): Promise<string[]> {
    return textList.parse(await this.command('SMEMBERS', this.keys.models(list)));
  }

  /** The indexes of a list. `onMisplaced` is called for ended runs that are still in an index of open ones. */
  indexesOf(list: List, onMisplaced: (id: RunId) => Promise<void>): RunIndexes<RedisListEntry> {
    return {
      models: () => this.#models(list),
      position: async (id) => {
        const score = await this.#score(this.keys.list(list.user, list.api), id);
        return score === null ? undefined : { at: Number(score), tie: id };
      },
      // See `RedisIndexes.#position`. No id is smaller than ''.
      edge: (createdAt, side) => ({ at: (side === 'before' ? createdAt : createdAt + 1) * 1000, tie: '' }),
      entries: (index, range) => {
        const key = index === 'all' ? this.keys.list(list.user, list.api) : this.keys.listPart(list, index);
        return this.#entries(key, range);
      },
      summaries: async (entries) => {
        const found = await Promise.all(entries.map((entry) => this.#summary(entry.tie)));
        await this.#correct(entries, found, { list, onMisplaced });
        return found.map((run) => (run === UNREADABLE ? undefined : run));
      },
    };
  }

  async #score(key: string, id: RunId): Promise<string | null> {
    return maybeText.parse(await this.command('ZSCORE', key, id));
  }

  async #summary(id: RunId): Promise<FoundRun> {
    const reply = await this.command('HMGET', this.keys.run(id), ...SUMMARY_FIELDS);
    try {
      return parseSummary(reply);
    } catch (thrown) {
      this.#log.error({ run: id, err: messageOf(thrown) }, 'a run cannot be read, and is passed over');
      return UNREADABLE;
    }
  }

  async #entries(key: string, { newestFirst, from, count }: IndexRange): Promise<RedisListEntry[]> {
    const found: RedisListEntry[] = [];
    // Members with the score of `from` are on both sides of it, so they are read and filtered.
    const range = newestFirst
      ? ['ZREVRANGEBYSCORE', key, from ? `${from.at}` : '+inf', '-inf']
      : ['ZRANGEBYSCORE', key, from ? `${from.at}` : '-inf', '+inf'];
    for (let offset = 0; ; offset += count) {
      const reply = await this.command(...range, 'WITHSCORES', 'LIMIT', `${offset}`, `${count}`);
      const members = scoredMembers(reply);
      for (const { member, score } of members) {
        const beyond = !from || score !== from.at || (newestFirst ? member < from.tie : member > from.tie);
        if (beyond) found.push({ at: score, tie: member, key });
      }
      if (members.length < count || found.length >= count) return found.slice(0, count);
    }
  }

  /** Corrects entries of runs that are gone or have ended. */
  async #correct(
    entries: readonly RedisListEntry[],
    found: readonly FoundRun[],
    options: { list: List; onMisplaced(id: RunId): Promise<void> },
  ): Promise<void> {
    for (const [index, entry] of entries.entries()) {
      const run = found[index];
      if (!run) {
        // A young one may be about to be created.
        const isOld = entry.at / 1000 <= this.#clock.now() - MISSING_AFTER_MS;
        if (isOld) await this.command('ZREM', entry.key, entry.tie);
      } else if (run !== UNREADABLE && run.endedAt !== null && entry.key === this.#openKey(options.list, run.model)) {
        await options.onMisplaced(run.id);
      }
    }
  }

  #openKey(list: List, model: string): string {
    return this.keys.listPart(list, { model, bucket: 'open' });
  }
}
