import { createHash } from 'node:crypto';
import type { Script } from './connection/connection.ts';
import { FACT_FIELDS, LOG_FIELDS } from './replies.ts';

/**
 * Each script touches the keys of one run only (they share the hash tag `{id}`, so a cluster keeps them together). All
 * checks come before all writes, and the first write is one that Redis refuses when it is out of memory, so a refused
 * script has written nothing.
 *
 * Fields of the hash of a run: those of `RunRecord`, with null as empty text; `token` and `until` of the current claim
 * (kept after the end, to recognise a retry of the owner), `claims`, `attempts`, `entries` of the transcript, `sealed`;
 * if the submission has keys, `keys` (JSON) and `keyedUntil`, when the last idempotency key ends; `endedByStore`, the
 * end by the clock of the store; if events are hidden until replicas have them, `shown`, the last visible one.
 *
 * An empty "now" is the time of Redis, so instances whose clocks differ agree. `PUBLISH_LIVE` publishes to the channel
 * of a run: in a cluster that channel belongs to the slot of the run, and its messages do not go to all nodes.
 */
export const NOW = `
local function timeOf(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end
local function whole(n) return string.format('%.0f', n) end
`;
/** Longest lease, in milliseconds: a claim that seems longer was made before the clock of Redis went back. */
const MAX_LEASE_MS = 60_000;
const FACTS = FACT_FIELDS.map((field) => `'${field}'`).join(', ');
const LOG = LOG_FIELDS.map((field) => `'${field}'`).join(', ');

