import { z } from 'zod';
import {
  bytesOf,
  type ConversationItem,
  type ConversationRecord,
  type ConversationStore,
} from '../../side-stores/conversation-store.ts';
import { RedisPart } from '../part.ts';
import { maybeText, pairsOf } from '../replies.ts';
import { loadScript, NOW } from '../scripts.ts';

/**
 * Each script gets the three keys of one conversation (`RedisKeys.conversation`), which share a slot. Fields of the
 * hash: `user`, `createdAt`, `metadata`, `items` and `bytes` (count and size of the items), `version` (also the
 * position of the item that is added next), `holder` and `heldSince` (`holder` is empty if no run holds it). Redis
 * expires it by itself.
 */
const PARTS = `${NOW}
local function keep(ms)
  for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ms) end
end
local function add(from)
  for i = from, #ARGV, 2 do
    if redis.call('HSETNX', KEYS[2], ARGV[i], ARGV[i + 1]) == 1 then
      redis.call('ZADD', KEYS[3], redis.call('HINCRBY', KEYS[1], 'version', 1), ARGV[i])
      redis.call('HINCRBY', KEYS[1], 'items', 1)
      redis.call('HINCRBY', KEYS[1], 'bytes', #ARGV[i + 1])
    end
  end
end
`;

const SCRIPTS = {
  /** ARGV milliseconds to keep, user, creation, metadata, items. */
  create: loadScript(`${PARTS}
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'user', ARGV[2], 'createdAt', ARGV[3], 'metadata', ARGV[4], 'items', '0', 'bytes', '0',
  'version', '0', 'holder', '', 'heldSince', '0')
add(5)
keep(ARGV[1])
return 1`),

  /** ARGV now. */
  get: loadScript(`${PARTS}
local r = redis.call('HMGET', KEYS[1], 'user', 'createdAt', 'metadata', 'items', 'bytes', 'version', 'holder', 'heldSince')
if not r[1] then return false end
r[8] = whole(timeOf(ARGV[1]) - tonumber(r[8]))
return r`),

  /** ARGV milliseconds to keep, metadata. */
  setMetadata: loadScript(`${PARTS}
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'metadata', ARGV[2])
keep(ARGV[1])
return 1`),

  /** ARGV milliseconds to keep, max items, max bytes, bytes of these items, items. */
  add: loadScript(`${PARTS}
local r = redis.call('HMGET', KEYS[1], 'items', 'bytes')
if not r[1] then return 'missing' end
local isFull = tonumber(r[1]) + (#ARGV - 4) / 2 > tonumber(ARGV[2]) or tonumber(r[2]) + tonumber(ARGV[4]) > tonumber(ARGV[3])
if isFull then return 'full' end
add(5)
keep(ARGV[1])
return 'added'`),

  /** ARGV milliseconds to keep, now, run, version. */
  hold: loadScript(`${PARTS}
local r = redis.call('HMGET', KEYS[1], 'holder', 'heldSince', 'version')
if not r[1] then return {'missing'} end
local now = timeOf(ARGV[2])
if r[1] ~= '' and r[1] ~= ARGV[3] then return {'busy', r[1], whole(now - tonumber(r[2]))} end
if r[1] == '' and r[3] ~= ARGV[4] then return {'changed'} end
redis.call('HSET', KEYS[1], 'holder', ARGV[3], 'heldSince', whole(now))
keep(ARGV[1])
return {'held'}`),

  /** ARGV milliseconds to keep, run, items. */
  finish: loadScript(`${PARTS}
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'holder', '', 'heldSince', '0')
add(3)
keep(ARGV[1])
return 1`),

  /** ARGV 1 for the newest first, limit, id of the item before the page or '', its place if it was removed or ''. */
  items: loadScript(`
local newest = ARGV[1] == '1'
local place = ARGV[4]
if ARGV[3] ~= '' then
  place = redis.call('ZSCORE', KEYS[3], ARGV[3])
  if not place then return false end
end
local from = place ~= '' and '(' .. place or newest and '+inf' or '-inf'
local ids = redis.call(newest and 'ZREVRANGEBYSCORE' or 'ZRANGEBYSCORE', KEYS[3], from, newest and '-inf' or '+inf',
  'LIMIT', 0, ARGV[2])
local found = {}
for _, id in ipairs(ids) do
  found[#found + 1] = id
  found[#found + 1] = redis.call('HGET', KEYS[2], id)
end
return found`),

  /** ARGV milliseconds to keep, id of the item. */
  removeItem: loadScript(`${PARTS}
local item = redis.call('HGET', KEYS[2], ARGV[2])
if not item then return 0 end
redis.call('HDEL', KEYS[2], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[2])
redis.call('HINCRBY', KEYS[1], 'items', -1)
redis.call('HINCRBY', KEYS[1], 'version', 1)
redis.call('HINCRBY', KEYS[1], 'bytes', -#item)
keep(ARGV[1])
return 1`),
};

