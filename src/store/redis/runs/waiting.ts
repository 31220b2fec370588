import { z } from 'zod';
import type { RunId } from '../../../base/ids.ts';
import { RedisPart } from '../part.ts';
import { maybeText, numberReply, withScores } from '../replies.ts';
import { SCRIPTS } from '../scripts.ts';

const maybeTexts = z.array(z.string().nullable());
/** Positions are written with so many digits, so that they sort as text. */
const DIGITS = 17;

/**
 * Queued runs by API key, for keys to take turns. An index beside `Keys.queued`, which says what is queued: a run whose
 * turn it is leaves it before it is claimed, and `repair` enters those that are missing: of an instance that died then,
 * and of earlier versions, which know no turns.
 */
export class WaitingRuns extends RedisPart {
  /** `position`: the place of the run among those of its key. A repeat changes nothing. */
  async enter({ id, keyId }: { id: RunId; keyId: string }, position: number): Promise<void> {
    const { order, runs } = this.keys.waiting;
    const member = `${keyId} ${`${position}`.padStart(DIGITS, '0')} ${id}`;
    await this.script(SCRIPTS.wait, [order, runs], [id, member]);
  }

  async leave(id: RunId): Promise<void> {
    const { order, runs } = this.keys.waiting;
    await this.script(SCRIPTS.unwait, [order, runs], [id]);
  }

  /** The run whose turn it is; it waits no more. It may be claimed or gone by now. */
  async next(): Promise<RunId | undefined> {
    const { order, runs, turn } = this.keys.waiting;
    return maybeText.parse(await this.script(SCRIPTS.nextTurn, [order, runs, turn], [])) ?? undefined;
  }

  async count(keyId: string): Promise<number> {
    const { order } = this.keys.waiting;
    return numberReply.parse(await this.command('ZLEXCOUNT', order, `[${keyId} `, `(${keyId}!`));
  }

  /** Enters the oldest queued runs that are missing, of `limit`. */
  async repair(limit: number): Promise<void> {
    await Promise.all(this.keys.queued.all.map((key) => this.#repair(key, limit)));
  }

  async #repair(key: string, limit: number): Promise<void> {
    const queued = withScores(await this.command('ZRANGE', key, '0', `${limit - 1}`, 'WITHSCORES'));
    if (queued.length === 0) return;
    const ids = queued.map(({ member }) => member);
    const known = maybeTexts.parse(await this.command('HMGET', this.keys.waiting.runs, ...ids));
    const missing = queued.filter((_, index) => known[index] === null);
    await Promise.all(
      missing.map(async ({ member: id, score }) => {
        const fields = await this.command('HMGET', this.keys.run(id), 'keyId', 'status');
        const [keyId, status] = maybeTexts.parse(fields);
        if (keyId && status === 'queued') await this.enter({ id, keyId }, score);
      }),
    );
  }
}