/** The scripts of the run store. */
export const SCRIPTS = {
  /**
   * KEYS run, log, tombstone, transcript. ARGV changes channel, id, number of frames, frames, now, keys, milliseconds
   * that the longest idempotency key holds or '', milliseconds of the lease if it is created as claimed or '', number of
   * transcript entries, these, then fields and values of the record. Returns 1 if created, or the end of the lease; 0 if
   * it exists; -1 if it must not be created.
   */
  create: loadScript(`${NOW}
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if redis.call('EXISTS', KEYS[3]) == 1 then return -1 end
local entries = tonumber(ARGV[9])
redis.call('HSET', KEYS[1], unpack(ARGV, 10 + entries))
if ARGV[6] ~= '' then redis.call('HSET', KEYS[1], 'keys', ARGV[6]) end
if ARGV[7] ~= '' then redis.call('HSET', KEYS[1], 'keyedUntil', whole(timeOf(ARGV[5]) + tonumber(ARGV[7]))) end
redis.call('DEL', KEYS[2])
if entries > 0 then redis.call('DEL', KEYS[4]) end
for i = 10, 9 + entries do redis.call('RPUSH', KEYS[4], ARGV[i]) end
if ARGV[3] ~= '0' then redis.call('XADD', KEYS[2], ARGV[3] .. '-0', 'f', '1', 'd', ARGV[4]) end
if ARGV[8] ~= '' then
  local ends = whole(timeOf(ARGV[5]) + tonumber(ARGV[8]))
  redis.call('HSET', KEYS[1], 'until', ends)
  return ends
end
redis.call('PUBLISH', ARGV[1], 'claimable ' .. ARGV[2])
return 1`),

  /**
   * KEYS run. ARGV now, milliseconds of the lease, 1 for force, random part of the token. A claim that ends later than
   * any can was made before the clock went back: it now ends a lease from now, and a living owner renews it.
   */
  claim: loadScript(`${NOW}
local r = redis.call('HMGET', KEYS[1], 'status', 'token', 'until', 'claims', 'attempts', 'startedAt', 'cancelRequested')
if not r[1] then return {'missing'} end
if r[1] ~= 'queued' and r[1] ~= 'in_progress' then return {'ended'} end
local now = timeOf(ARGV[1])
local ends = whole(now + tonumber(ARGV[2]))
if ARGV[3] ~= '1' and r[2] ~= '' and tonumber(r[3]) > now then
  if tonumber(r[3]) <= now + ${MAX_LEASE_MS} then return {'held', r[3]} end
  redis.call('HSET', KEYS[1], 'until', ends)
  return {'held', ends}
end
local claims = tonumber(r[4]) + 1
local attempts = tonumber(r[5]) + 1
local token = claims .. '-' .. ARGV[4]
local started = r[6]
if started == '' and r[7] ~= '1' then started = whole(now) end
redis.call('HSET', KEYS[1], 'status', 'in_progress', 'token', token, 'until', ends, 'claims', claims,
  'attempts', attempts, 'startedAt', started)
return {'claimed', token, attempts, redis.call('HGETALL', KEYS[1]), ends}`),

  /** KEYS run. ARGV token, now, milliseconds of the lease. */
  renew: loadScript(`${NOW}
local r = redis.call('HMGET', KEYS[1], 'status', 'token', 'cancelRequested')
if r[1] ~= 'in_progress' or r[2] ~= ARGV[1] then return {'fenced'} end
local ends = whole(timeOf(ARGV[2]) + tonumber(ARGV[3]))
redis.call('HSET', KEYS[1], 'until', ends)
return {'ok', tonumber(r[3]), ends}`),

  /**
   * KEYS run. ARGV token, changes channel, id, the claim's number, 1 if nobody got it, else 0. A claim that was lost to a
   * later one is no longer counted; the last one may be released again, because an answer was lost.
   */
  release: loadScript(`${NOW}
local r = redis.call('HMGET', KEYS[1], 'status', 'token', 'attempts', 'claims')
if r[1] ~= 'in_progress' then return 0 end
local attempts = tonumber(r[3])
if r[2] ~= ARGV[1] then
  local number, claims = tonumber(ARGV[4]), tonumber(r[4])
  if number < claims and number > claims - attempts then redis.call('HSET', KEYS[1], 'attempts', attempts - 1) end
  return 0
end
if attempts > 0 then attempts = attempts - 1 end
local claims = whole(tonumber(r[4]) - tonumber(ARGV[5]))
redis.call('HSET', KEYS[1], 'token', '', 'until', '0', 'attempts', attempts, 'claims', claims)
redis.call('PUBLISH', ARGV[2], 'claimable ' .. ARGV[3])
return 1`),

  /**
   * KEYS run, log, transcript. ARGV token, first, count, frames, channel or '' for no message, its header; these may be
   * all. Then entries before or -1, 1 for progress, status of the end or '', its time, milliseconds until removal,
   * milliseconds until Redis expires it, now, list fields or '', and transcript entries.
   */
  append: loadScript(`${NOW}
local r = redis.call('HMGET', KEYS[1], 'status', 'token', 'last', 'cancelRequested', 'entries', 'attempts')
if not r[1] then return {'missing'} end
local open = r[1] == 'queued' or r[1] == 'in_progress'
if r[2] == '' or r[2] ~= ARGV[1] then return {open and 'fenced' or 'closed'} end
local first, count, last, cancel = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(r[3]), tonumber(r[4])
local steps, entries, before = math.max(0, #ARGV - 14), tonumber(r[5]), tonumber(ARGV[7] or -1)
if count > 0 then
  if first + count - 1 <= last then return {'duplicate', last, cancel} end
elseif open and steps > 0 and before >= 0 and before + steps <= entries then
  return {'duplicate', last, cancel}
end
if not open then return {'closed'} end
if first ~= last + 1 or before > entries then return {'gap', last} end
local ending = (ARGV[9] or '') ~= ''
if ending and cancel == 1 and ARGV[9] ~= 'cancelled' then return {'cancelled', last} end

last = last + count
local set = {'last', last}
if steps > 0 then
  set[3], set[4] = 'entries', entries + steps
  if ARGV[8] == '1' and r[6] ~= '0' then set[5], set[6] = 'attempts', 0 end
end
if ending then
  local n = #set
  set[n + 1], set[n + 2], set[n + 3], set[n + 4] = 'status', ARGV[9], 'endedAt', ARGV[10]
  local now = timeOf(ARGV[13])
  set[n + 5], set[n + 6], set[n + 7], set[n + 8] = 'expiresAt', whole(now + tonumber(ARGV[11])), 'attempts', 0
  set[n + 9], set[n + 10] = 'endedByStore', whole(now)
  if ARGV[14] ~= '' then set[n + 11], set[n + 12] = 'listed', ARGV[14] end
end
redis.call('HSET', KEYS[1], unpack(set))
if count > 0 then
  if ending then
    redis.call('XADD', KEYS[2], last .. '-0', 'f', ARGV[2], 'd', ARGV[4], 'e', '1')
  else
    redis.call('XADD', KEYS[2], last .. '-0', 'f', ARGV[2], 'd', ARGV[4])
  end
end
for i = 15, #ARGV do redis.call('RPUSH', KEYS[3], ARGV[i]) end
if ending then for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[12]) end end
if count > 0 and ARGV[5] ~= '' then redis.call('PUBLISH_LIVE', ARGV[5], ARGV[6] .. ARGV[4]) end
if not ending then return {'ok', last, cancel} end
return {'ok', last, cancel, redis.call('HMGET', KEYS[1], ${FACTS})}`),

  /**
   * KEYS run. ARGV last event that replicas have, or '' for all; channel, and message or ''. Makes everything up to
   * that event visible. Returns 0 if this server has no such run, or not all of these events.
   */
  makeVisible: loadScript(`
local last = redis.call('HGET', KEYS[1], 'last')
if not last then return 0 end
if ARGV[1] ~= '' then
  if tonumber(ARGV[1]) > tonumber(last) then return 0 end
  last = ARGV[1]
end
local shown = tonumber(redis.call('HGET', KEYS[1], 'shown') or '0')
if tonumber(last) > shown then redis.call('HSET', KEYS[1], 'shown', last) end
if ARGV[3] ~= '' then redis.call('PUBLISH_LIVE', ARGV[2], ARGV[3]) end
return 1`),

  /**
   * KEYS run, log. ARGV 1 if readers see only what replicas have. Returns the state of the log (`LOG_FIELDS`) and its
   * last visible entry, read in one step.
   */
  readLast: loadScript(`
local r = redis.call('HMGET', KEYS[1], ${LOG})
local seen = r[1] or '0'
if ARGV[1] == '1' and r[3] and tonumber(r[3]) < tonumber(seen) then seen = r[3] end
return {r, redis.call('XREVRANGE', KEYS[2], seen .. '-0', '-', 'COUNT', '1')}`),

  /** KEYS run. ARGV changes channel, id. */
  cancel: loadScript(`
local status = redis.call('HGET', KEYS[1], 'status')
if not status then return {'missing'} end
if status ~= 'queued' and status ~= 'in_progress' then return {'ended', status} end
redis.call('HSET', KEYS[1], 'cancelRequested', '1')
redis.call('PUBLISH', ARGV[1], 'cancel ' .. ARGV[2])
return {'accepted'}`),

  /**
   * KEYS run, log, transcript, compressed log, tombstone. ARGV channel, message, now, milliseconds for which an owner
   * must not create the run again: of an open run, or of one that ended so recently that a frozen owner may not know.
   */
  delete: loadScript(`${NOW}
local facts = redis.call('HMGET', KEYS[1], ${FACTS})
local keyed = redis.call('HGET', KEYS[1], 'keyedUntil')
local ended = redis.call('HGET', KEYS[1], 'endedByStore')
redis.call('UNLINK', unpack(KEYS, 1, 4))
if not facts[1] then return facts end
local left = keyed and tonumber(keyed) - timeOf(ARGV[3]) or 0
local again = tonumber(ARGV[4]) - (ended and ended ~= '' and timeOf(ARGV[3]) - tonumber(ended) or 0)
if left < again then left = again end
if left > 0 then redis.call('SET', KEYS[5], 'deleted', 'PX', whole(left)) end
redis.call('PUBLISH_LIVE', ARGV[1], ARGV[2])
return facts`),

  /** KEYS sorted set by time. ARGV now, milliseconds, limit. Members whose time was that long ago, oldest first. */
  due: loadScript(`${NOW}
local limit = whole(timeOf(ARGV[1]) - tonumber(ARGV[2]))
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', limit, 'WITHSCORES', 'LIMIT', 0, ARGV[3])`),

  /** KEYS claimed runs. ARGV now, limit. Runs whose claim has expired or ends later than any can. */
  abandoned: loadScript(`${NOW}
local now = timeOf(ARGV[1])
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', whole(now), 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local late = '(' .. whole(now + ${MAX_LEASE_MS})
for _, part in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], late, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])) do
  table.insert(found, part)
end
return found`),

  /** KEYS run, log, compressed log. ARGV compressed log. */
  compress: loadScript(`
local r = redis.call('HMGET', KEYS[1], 'sealed', 'endedAt')
if not r[1] or r[1] == '1' or r[2] == '' then return 0 end
redis.call('SET', KEYS[3], ARGV[1])
redis.call('HSET', KEYS[1], 'sealed', '1')
redis.call('UNLINK', KEYS[2])
local left = redis.call('PTTL', KEYS[1])
if left > 0 then redis.call('PEXPIRE', KEYS[3], left) end
return 1`),

  /**
   * KEYS key. ARGV now, run, fingerprint, milliseconds that the key holds, milliseconds until Redis expires it, the run
   * that may be replaced or ''. Returns the holder: this run or an earlier one.
   */
  takeKey: loadScript(`${NOW}
local now = timeOf(ARGV[1])
local r = redis.call('HMGET', KEYS[1], 'runId', 'fingerprint', 'until')
local free = not r[1] or r[1] == ARGV[6] or (r[3] ~= '' and tonumber(r[3]) <= now)
if not free then return {r[1], r[2]} end
local ends = ''
if ARGV[4] ~= '' then ends = whole(now + tonumber(ARGV[4])) end
redis.call('HSET', KEYS[1], 'runId', ARGV[2], 'fingerprint', ARGV[3], 'until', ends)
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return {ARGV[2], ARGV[3]}`),

  /** KEYS order, runs. ARGV run, member. Enters a run that waits for its turn. */
  wait: loadScript(`
if redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2]) == 1 then redis.call('ZADD', KEYS[1], '0', ARGV[2]) end
return 1`),

  /** KEYS order, runs. ARGV run. Removes a run from those that wait. */
  unwait: loadScript(`
local member = redis.call('HGET', KEYS[2], ARGV[1])
if not member then return 0 end
redis.call('ZREM', KEYS[1], member)
return redis.call('HDEL', KEYS[2], ARGV[1])`),

  /**
   * KEYS order, runs, turn. Removes and returns the first run of the next key, or nothing. Members are the name of a
   * key, a space, a position and the run; '!' follows the space, so no member of a key sorts after its name with '!'.
   */
  nextTurn: loadScript(`
local last = redis.call('GET', KEYS[3])
local found = last and redis.call('ZRANGEBYLEX', KEYS[1], '[' .. last .. '!', '+', 'LIMIT', '0', '1') or {}
if not found[1] then found = redis.call('ZRANGE', KEYS[1], '0', '0') end
if not found[1] then return false end
local key, run = string.match(found[1], '^(%S+) %S+ (%S+)$')
redis.call('SET', KEYS[3], key)
redis.call('ZREM', KEYS[1], found[1])
redis.call('HDEL', KEYS[2], run)
return run`),

  /** KEYS key. ARGV now. The holder, or nothing. */
  findKey: loadScript(`${NOW}
local r = redis.call('HMGET', KEYS[1], 'runId', 'fingerprint', 'until')
if not r[1] or (r[3] ~= '' and tonumber(r[3]) <= timeOf(ARGV[1])) then return false end
return {r[1], r[2]}`),

  /** KEYS key. ARGV run, milliseconds until a key of this run expires; 0 removes it. */
  releaseKey: loadScript(`
if redis.call('HGET', KEYS[1], 'runId') ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then return redis.call('UNLINK', KEYS[1]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`),

  /**
   * KEYS run, tombstone. ARGV now, milliseconds that a key holds after the end or '', milliseconds for which a missing
   * run is kept from being created, or 0. Returns the state of the run of a key: 'held' with its record, 'over',
   * 'deleted', 'missing'.
   */
  keyRun: loadScript(`${NOW}
local r = redis.call('HMGET', KEYS[1], 'status', 'endedAt', 'endedByStore')
if not r[1] then
  if redis.call('GET', KEYS[2]) == 'deleted' then return {'deleted'} end
  if ARGV[3] ~= '0' then redis.call('SET', KEYS[2], 'replaced', 'PX', ARGV[3]) end
  return {'missing'}
end
local open = r[1] == 'queued' or r[1] == 'in_progress'
if not open and ARGV[2] ~= '' and timeOf(ARGV[1]) >= tonumber(r[3] or r[2]) + tonumber(ARGV[2]) then return {'over'} end
return {'held', redis.call('HGETALL', KEYS[1])}`),
} as const satisfies Record<string, Script>;

/** A script with its digests, for one server and for a cluster. */
export function loadScript(text: string): Script {
  return {
    plain: withDigest(text.replaceAll('PUBLISH_LIVE', 'PUBLISH')),
    sharded: withDigest(text.replaceAll('PUBLISH_LIVE', 'SPUBLISH')),
  };
}

function withDigest(source: string) {
  return { source, digest: createHash('sha1').update(source).digest('hex') };
}
