import { z } from 'zod';
import { boundedCache } from '../../base/bounded-cache.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { composeLimitStore } from '../compose-limit-store.ts';
import { isStoreUnavailable } from '../failure.ts';
import type {
  Awaitable,
  Count,
  Counter,
  CounterWindow,
  LimitBudget,
  LimitHolder,
  LimitRelease,
  LimitStore,
  Slots,
} from '../limit-store.ts';
import { memoryLimits } from '../memory-limits.ts';
import { redisBudget } from './budgets.ts';
import { type OwedRelease, OwedReleases } from './owed-releases.ts';
import type { RedisParts } from './part.ts';
import { numberReply, textList } from './replies.ts';
import { loadScript, NOW } from './scripts.ts';

/** Reservations that are remembered because only this instance granted them; further ones are never counted in Redis. */
const MAX_ONLY_HERE = 10_000;
/** How long a reservation is entered in Redis before it is settled there, in milliseconds. */
const ENTERED_MS = 60_000;

/** KEYS counter. ARGV points, limit, milliseconds of the window. A refusal takes nothing. */
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

/** KEYS counter. ARGV points. Does nothing if the window has ended. */
const REFUND = loadScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('DECRBY', KEYS[1], ARGV[1]) < 0 then redis.call('SET', KEYS[1], '0', 'KEEPTTL') end
return 1`);

/** KEYS slots. ARGV id, limit, milliseconds until the slot expires. By the clock of Redis, which instances share. */
const TAKE_SLOT = loadScript(`${NOW}
local now = timeOf('')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', whole(now))
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], whole(now + tonumber(ARGV[3])), ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1`);

/** KEYS slots. */
const COUNT_SLOTS = loadScript(`${NOW}
return redis.call('ZCOUNT', KEYS[1], '(' .. whole(timeOf('')), '+inf')`);

const takeReply = z.tuple([z.literal([0, 1]), z.number(), z.number()]);

type Parts = Pick<RedisParts, 'redis' | 'keys'>;

/**
 * Limits that instances share, so more instances do not multiply them. While Redis is unavailable each instance counts
 * for itself, budgets from what Redis said last, the rest from zero: limits that are too generous for a while are better
 * than a gateway that refuses everything. When Redis is back, it gets what was used of budgets meanwhile, and what it had
 * counted and has ended is released.
 */
export function redisLimits(parts: Parts & { log: Logger; now(): number }): LimitStore {
  const { redis, log, now } = parts;
  const localLimits = memoryLimits(now);
  const orLocally = withFallback(log);
  /** Calls the method of the counter in Redis, or of the local one while Redis is unavailable. */
  const either =
    <T, A extends unknown[], R>(shared: T, local: T, method: (part: T) => (...args: A) => Awaitable<R>) =>
    (...args: A): Promise<R> =>
      orLocally(
        () => method(shared).apply(shared, args),
        () => method(local).apply(local, args),
      );
  /** Calls the method of both counters, because either may have granted the limit. */
  const both =
    <T, A extends unknown[]>(shared: T, local: T, method: (part: T) => (...args: A) => Awaitable<void>) =>
    async (...args: A): Promise<void> => {
      await method(local).apply(local, args);
      await orLocally(
        () => method(shared).apply(shared, args),
        () => {},
      );
    };
  /** Reservations that may be missing in Redis. */
  const onlyHere = boundedCache<true>(MAX_ONLY_HERE);
  const owed = new OwedReleases((entry) => releaseInRedis(parts, entry, { repeated: true }));
  redis.onReady(() => void owed.repeatAll());
  const store = composeLimitStore({
    counter(window): Counter {
      const [shared, local] = [redisCounter(parts, window), localLimits.counter(window)];
      return { take: either(shared, local, (part) => part.take), refund: either(shared, local, (part) => part.refund) };
    },
    slots({ name }): Slots {
      const [shared, local] = [redisSlots(parts, { name, now }), localLimits.slots({ name })];
      return {
        take: either(shared, local, (part) => part.take),
        release: both(shared, local, (part) => part.release),
        count: either(shared, local, (part) => part.count),
        holders: either(shared, local, (part) => part.holders),
      };
    },
    budget(window): LimitBudget {
      const shared: LimitBudget = redisBudget(parts, window);
      const local = localLimits.budget(window);
      const used = either<LimitBudget, [string], Count>(shared, local, (part) => part.used);
      const followed = <T extends Count>(key: string, count: T) => {
        local.follow(key, count);
        return count;
      };
      return {
        reserve: (key, id, options) =>
          orLocally(
            async () => {
              const result = await shared.reserve(key, id, options);
              // A run may end on another instance, which would not release it here.
              if (result.granted && !options.lasting)
                void local.reserve(key, id, { ...options, limit: Number.POSITIVE_INFINITY });
              return followed(key, result);
            },
            () => {
              onlyHere.set(holdName({ key, id }, window), true);
              return local.reserve(key, id, options);
            },
          ),
        note: both(shared, local, (part) => part.note),
        settle: both(shared, local, (part) => part.settle),
        used: async (key) => followed(key, await used(key)),
        holders: either(shared, local, (part) => part.holders),
      };
    },
  });
  return {
    ...store,
    async release(holder, releases) {
      // Either of them may have granted it.
      await localLimits.release(holder, releases);
      const missing = releases.filter((release) => onlyHere.delete(holdName(holder, release)));
      const entry = { holder, releases, missing: new Set(missing) };
      return await orLocally(
        async () => {
          await releaseInRedis(parts, entry, { repeated: false });
          // A connection that was never lost does not report that Redis answers again.
          void owed.repeatAll();
          return true;
        },
        () => {
          owed.add(entry);
          return false;
        },
      );
    },
  };
}

/** Asks Redis, or while it is unavailable, this instance alone. Another error is a fault of the request or of ours. */
function withFallback(log: Logger) {
  return async <T>(inRedis: () => Awaitable<T>, locally: () => Awaitable<T>): Promise<T> => {
    try {
      return await inRedis();
    } catch (thrown) {
      if (!isStoreUnavailable(thrown)) throw thrown;
      log.debug({ reason: messageOf(thrown) }, 'limits are counted by this instance alone');
      return await locally();
    }
  };
}

function redisCounter({ redis, keys }: Parts, { name, windowSeconds }: CounterWindow): Counter {
  return {
    async take(key, points, { limit, force = false }) {
      const maxPoints = force ? Number.MAX_SAFE_INTEGER : limit;
      const args = [`${points}`, `${maxPoints}`, `${windowSeconds * 1000}`];
      const reply = takeReply.parse(await redis.script(TAKE_POINTS, [keys.limit(name, key)], args));
      return { granted: reply[0] === 1, used: reply[1], resetMs: reply[2] };
    },
    async refund(key, points) {
      await redis.script(REFUND, [keys.limit(name, key)], [`${points}`]);
    },
  };
}

function redisSlots({ redis, keys }: Parts, { name, now }: { name: string; now(): number }): Slots {
  return {
    async take(key, id, { limit, ttlMs }) {
      const args = [id, `${Math.min(limit, Number.MAX_SAFE_INTEGER)}`, `${ttlMs}`];
      return (await redis.script(TAKE_SLOT, [keys.limit(name, key)], args)) === 1;
    },
    async release(key, id) {
      await redis.command(['ZREM', keys.limit(name, key), id]);
    },
    async count(key) {
      return numberReply.parse(await redis.script(COUNT_SLOTS, [keys.limit(name, key)], []));
    },
    async holders(key) {
      return textList.parse(await redis.command(['ZRANGEBYSCORE', keys.limit(name, key), `(${now()}`, '+inf']));
    },
  };
}

function holdName(
  { key, id }: LimitHolder,
  { name, owner = key }: { name: string; owner?: string | undefined },
): string {
  return `${name} ${owner} ${id}`;
}

/**
 * Releases limits in Redis. Only what is still held is released: a release that Redis carried out without an answer is
 * not repeated. So what only this instance has granted is entered first. Points are not repeated either, because their
 * windows are short.
 */
async function releaseInRedis(
  parts: Parts,
  { holder, releases, missing }: OwedRelease,
  { repeated }: { repeated: boolean },
): Promise<void> {
  const { id } = holder;
  for (const release of releases) {
    const { owner: key = holder.key } = release;
    if (missing?.has(release)) {
      const entered = { points: 1, limit: Number.POSITIVE_INFINITY, ttlMs: ENTERED_MS };
      if (release.kind === 'budget') await redisBudget(parts, release).reserve(key, id, entered);
      missing.delete(release);
    }
    if (release.kind === 'budget') await settle(parts, { key, id }, release);
    else if (release.kind === 'place') await parts.redis.command(['ZREM', parts.keys.limit(release.name, key), id]);
    else if (!repeated) await redisCounter(parts, release).refund(key, release.points);
  }
}

/** Where version 1 stored who had reserved points, which it counted as used. Its runs may still end here. */
const VERSION_1_RESERVATIONS: Readonly<Record<string, string>> = { tokens: 'reserved', costs: 'reserved-costs' };

async function settle(
  parts: Parts,
  { key, id }: LimitHolder,
  release: LimitRelease & { kind: 'budget' },
): Promise<void> {
  const { redis, keys } = parts;
  const { name, points, spent = points } = release;
  const earlier = VERSION_1_RESERVATIONS[name];
  if ((await redisBudget(parts, release).settleIfHeld(key, id, release)) || earlier === undefined) return;
  if ((await redis.command(['ZREM', keys.limit(earlier, key), id])) !== 1) return;
  await redis.script(REFUND, [keys.limit(name, key)], [`${points - spent}`]);
}
