import { z } from 'zod';
import { type FileRecord, type FileStore, fileRecord } from '../../side-stores/file-store.ts';
import { EXPIRING_FILES_TAG } from '../keys.ts';
import { RedisPart } from '../part.ts';
import { maybeText, textList } from '../replies.ts';
import { loadScript } from '../scripts.ts';
import { parseRecord, rankBehind, readRecord, readRecords } from './records.ts';

/**
 * A user's files are a hash of records (JSON) by id, a sorted set of ids by creation and their total bytes, in one
 * slot. A second set, in its own slot, has the expiry of files. The hash decides.
 */
const SCRIPTS = {
  /** KEYS records, order, bytes. ARGV id, record, its bytes, max bytes, creation. */
  add: loadScript(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 'added' end
local used = tonumber(redis.call('GET', KEYS[3]) or '0')
if used + tonumber(ARGV[3]) > tonumber(ARGV[4]) then return 'full' end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[5], ARGV[1])
redis.call('INCRBY', KEYS[3], ARGV[3])
return 'added'`),

  /** KEYS records. ARGV id, record. */
  replace: loadScript(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end`),

  /** KEYS records, order, bytes. ARGV id, its bytes. */
  remove: loadScript(`
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('DECRBY', KEYS[3], ARGV[2])
return 1`),
};

/** Metadata of files, in Redis. */
export class RedisFiles extends RedisPart implements FileStore {
  add: FileStore['add'] = async (file, { maxBytes }) => {
    const owned = this.keys.filesOf(file.user);
    await this.#scheduleExpiry(file);
    await this.command('SET', this.keys.file(file.id), file.user);
    const args = [file.id, JSON.stringify(file), `${file.bytes}`, `${maxBytes}`, `${file.createdAt}`];
    const result = z.enum(['added', 'full']).parse(await this.script(SCRIPTS.add, owned.names, args));
    if (result === 'full') await this.#forget(file.id);
    await Promise.all([this.waitForReplicas(owned.tag), this.waitForReplicas(file.id)]);
    return result;
  };

  get: FileStore['get'] = async (id) => readRecord(fileRecord, await this.#json(id));

  list: FileStore['list'] = async ({ user, limit, order, after, purpose }) => {
    const [records, ids] = this.keys.filesOf(user).names;
    const from = await rankBehind(this.redis, { ids, order }, after);
    const range = { schema: fileRecord, records, ids, order, from, limit };
    const isWanted = purpose ? (file: FileRecord) => file.purpose === purpose : undefined;
    const { found, hasMore } = await readRecords(this.redis, range, isWanted);
    return { files: found, hasMore };
  };

  remove: FileStore['remove'] = async (id) => {
    const file = await this.get(id);
    if (!file) return false;
    const owned = this.keys.filesOf(file.user);
    const removed = await this.script(SCRIPTS.remove, owned.names, [id, `${file.bytes}`]);
    await this.#forget(id);
    await this.waitForReplicas(owned.tag);
    return removed === 1;
  };

  setExpiry: FileStore['setExpiry'] = async (file) => {
    const owned = this.keys.filesOf(file.user);
    await this.#scheduleExpiry(file);
    await this.script(SCRIPTS.replace, [owned.names[0]], [file.id, JSON.stringify(file)]);
    if (file.expiresAt === null) await this.command('ZREM', this.keys.expiringFiles, file.id);
    await this.waitForReplicas(owned.tag);
  };

  /** The expiry is written before the record: a file without it would stay for ever. */
  async #scheduleExpiry({ id, expiresAt }: FileRecord): Promise<void> {
    if (expiresAt === null) return;
    await this.command('ZADD', this.keys.expiringFiles, `${expiresAt}`, id);
    await this.waitForReplicas(EXPIRING_FILES_TAG);
  }

  expired: FileStore['expired'] = async ({ now, limit, skip }) => {
    const range = ['ZRANGEBYSCORE', this.keys.expiringFiles, '-inf', `${now}`, 'LIMIT', `${skip}`, `${limit}`];
    const ids = textList.parse(await this.command(...range));
    const found = await Promise.all(
      ids.map(async (id) => {
        const json = await this.#json(id);
        return json === null ? await this.#forget(id) : (parseRecord(fileRecord, json) ?? null);
      }),
    );
    return found.filter((file) => file !== undefined);
  };

  async #json(id: string): Promise<string | null> {
    const user = maybeText.parse(await this.command('GET', this.keys.file(id)));
    if (user === null) return null;
    return maybeText.parse(await this.command('HGET', this.keys.filesOf(user).names[0], id));
  }

  async #forget(id: string): Promise<undefined> {
    await this.command('UNLINK', this.keys.file(id));
    await this.command('ZREM', this.keys.expiringFiles, id);
  }
}
