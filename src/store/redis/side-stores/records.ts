import type { z } from 'zod';
import { parseJson } from '../../../base/json.ts';
import type { RedisConnection } from '../connection/connection.ts';
import { maybeText, maybeTextList, numberReply, textList } from '../replies.ts';

const STEP = 500;

/** Parses a record from JSON; undefined if it cannot be read, because it is damaged or of a newer version. */
export function parseRecord<T>(schema: z.ZodType<T>, json: string): T | undefined {
  return schema.safeParse(parseJson(json)).data;
}

/** The record in a reply; undefined if there is none. @throws Error if it cannot be read: nobody may take it for gone. */
export function readRecord<T>(schema: z.ZodType<T>, reply: unknown): T | undefined {
  const json = maybeText.parse(reply);
  if (json === null) return undefined;
  const record = parseRecord(schema, json);
  if (record === undefined) throw new Error('Redis holds a record that this gateway cannot read');
  return record;
}

/** The rank of the first record after `after`, which may be gone. */
export async function rankBehind(
  redis: RedisConnection,
  { ids, order }: { ids: string; order: 'asc' | 'desc' },
  after: { id: string; createdAt: number } | undefined,
): Promise<number> {
  if (!after) return 0;
  const rank = await redis.command([order === 'asc' ? 'ZRANK' : 'ZREVRANK', ids, after.id]);
  if (typeof rank === 'number') return rank + 1;
  const at = `${after.createdAt}`;
  const [least, greatest] = order === 'asc' ? ['-inf', `(${at}`] : [`(${at}`, '+inf'];
  const before = numberReply.parse(await redis.command(['ZCOUNT', ids, least, greatest]));
  // Records of the same millisecond are ordered by id.
  const same = textList.parse(await redis.command(['ZRANGEBYSCORE', ids, at, at]));
  return before + same.filter((id) => (order === 'asc' ? id < after.id : id > after.id)).length;
}

/** Reads up to `limit` matching records of a hash, in the order of a sorted set of ids, from the rank `from` on. */
export async function readRecords<T>(
  redis: RedisConnection,
  range: { schema: z.ZodType<T>; records: string; ids: string; order: 'asc' | 'desc'; from: number; limit: number },
  isWanted?: (record: T) => boolean,
): Promise<{ found: T[]; hasMore: boolean }> {
  const { schema, records, ids, order, limit } = range;
  const step = isWanted ? STEP : Math.min(STEP, limit + 1);
  const found: T[] = [];
  for (let { from } = range; found.length <= limit; from += step) {
    const command = [order === 'asc' ? 'ZRANGE' : 'ZREVRANGE', ids, `${from}`, `${from + step - 1}`];
    const page = textList.parse(await redis.command(command));
    if (page.length === 0) break;
    const texts = maybeTextList.parse(await redis.command(['HMGET', records, ...page]));
    const read = texts.flatMap((text) => parseRecord(schema, text ?? '') ?? []);
    found.push(...(isWanted ? read.filter(isWanted) : read));
  }
  return { found: found.slice(0, limit), hasMore: found.length > limit };
}
