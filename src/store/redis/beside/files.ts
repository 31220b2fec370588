import { z } from 'zod';
import { parseJson } from '../../../base/json.ts';
import type { FileRecord, FileStore } from '../../beside/file-store.ts';
import { EXPIRING_FILES } from '../keys.ts';
import type { RedisParts } from '../part.ts';
import { maybeText, textList } from '../replies.ts';
import { loadScript } from '../scripts.ts';

/**
 * A user's files are a hash of records (JSON) by id and a sorted set of ids by creation, in one slot with the number of
 * bytes; a second set in a slot of its own says which files end when, and whose they are. The hash is the truth.
 */
const SCRIPTS = {
  /** KEYS records, order, bytes. ARGV id, record, bytes of it, most bytes, creation. */
  add: loadScript(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 'added' end
local used = tonumber(redis.call('GET', KEYS[3]) or '0')
if used + tonumber(ARGV[3]) > tonumber(ARGV[4]) then return 'full' end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[5], ARGV[1])
redis.call('INCRBY', KEYS[3], ARGV[3])
return 'added'`),

  /** KEYS records, order, bytes. ARGV id, bytes of it. */
  remove: loadScript(`
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('DECRBY', KEYS[3], ARGV[2])
return 1`),
};

const record: z.ZodType<FileRecord> = z.object({
  id: z.string(),
  user: z.string(),
  name: z.string(),
  purpose: z.string(),
  type: z.string(),
  bytes: z.int(),
  createdAt: z.int(),
  expiresAt: z.int().nullable(),
});

/** How many records are looked at in one step. */
const STEP = 500;

/** What is known of files, in Redis. */
export class RedisFiles implements FileStore {
  readonly #parts: Pick<RedisParts, 'redis' | 'keys'> & { have(tag: string): Promise<void> };

  /** `have` waits until replicas have what was written in the slot of this tag. */
  constructor(parts: Pick<RedisParts, 'redis' | 'keys'> & { have(tag: string): Promise<void> }) {
    this.#parts = parts;
  }

  add: FileStore['add'] = async (file, { most }) => {
    const { redis, keys, have } = this.#parts;
    const owned = keys.filesOf(file.user);
    // First what ends it: a file that nobody knows the end of would stay for ever.
    if (file.expiresAt !== null) {
      await redis.command(['ZADD', keys.expiringFiles, `${file.expiresAt}`, file.id]);
      await have(EXPIRING_FILES);
    }
    await redis.command(['SET', keys.file(file.id), file.user]);
    const args = [file.id, JSON.stringify(file), `${file.bytes}`, `${most}`, `${file.createdAt}`];
    const result = z.enum(['added', 'full']).parse(await redis.script(SCRIPTS.add, owned.names, args));
    if (result === 'full') await this.#forget(file.id);
    await Promise.all([have(owned.tag), have(file.id)]);
    return result;
  };

  get: FileStore['get'] = async (id) => {
    const { redis, keys } = this.#parts;
    const user = maybeText.parse(await redis.command(['GET', keys.file(id)]));
    if (user === null) return undefined;
    return readRecord(maybeText.parse(await redis.command(['HGET', keys.filesOf(user).names[0], id])));
  };

  list: FileStore['list'] = async ({ user, limit, order, after, purpose }) => {
    const { redis, keys } = this.#parts;
    const [records, ids] = keys.filesOf(user).names;
    const rank = after && (await redis.command([order === 'asc' ? 'ZRANK' : 'ZREVRANK', ids, after.id]));
    const found: FileRecord[] = [];
    for (let from = typeof rank === 'number' ? rank + 1 : 0; found.length <= limit; from += STEP) {
      const range = order === 'asc' ? 'ZRANGE' : 'ZREVRANGE';
      const some = textList.parse(await redis.command([range, ids, `${from}`, `${from + STEP - 1}`]));
      if (some.length === 0) break;
      const texts = z.array(maybeText).parse(await redis.command(['HMGET', records, ...some]));
      found.push(
        ...texts.flatMap((text) => readRecord(text) ?? []).filter((one) => !purpose || one.purpose === purpose),
      );
    }
    return { files: found.slice(0, limit), hasMore: found.length > limit };
  };

  remove: FileStore['remove'] = async (id) => {
    const { redis, keys, have } = this.#parts;
    const file = await this.get(id);
    if (!file) return false;
    const owned = keys.filesOf(file.user);
    const removed = await redis.script(SCRIPTS.remove, owned.names, [id, `${file.bytes}`]);
    await this.#forget(id);
    await have(owned.tag);
    return removed === 1;
  };

  expired: FileStore['expired'] = async ({ now, limit }) => {
    const { redis, keys } = this.#parts;
    const range = ['ZRANGEBYSCORE', keys.expiringFiles, '-inf', `${now}`, 'LIMIT', '0', `${limit}`];
    const ids = textList.parse(await redis.command(range));
    const found = await Promise.all(ids.map(async (id) => (await this.get(id)) ?? this.#forget(id)));
    return found.flatMap((file) => file ?? []);
  };

  async #forget(id: string): Promise<undefined> {
    const { redis, keys } = this.#parts;
    await redis.command(['UNLINK', keys.file(id)]);
    await redis.command(['ZREM', keys.expiringFiles, id]);
  }
}

function readRecord(json: string | null): FileRecord | undefined {
  const parsed = record.safeParse(json === null ? undefined : parseJson(json));
  return parsed.success ? parsed.data : undefined;
}
