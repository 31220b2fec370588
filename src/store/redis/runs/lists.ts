import { LRUCache } from 'lru-cache';
import { sleep } from '../../../base/abort.ts';
import type { Clock } from '../../../base/clock.ts';
import type { RunId } from '../../../base/ids.ts';
import { BUCKETS, bucketOf, type IndexRange, type Position, type RunIndexes } from '../../list-page.ts';
import type { RunApi, RunSummary } from '../../run-store.ts';
import { RedisPart, type RedisParts } from '../part.ts';
import { type Facts, maybeText, numberReply, parseSummary, SUMMARY_FIELDS, textList, withScores } from '../replies.ts';

/** An entry of an index whose run is not there is removed once it is this old: a younger one may be in the making. */
export const MISSING_AFTER_MS = 60_000;
const REPAIR_AGAIN_MS = 60_000;
const MOST_REPAIRED = 2000;
/** Runs that are looked at in one step of a repair. */
const REPAIR_CHUNK = 250;
/** More open runs of one list than the limits of a gateway allow are not looked at. */
const MOST_OPEN = 2000;

/** A run as the indexes know it. */
export type IndexedRun = { id: RunId } & Pick<Facts, 'user' | 'api' | 'model'>;

/** A member of a list with the key that it was found under. */
export interface RedisListEntry extends Position {
  tie: RunId;
  key: string;
}

/** Runs that begin and end make a list and its parts differ for a moment: only what stays so is repaired. */
const MOST_LOOKS = 4;
const LOOK_AGAIN_MS = 20;

type List = { user: string; api: RunApi };

/**
 * Users' lists: for each user and interface a sorted set of all runs, and one for each model and bucket (see `Bucket`),
 * so that a filter reads what matches. They are only an index; see `Indexes`.
 */
export class RedisLists extends RedisPart {
  /** Lists that were repaired a short while ago. */
  readonly #repaired = new LRUCache<string, true>({ max: MOST_REPAIRED, ttl: REPAIR_AGAIN_MS });
  readonly #clock: Clock;

  constructor(parts: RedisParts & { clock: Clock }) {
    super(parts);
    this.#clock = parts.clock;
  }

  async add(run: IndexedRun, position: number): Promise<void> {
    const entry = ['NX', `${position}`, run.id];
    await Promise.all([
      this.command('SADD', this.keys.models(run), run.model),
      this.command('ZADD', this.keys.list(run.user, run.api), ...entry),
      this.command('ZADD', this.keys.listPart(run, { model: run.model, bucket: 'open' }), ...entry),
    ]);
  }

  /** Moves an ended run to the index of its end. Also right for one that no index by model knows yet. */
  async markEnded(run: IndexedRun & Pick<Facts, 'status'>): Promise<void> {
    const { id, model } = run;
    const position = await this.#score(this.keys.list(run.user, run.api), id);
    if (position === null) return;
    await Promise.all([
      this.command('SADD', this.keys.models(run), model),
      this.command('ZADD', this.keys.listPart(run, { model, bucket: bucketOf(run.status) }), position, id),
      this.command('ZREM', this.keys.listPart(run, { model, bucket: 'open' }), id),
    ]);
  }

  async remove(run: List & { id: RunId }, facts: Pick<Facts, 'model' | 'status'> | undefined): Promise<void> {
    const part = facts && this.keys.listPart(run, { model: facts.model, bucket: bucketOf(facts.status) });
    await Promise.all(
      [this.keys.list(run.user, run.api), ...(part === undefined ? [] : [part])].map((key) =>
        this.command('ZREM', key, run.id),
      ),
    );
  }

