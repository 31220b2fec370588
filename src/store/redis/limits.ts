import { z } from 'zod';
import { withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type {
  Awaitable,
  Counter,
  CounterWindow,
  LimitBudget,
  LimitHolder,
  LimitRelease,
  LimitStore,
  Slots,
} from '../limit-store.ts';
import { limitStore } from '../limits-of-parts.ts';
import { memoryLimits } from '../memory-limits.ts';
import { redisBudget } from './budgets.ts';
import { type OwedRelease, OwedReleases } from './owed-releases.ts';
import type { RedisParts } from './part.ts';
import { numberReply, textList } from './replies.ts';
import { loadScript, NOW } from './scripts.ts';

/** A limit is not worth waiting longer for, in milliseconds. */
const WAIT_MS = 500;

/** KEYS counter. ARGV points, limit, window in milliseconds. Nothing is taken where refused. */
const TAKE_POINTS = loadScript(`
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
local granted = used + tonumber(ARGV[1]) <= tonumber(ARGV[2])
if granted then
  used = redis.call('INCRBY', KEYS[1], ARGV[1])
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
end
local left = redis.call('PTTL', KEYS[1])
if left < 0 then left = tonumber(ARGV[3]) end
return {granted and 1 or 0, used, left}`);

/** KEYS counter. ARGV points. The window that they were taken in may be over. */
const GIVE_BACK = loadScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('DECRBY', KEYS[1], ARGV[1]) < 0 then redis.call('SET', KEYS[1], '0', 'KEEPTTL') end
return 1`);

/** KEYS places. ARGV id, limit, milliseconds that the place is held. By the clock of Redis, which all instances share. */
const TAKE_PLACE = loadScript(`${NOW}
local now = timeOf('')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', whole(now))
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], whole(now + tonumber(ARGV[3])), ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1`);

/** KEYS places. */
const COUNT_PLACES = loadScript(`${NOW}
return redis.call('ZCOUNT', KEYS[1], '(' .. whole(timeOf('')), '+inf')`);

const takeReply = z.tuple([z.literal([0, 1]), z.number(), z.number()]);

type Parts = Pick<RedisParts, 'redis' | 'keys'>;

/**
 * Limits that instances share: more instances do not multiply them. While Redis is away each instance counts for
 * itself, from nothing: a limit that is too generous for a while is better than a gateway that refuses everything. What
 * Redis had counted and ended meanwhile is given back when it is there again.
 */
export function redisLimits(parts: Parts & { log: Logger; now(): number }): LimitStore {
  const { redis, log, now } = parts;
  const alone = memoryLimits(now);
  const shared = async <T>(ask: () => Awaitable<T>, instead: () => Awaitable<T>): Promise<T> => {
    try {
      return await withTimeout('counting', WAIT_MS, async () => await ask());
    } catch (thrown) {
      log.debug({ reason: messageOf(thrown) }, 'limits are counted by this instance alone');
      return await instead();
    }
  };
  /** A method of what Redis counts, and while it is away of what this instance counts. */
  const either =
    <T, A extends unknown[], R>(there: T, here: T, method: (of: T) => (...args: A) => Awaitable<R>) =>
    (...args: A): Promise<R> =>
      shared(
        () => method(there).apply(there, args),
        () => method(here).apply(here, args),
      );
  /** The method of both, for what was taken here or there. */
  const both =
    <T, A extends unknown[]>(there: T, here: T, method: (of: T) => (...args: A) => Awaitable<void>) =>
    async (...args: A): Promise<void> => {
      await method(here).apply(here, args);
      await shared(
        () => method(there).apply(there, args),
        () => {},
      );
    };
  const owed = new OwedReleases((entry) => giveBack(parts, entry, { repeated: true }));
  redis.onReady(() => void owed.repeatAll());
  const store = limitStore({
    counter(window): Counter {
      const [there, here] = [redisCounter(parts, window), alone.counter(window)];
      return { take: either(there, here, (of) => of.take), giveBack: either(there, here, (of) => of.giveBack) };
    },
    slots({ name }): Slots {
      const [there, here] = [redisSlots(parts, { name, now }), alone.slots({ name })];
      return {
        take: either(there, here, (of) => of.take),
        release: both(there, here, (of) => of.release),
        count: either(there, here, (of) => of.count),
        holders: either(there, here, (of) => of.holders),
      };
    },
    budget(window): LimitBudget {
      const [there, here] = [redisBudget(parts, window), alone.budget(window)];
      return {
        reserve: either(there, here, (of) => of.reserve),
        note: both(there, here, (of) => of.note),
        settle: both(there, here, (of) => of.settle),
        used: either(there, here, (of) => of.used),
      };
    },
  });
  return {
    ...store,
    async giveBack(holder, releases) {
      // It was taken here or there.
      await alone.giveBack(holder, releases);
      return await shared(
        async () => {
          await giveBack(parts, { holder, releases }, { repeated: false });
          // A connection that was never lost does not tell that Redis answers again.
          void owed.repeatAll();
          return true;
        },
        () => {
          owed.add({ holder, releases });
          return false;
        },
      );
    },
  };
}

function redisCounter({ redis, keys }: Parts, { name, windowSeconds }: CounterWindow): Counter {
  return {
    async take(key, points, { limit, force = false }) {
      const most = force ? Number.MAX_SAFE_INTEGER : limit;
      const args = [`${points}`, `${most}`, `${windowSeconds * 1000}`];
      const reply = takeReply.parse(await redis.script(TAKE_POINTS, [keys.limit(name, key)], args));
      return { granted: reply[0] === 1, used: reply[1], resetMs: reply[2] };
    },
    async giveBack(key, points) {
      await redis.script(GIVE_BACK, [keys.limit(name, key)], [`${points}`]);
    },
  };
}

function redisSlots({ redis, keys }: Parts, { name, now }: { name: string; now(): number }): Slots {
  return {
    async take(key, id, { limit, ttlMs }) {
      const args = [id, `${Math.min(limit, Number.MAX_SAFE_INTEGER)}`, `${ttlMs}`];
      return (await redis.script(TAKE_PLACE, [keys.limit(name, key)], args)) === 1;
    },
    async release(key, id) {
      await redis.command(['ZREM', keys.limit(name, key), id]);
    },
    async count(key) {
      return numberReply.parse(await redis.script(COUNT_PLACES, [keys.limit(name, key)], []));
    },
    async holders(key) {
      return textList.parse(await redis.command(['ZRANGEBYSCORE', keys.limit(name, key), `(${now()}`, '+inf']));
    },
  };
}

/**
 * Gives back in Redis. What holds nothing is not given back, so that what Redis did without an answer is not done twice,
 * and what was counted by an instance alone is not given back here. Points that were taken at once are not repeated:
 * their windows are short.
 */
async function giveBack(
  parts: Parts,
  { holder, releases }: OwedRelease,
  { repeated }: { repeated: boolean },
): Promise<void> {
  const { id } = holder;
  for (const release of releases) {
    const { owner: key = holder.key } = release;
    if (release.kind === 'budget') await settle(parts, { key, id }, release);
    else if (release.kind === 'place') await parts.redis.command(['ZREM', parts.keys.limit(release.name, key), id]);
    else if (!repeated) await redisCounter(parts, release).giveBack(key, release.points);
  }
}

/** Where version 1 kept who had reserved points, which it counted as used. Its runs may end here. */
const EARLIER_RESERVATIONS: Readonly<Record<string, string>> = { tokens: 'reserved', costs: 'reserved-costs' };

async function settle(
  parts: Parts,
  { key, id }: LimitHolder,
  release: LimitRelease & { kind: 'budget' },
): Promise<void> {
  const { redis, keys } = parts;
  const { name, points, spent = points } = release;
  const earlier = EARLIER_RESERVATIONS[name];
  if ((await redisBudget(parts, release).settled(key, id, release)) || earlier === undefined) return;
  if ((await redis.command(['ZREM', keys.limit(earlier, key), id])) !== 1) return;
  await redis.script(GIVE_BACK, [keys.limit(name, key)], [`${points - spent}`]);
}
