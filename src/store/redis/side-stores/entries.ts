import { z } from 'zod';
import { type EntryStore, entryRecord } from '../../side-stores/entry-store.ts';
import { RedisPart } from '../part.ts';
import { maybeText, pairsOf } from '../replies.ts';
import { loadScript } from '../scripts.ts';
import { rankBehind, readRecord, readRecords } from './records.ts';

/**
 * A list has, in one slot: a hash of records (JSON) by id, a sorted set of all ids by creation and one for each state,
 * a hash of the counts by state, and a revision. The hash of records decides.
 *
 * KEYS records, order, counts, revision. The set of a state has the key of `order` with the state appended, which is in
 * the same slot.
 */
const CHANGED = `
local function moved(id, from, to, at)
  if from then
    redis.call('ZREM', KEYS[2] .. ':' .. from, id)
    if redis.call('HINCRBY', KEYS[3], from, -1) <= 0 then redis.call('HDEL', KEYS[3], from) end
  end
  if to then
    redis.call('ZADD', KEYS[2] .. ':' .. to, at, id)
    redis.call('HINCRBY', KEYS[3], to, 1)
  end
  -- By the clock, so that a list that was empty in between has no revision again that it had before.
  local t = redis.call('TIME')
  local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
  local before = tonumber(redis.call('GET', KEYS[4]) or '0')
  redis.call('SET', KEYS[4], string.format('%.0f', math.max(before + 1, now)))
end
local function removed(id)
  local json = redis.call('HGET', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
  if not json then return 0 end
  redis.call('HDEL', KEYS[1], id)
  moved(id, cjson.decode(json).state)
  if redis.call('HLEN', KEYS[1]) == 0 then redis.call('UNLINK', KEYS[4]) end
  return 1
end
`;

const SCRIPTS = {
  /** ARGV id, record, state, creation, max or '', number of newest to keep or ''. */
  add: loadScript(`${CHANGED}
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 'there' end
local size = redis.call('HLEN', KEYS[1])
if ARGV[5] ~= '' and size >= tonumber(ARGV[5]) then return 'full' end
local outdated = {}
if ARGV[6] ~= '' and size >= tonumber(ARGV[6]) then outdated = redis.call('ZRANGE', KEYS[2], 0, size - tonumber(ARGV[6])) end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
moved(ARGV[1], nil, ARGV[3], ARGV[4])
for _, id in ipairs(outdated) do removed(id) end
return 'added'`),

  /** ARGV id, state before, value before, record, state, creation. */
  replace: loadScript(`${CHANGED}
local json = redis.call('HGET', KEYS[1], ARGV[1])
if not json then return 0 end
local before = cjson.decode(json)
if before.state ~= ARGV[2] or before.value ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[4])
moved(ARGV[1], ARGV[2], ARGV[5], ARGV[6])
return 1`),

  /** ARGV id. */
  remove: loadScript(`${CHANGED}
return removed(ARGV[1])`),

  clear: loadScript(`
for _, state in ipairs(redis.call('HKEYS', KEYS[3])) do redis.call('UNLINK', KEYS[2] .. ':' .. state) end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
return 1`),
};

/** Lists of small records, in Redis. */
export class RedisEntries extends RedisPart implements EntryStore {
  add: EntryStore['add'] = async (list, entry, options = {}) => {
    const limits = [`${options.max ?? ''}`, `${options.keepNewest ?? ''}`];
    const args = [entry.id, JSON.stringify(entry), entry.state, `${entry.createdAt}`, ...limits];
    return z.enum(['added', 'there', 'full']).parse(await this.#run('add', list, args));
  };

  get: EntryStore['get'] = async (list, id) =>
    readRecord(entryRecord, await this.command('HGET', this.keys.entries(list).names[0], id));

  replace: EntryStore['replace'] = async (list, entry, { before }) => {
    const kept = { ...entry, createdAt: before.createdAt };
    const args = [entry.id, before.state, before.value, JSON.stringify(kept), entry.state, `${before.createdAt}`];
    return (await this.#run('replace', list, args)) === 1;
  };

  remove: EntryStore['remove'] = async (list, id) => (await this.#run('remove', list, [id])) === 1;

  page: EntryStore['page'] = async (list, { limit, order, after, state }) => {
    const [records, all] = this.keys.entries(list).names;
    const ids = state === undefined ? all : `${all}:${state}`;
    const from = await rankBehind(this.redis, { ids, order }, after);
    const { found, hasMore } = await readRecords(this.redis, { schema: entryRecord, records, ids, order, from, limit });
    return { entries: found, hasMore };
  };

  counts: EntryStore['counts'] = async (list) => {
    const counts = pairsOf(await this.command('HGETALL', this.keys.entries(list).names[2]));
    return Object.fromEntries(counts.map(([state, count]) => [state, Number(count)]));
  };

  clear: EntryStore['clear'] = async (list) => void (await this.#run('clear', list, []));

  revision: EntryStore['revision'] = async (list) =>
    Number(maybeText.parse(await this.command('GET', this.keys.entries(list).names[3])) ?? 0);

  async #run(name: keyof typeof SCRIPTS, list: string, args: readonly string[]): Promise<unknown> {
    const { names, tag } = this.keys.entries(list);
    const result = await this.script(SCRIPTS[name], names, args);
    await this.waitForReplicas(tag);
    return result;
  }
}
