import { z } from 'zod';
import type { RunId } from '../../../base/ids.ts';
import { RedisPart } from '../part.ts';
import { maybeText, numberReply, scoredMembers } from '../replies.ts';
import { SCRIPTS } from '../scripts.ts';

const maybeTexts = z.array(z.string().nullable());
/** Positions are padded to this many digits, so that they sort as text. */
const DIGITS = 17;

/**
 * Queued runs by API key, so that keys take turns. An index beside `RedisKeys.queued`, which decides what is queued: a
 * run whose turn it is leaves this index before it is claimed, and `repair` enters runs that are missing: those of an
 * instance that died in between, and those of earlier versions, which know no turns.
 */
export class WaitingRuns extends RedisPart {
  /** `position`: the position of the run among those of its key. A repeat changes nothing. */
  async enter({ id, keyId }: { id: RunId; keyId: string }, position: number): Promise<void> {
    const { order, runs } = this.keys.waiting;
    const member = `${keyId} ${`${position}`.padStart(DIGITS, '0')} ${id}`;
    await this.script(SCRIPTS.wait, [order, runs], [id, member]);
  }

  async leave(id: RunId): Promise<void> {
    const { order, runs } = this.keys.waiting;
    await this.script(SCRIPTS.unwait, [order, runs], [id]);
  }

  /** Removes and returns the run whose turn it is. It may have been claimed or removed meanwhile. */
  async next(): Promise<RunId | undefined> {
    const { order, runs, turn } = this.keys.waiting;
    return maybeText.parse(await this.script(SCRIPTS.nextTurn, [order, runs, turn], [])) ?? undefined;
  }

  async count(keyId: string): Promise<number> {
    const { order } = this.keys.waiting;
    return numberReply.parse(await this.command('ZLEXCOUNT', order, `[${keyId} `, `(${keyId}!`));
  }

  /** Enters missing runs among the `limit` oldest queued ones. */
  async repair(limit: number): Promise<void> {
    await Promise.all(this.keys.queued.all.map((key) => this.#repair(key, limit)));
  }

  async #repair(key: string, limit: number): Promise<void> {
    const queued = scoredMembers(await this.command('ZRANGE', key, '0', `${limit - 1}`, 'WITHSCORES'));
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