  /**
   * Puts the indexes by model and bucket right: runs that have ended without having been moved, and all where together
   * they hold another number of runs than the list. A gateway of the first version knows no such indexes, and an instance
   * may have died between two steps. At most once a minute for each list: while runs are being created its indexes differ
   * for a moment.
   */
  async repair(list: List): Promise<void> {
    const name = `${list.api} ${list.user}`;
    if (this.#repaired.has(name)) return;
    this.#repaired.set(name, true);
    await this.#repairNow(list);
  }

  async #repairNow(list: List): Promise<void> {
    const all = this.keys.list(list.user, list.api);
    for (const model of await this.#models(list)) await this.#moveEnded(list, this.#open(list, model));
    const parts = (await this.#models(list)).flatMap((model) =>
      BUCKETS.map((bucket) => this.keys.listPart(list, { model, bucket })),
    );
    const whole = await this.#disagreement(all, parts);
    if (whole === undefined) return;
    for (let start = 0; start < whole; start += REPAIR_CHUNK) {
      const range = ['ZRANGE', all, `${start}`, `${start + REPAIR_CHUNK - 1}`, 'WITHSCORES'];
      const entries = withScores(await this.command(...range));
      await Promise.all(entries.map((entry) => this.#index(list, entry)));
    }
    for (const part of parts) await this.#dropStrangers(part, all);
  }

  /** How many runs a list has where its parts have more or fewer for longer than a moment; undefined where they agree. */
  async #disagreement(all: string, parts: readonly string[]): Promise<number | undefined> {
    for (let look = 1; ; look++) {
      const counts = await Promise.all([all, ...parts].map((key) => this.command('ZCARD', key)));
      const [whole = 0, ...each] = counts.map((count) => numberReply.parse(count));
      if (each.reduce((sum, count) => sum + count, 0) === whole) return undefined;
      if (look === MOST_LOOKS) return whole;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  async #moveEnded(list: List, open: string): Promise<void> {
    const range = ['ZRANGE', open, '0', `${MOST_OPEN - 1}`, 'WITHSCORES'];
    const entries = withScores(await this.command(...range));
    await Promise.all(entries.map((entry) => this.#index(list, entry)));
  }

  /** Adds a run of the list to the index where it belongs. */
  async #index(list: List, { member: id, score }: { member: RunId; score: number }): Promise<void> {
    const run = await this.#summary(id);
    if (!run) return;
    const { model } = run;
    await Promise.all([
      this.command('SADD', this.keys.models(list), model),
      this.command('ZADD', this.keys.listPart(list, { model, bucket: bucketOf(run.status) }), `${score}`, id),
    ]);
    if (run.endedAt !== null) await this.command('ZREM', this.#open(list, model), id);
  }

  /** Takes runs out of a part that are not in the list any more. */
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

  /** The indexes of a list. `corrected` is called for runs that stand where they do not belong. */
  of(list: List, corrected: (id: RunId) => Promise<void>): RunIndexes<RedisListEntry> {
    return {
      models: () => this.#models(list),
      position: async (id) => {
        const score = await this.#score(this.keys.list(list.user, list.api), id);
        return score === null ? undefined : { at: Number(score), tie: id };
      },
      entries: (index, range) => {
        const key = index === 'all' ? this.keys.list(list.user, list.api) : this.keys.listPart(list, index);
        return this.#entries(key, range);
      },
      summaries: async (entries) => {
        const found = await Promise.all(entries.map((entry) => this.#summary(entry.tie)));
        await this.#correct(entries, found, { list, corrected });
        return found;
      },
    };
  }

  async #score(key: string, id: RunId): Promise<string | null> {
    return maybeText.parse(await this.command('ZSCORE', key, id));
  }

  async #summary(id: RunId): Promise<RunSummary | undefined> {
    return parseSummary(await this.command('HMGET', this.keys.run(id), ...SUMMARY_FIELDS));
  }

  async #entries(key: string, { newestFirst, from, count }: IndexRange): Promise<RedisListEntry[]> {
    const found: RedisListEntry[] = [];
    // Those of the same score lie on both sides of `from`: they are asked for and left out.
    const range = newestFirst
      ? ['ZREVRANGEBYSCORE', key, from ? `${from.at}` : '+inf', '-inf']
      : ['ZRANGEBYSCORE', key, from ? `${from.at}` : '-inf', '+inf'];
    for (let offset = 0; ; offset += count) {
      const reply = await this.command(...range, 'WITHSCORES', 'LIMIT', `${offset}`, `${count}`);
      const members = withScores(reply);
      for (const { member, score } of members) {
        const beyond = !from || score !== from.at || (newestFirst ? member < from.tie : member > from.tie);
        if (beyond) found.push({ at: score, tie: member, key });
      }
      if (members.length < count || found.length >= count) return found.slice(0, count);
    }
  }

  /** Puts right what an index said of runs that are gone or have ended meanwhile. */
  async #correct(
    entries: readonly RedisListEntry[],
    found: readonly (RunSummary | undefined)[],
    options: { list: List; corrected(id: RunId): Promise<void> },
  ): Promise<void> {
    for (const [index, entry] of entries.entries()) {
      const run = found[index];
      if (!run) {
        // A young one may be in the making.
        const old = entry.at / 1000 <= this.#clock.now() - MISSING_AFTER_MS;
        if (old) await this.command('ZREM', entry.key, entry.tie);
      } else if (run.endedAt !== null && entry.key === this.#open(options.list, run.model)) {
        await options.corrected(run.id);
      }
    }
  }

  #open(list: List, model: string): string {
    return this.keys.listPart(list, { model, bucket: 'open' });
  }
}
