import { z } from 'zod';
import type { RunId } from '../../../base/ids.ts';
import type { RedisConnection } from '../connection/connection.ts';
import type { Keys } from '../keys.ts';
import { maybeText, numberReply, withScores } from '../replies.ts';
import type { Scripts } from '../scripts.ts';

const maybeTexts = z.array(z.string().nullable());
/** Positions are written with so many digits, so that they sort as text. */
const DIGITS = 17;

/**
 * Queued runs by API key, for keys to take turns. An index beside `Keys.queued`, which says what is queued: a run whose
 * turn it is leaves it before it is claimed, and `repair` enters those that are missing: of an instance that died then,
 * and of earlier versions, which know no turns.
 */
export class WaitingRuns {
  readonly #redis: RedisConnection;
  readonly #keys: Keys;
  readonly #scripts: Scripts;

  constructor(parts: { redis: RedisConnection; keys: Keys; scripts: Scripts }) {
    this.#redis = parts.redis;
    this.#keys = parts.keys;
    this.#scripts = parts.scripts;
  }

  /** `position`: the place of the run among those of its key. A repeat changes nothing. */
  async enter({ id, keyId }: { id: RunId; keyId: string }, position: number): Promise<void> {
    const { order, runs } = this.#keys.waiting;
    const member = `${keyId} ${`${position}`.padStart(DIGITS, '0')} ${id}`;
    await this.#redis.script(this.#scripts.wait, [order, runs], [id, member]);
  }

  async leave(id: RunId): Promise<void> {
    const { order, runs } = this.#keys.waiting;
    await this.#redis.script(this.#scripts.unwait, [order, runs], [id]);
  }

  /** The run whose turn it is; it waits no more. It may be claimed or gone by now. */
  async next(): Promise<RunId | undefined> {
    const { order, runs, turn } = this.#keys.waiting;
    return maybeText.parse(await this.#redis.script(this.#scripts.nextTurn, [order, runs, turn], [])) ?? undefined;
  }

  async count(keyId: string): Promise<number> {
    const { order } = this.#keys.waiting;
    return numberReply.parse(await this.#redis.command(['ZLEXCOUNT', order, `[${keyId} `, `(${keyId}!`]));
  }

  /** Enters the oldest queued runs that are missing, of `limit`. */
  async repair(limit: number): Promise<void> {
    await Promise.all(this.#keys.queued.all.map((key) => this.#repair(key, limit)));
  }

  async #repair(key: string, limit: number): Promise<void> {
    const queued = withScores(await this.#redis.command(['ZRANGE', key, '0', `${limit - 1}`, 'WITHSCORES']));
    if (queued.length === 0) return;
    const ids = queued.map(({ member }) => member);
    const known = maybeTexts.parse(await this.#redis.command(['HMGET', this.#keys.waiting.runs, ...ids]));
    const missing = queued.filter((_, index) => known[index] === null);
    await Promise.all(
      missing.map(async ({ member: id, score }) => {
        const fields = await this.#redis.command(['HMGET', this.#keys.run(id), 'keyId', 'status']);
        const [keyId, status] = maybeTexts.parse(fields);
        if (keyId && status === 'queued') await this.enter({ id, keyId }, score);
      }),
    );
  }
}