const number = z
  .string()
  .regex(/^-?\d+$/)
  .transform(Number);
const recordReply = z.tuple([z.string(), number, z.string(), number, number, number, z.string(), number]).nullable();
const holdReply = z.union([
  z.tuple([z.enum(['held', 'missing', 'changed'])]),
  z.tuple([z.literal('busy'), z.string(), number]),
]);

export class RedisConversations extends RedisPart implements ConversationStore {
  create: ConversationStore['create'] = async ({ id, user, createdAt, metadata, items, keepMs }) => {
    await this.#write('create', id, [`${keepMs}`, user, `${createdAt}`, metadata, ...flat(items)]);
  };

  get: ConversationStore['get'] = async (id): Promise<ConversationRecord | undefined> => {
    const reply = recordReply.parse(await this.#ask('get', id, [this.now()]));
    if (!reply) return undefined;
    const [user, createdAt, metadata, items, bytes, version, run, heldMs] = reply;
    return { id, user, createdAt, metadata, items, bytes, version, holder: run === '' ? null : { run, heldMs } };
  };

  setMetadata: ConversationStore['setMetadata'] = async (id, metadata, { keepMs }) =>
    (await this.#write('setMetadata', id, [`${keepMs}`, metadata])) === 1;

  delete: ConversationStore['delete'] = async (id) => {
    const removed = await this.command('UNLINK', ...this.keys.conversation(id));
    await this.waitForReplicas(id);
    return removed !== 0;
  };

  add: ConversationStore['add'] = async (id, items, options) => {
    const bounds = [options.keepMs, options.max.items, options.max.bytes, bytesOf(items)].map(String);
    return z.enum(['added', 'missing', 'full']).parse(await this.#write('add', id, [...bounds, ...flat(items)]));
  };

  hold: ConversationStore['hold'] = async (id, run, { keepMs, version }) => {
    const args = [`${keepMs}`, this.now(), run, `${version}`];
    const reply = holdReply.parse(await this.#write('hold', id, args));
    return reply[0] === 'busy' ? { run: reply[1], heldMs: reply[2] } : reply[0];
  };

  finish: ConversationStore['finish'] = async (id, run, items, { keepMs }) =>
    (await this.#write('finish', id, [`${keepMs}`, run, ...flat(items)])) === 1;

  items: ConversationStore['items'] = async (id, { limit, order, after = '' }) => {
    const cursor = typeof after === 'string' ? [after, ''] : ['', `${after}`];
    const reply = await this.#ask('items', id, [order === 'desc' ? '1' : '0', `${limit + 1}`, ...cursor]);
    if (reply === null) return 'unknown_cursor';
    const items = pairsOf(reply).map(([item, json]) => ({ id: item, json }));
    return { items: items.slice(0, limit), hasMore: items.length > limit };
  };

  item: ConversationStore['item'] = async (id, item) => {
    const [, values, order] = this.keys.conversation(id);
    const replies = await Promise.all([this.command('HGET', values, item), this.command('ZSCORE', order, item)]);
    const [json = null, place = null] = replies.map((reply) => maybeText.parse(reply));
    return json === null || place === null ? undefined : { id: item, json, place: Number(place) };
  };

  removeItem: ConversationStore['removeItem'] = async (id, item, { keepMs }) =>
    (await this.#write('removeItem', id, [`${keepMs}`, item])) === 1;

  /** Waits for replicas even if nothing changed: an earlier attempt may not have waited for them. */
  async #write(name: keyof typeof SCRIPTS, id: string, args: readonly string[]): Promise<unknown> {
    const reply = await this.#ask(name, id, args);
    await this.waitForReplicas(id);
    return reply;
  }

  #ask(name: keyof typeof SCRIPTS, id: string, args: readonly string[]): Promise<unknown> {
    return this.script(SCRIPTS[name], this.keys.conversation(id), args);
  }
}

function flat(items: readonly ConversationItem[]): string[] {
  return items.flatMap(({ id, json }) => [id, json]);
}
