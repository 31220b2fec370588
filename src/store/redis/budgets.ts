import { z } from 'zod';
import type { CounterWindow, LimitBudget, ReservationResult } from '../limit-store.ts';
import type { RedisParts } from './part.ts';
import { numberReply, textList } from './replies.ts';
import { loadScript, NOW } from './scripts.ts';

/**
 * KEYS used points, holds. ARGV milliseconds of the window, id. A hold is `<points>:<spent>:<until>`; fields that begin
 * with a space are the sum of all holds, their number, and when the first one expires. By the clock of Redis.
 */
const HOLDS = `${NOW}
local now = timeOf('')
local windowMs, id = tonumber(ARGV[1]), ARGV[2]
local function left()
  local ms = redis.call('PTTL', KEYS[1])
  return ms < 0 and windowMs or ms
end
local function used() return tonumber(redis.call('GET', KEYS[1]) or '0') + tonumber(redis.call('HGET', KEYS[2], ' points') or '0') end
local function add(points)
  if points <= 0 then return end
  redis.call('INCRBY', KEYS[1], whole(points))
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], whole(windowMs)) end
end
local function parts(hold)
  local points, spent, ends = string.match(hold, '^(%d+):(%d+):(%d+)$')
  return tonumber(points), tonumber(spent), tonumber(ends)
end
local function drop(which)
  local hold = redis.call('HGET', KEYS[2], which)
  if not hold then return nil end
  local points, spent = parts(hold)
  redis.call('HDEL', KEYS[2], which)
  redis.call('HINCRBY', KEYS[2], ' points', whole(-math.max(points, spent)))
  if redis.call('HINCRBY', KEYS[2], ' count', -1) <= 0 then redis.call('DEL', KEYS[2]) end
  return spent, points
end
local function put(points, spent, ttlMs)
  drop(id)
  redis.call('HSET', KEYS[2], id, whole(points) .. ':' .. whole(spent) .. ':' .. whole(now + ttlMs))
  redis.call('HINCRBY', KEYS[2], ' points', whole(math.max(points, spent)))
  redis.call('HINCRBY', KEYS[2], ' count', 1)
  local soonest = tonumber(redis.call('HGET', KEYS[2], ' soonest') or 'inf')
  if now + ttlMs < soonest then redis.call('HSET', KEYS[2], ' soonest', whole(now + ttlMs)) end
  if redis.call('PTTL', KEYS[2]) < ttlMs + windowMs then redis.call('PEXPIRE', KEYS[2], whole(ttlMs + windowMs)) end
end
local function sweep()
  if tonumber(redis.call('HGET', KEYS[2], ' soonest') or 'inf') > now then return end
  local all = redis.call('HGETALL', KEYS[2])
  local soonest
  for at = 1, #all, 2 do
    if string.sub(all[at], 1, 1) ~= ' ' then
      local _, _, ends = parts(all[at + 1])
      if ends <= now then add(drop(all[at])) elseif not soonest or ends < soonest then soonest = ends end
    end
  end
  if soonest then redis.call('HSET', KEYS[2], ' soonest', whole(soonest)) end
end
sweep()
`;

/** Further ARGV points, limit, milliseconds until the hold expires. */
const RESERVE = loadScript(`${HOLDS}
local points, limit, ttlMs = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local hold = redis.call('HGET', KEYS[2], id)
local heldPoints, spent = 0, 0
if hold then heldPoints, spent = parts(hold) end
local others = tonumber(redis.call('HGET', KEYS[2], ' count') or '0') - (hold and 1 or 0) > 0
local before = used() - (hold and math.max(heldPoints, spent) or 0)
local granted = before + points <= limit or (not others and before < limit)
if granted then put(points, spent, ttlMs) end
return {granted and 1 or 0, used(), left(), others and 1 or 0}`);

/** Further ARGV points spent, milliseconds until the hold expires. */
const NOTE = loadScript(`${HOLDS}
local hold = redis.call('HGET', KEYS[2], id)
if not hold then return 0 end
put((parts(hold)), tonumber(ARGV[3]), tonumber(ARGV[4]))
return 1`);

/** Further ARGV points spent, or '' for what was last noted. */
const SETTLE = loadScript(`${HOLDS}
local spent = drop(id)
if not spent then return 0 end
if ARGV[3] ~= '' then spent = tonumber(ARGV[3]) end
add(spent)
return 1`);

const USED = loadScript(`${HOLDS} return {used(), left()}`);

const reserveReply = z.tuple([z.literal([0, 1]), z.number(), z.number(), z.literal([0, 1])]);
const usedReply = z.tuple([z.number(), z.number()]);

/** A budget in Redis. `settleIfHeld` is `settle`, and returns whether the id held something. */
export interface RedisBudget extends LimitBudget {
  settleIfHeld(...args: Parameters<LimitBudget['settle']>): Promise<boolean>;
}

export function redisBudget(
  { redis, keys }: Pick<RedisParts, 'redis' | 'keys'>,
  { name, windowSeconds }: CounterWindow,
): RedisBudget {
  const run = (script: typeof RESERVE, key: string, args: readonly string[]) =>
    redis.script(script, [keys.limit(name, key), keys.holds(name, key)], [`${windowSeconds * 1000}`, ...args]);
  return {
    async reserve(key, id, { points, limit, ttlMs }): Promise<ReservationResult> {
      const maxPoints = Math.min(limit, Number.MAX_SAFE_INTEGER);
      const reply = reserveReply.parse(await run(RESERVE, key, [id, `${points}`, `${maxPoints}`, `${ttlMs}`]));
      return { granted: reply[0] === 1, used: reply[1], resetMs: reply[2], others: reply[3] === 1 };
    },
    async note(key, id, { spent, ttlMs }) {
      await run(NOTE, key, [id, `${spent}`, `${ttlMs}`]);
    },
    async settle(...args) {
      await this.settleIfHeld(...args);
    },
    async settleIfHeld(key, id, { spent }) {
      return numberReply.parse(await run(SETTLE, key, [id, spent === undefined ? '' : `${spent}`])) === 1;
    },
    async used(key) {
      const [used, resetMs] = usedReply.parse(await run(USED, key, ['']));
      return { used, resetMs };
    },
    async holders(key) {
      const fields = textList.parse(await redis.command(['HKEYS', keys.holds(name, key)]));
      return fields.filter((field) => !field.startsWith(' '));
    },
  };
}
