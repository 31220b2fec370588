import { messageOf } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import { isStoreUnavailable, storeReason } from '../../failure.ts';
import { textList } from '../replies.ts';
import { loadScript } from '../scripts.ts';
import type { RedisConnection } from './connection.ts';
import { isPermissionDenied, redisReason } from './failure.ts';
import { queuePrefix } from './queue-client.ts';

/** This version added exclusive ranges of streams. */
const MIN_VERSION = [6, 2] as const;
/** This version added sharded channels. */
const MIN_CLUSTER_VERSION = [7, 0] as const;

const SETTINGS = [
  { name: 'maxmemory-policy', wanted: 'noeviction', risk: 'Redis may throw runs away when its memory is full' },
  { name: 'appendonly', wanted: 'yes', risk: 'Redis loses runs when it restarts' },
] as const;

/**
 * The commands of the store and of its queue, with the number of arguments that follow their key. `DEL` and `UNLINK` are
 * last, because the others need the key.
 */
export const COMMANDS = [
  '0 EXISTS GET HGETALL HKEYS HLEN INCR LLEN PERSIST PTTL SCARD SMEMBERS STRLEN ZCARD ZPOPMIN',
  '1 DECRBY HDEL HEXISTS HGET HMGET INCRBY LPOS LPUSH PEXPIRE PUBLISH RPOPLPUSH RPUSH SADD SET SREM ZRANK ZREM ZREVRANK ZSCORE',
  '2 GETRANGE HINCRBY HMSET HSET HSETNX LRANGE LREM LTRIM XRANGE XREVRANGE XTRIM',
  '2 ZADD ZCOUNT ZLEXCOUNT ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYSCORE',
  '3 XADD',
  '0 DEL UNLINK',
] as const;

/**
 * KEYS a text that nobody else uses. ARGV as `COMMANDS`. Returns the commands that the user may not call. Their other
 * errors do not matter: with a text as key and in place of numbers, most of them do nothing.
 */
const REFUSED = loadScript(`
redis.pcall('SET', KEYS[1], '', 'PX', '1000')
local refused = {}
for _, line in ipairs(ARGV) do
  local args = {KEYS[1]}
  for _ = 1, tonumber(string.sub(line, 1, 1)) do table.insert(args, KEYS[1]) end
  for name in string.gmatch(line, '%u+') do
    local reply = redis.pcall(name, unpack(args))
    local failure = type(reply) == 'table' and reply.err or ''
    if string.find(failure, 'NOPERM') or string.find(failure, 'The user executing') or string.find(failure, 'ACL failure') then
      table.insert(refused, name)
    end
  end
end
return refused`);

/**
 * Checks that this Redis keeps what it stores. Settings that put runs at risk are only a warning: a managed Redis may
 * hide or fix them.
 * @throws Error if Redis is too old.
 */
export async function checkRedis(redis: RedisConnection, options: { log: Logger; cluster: boolean }): Promise<void> {
  const { log, cluster } = options;
  await checkVersion(redis, { log, oldest: cluster ? MIN_CLUSTER_VERSION : MIN_VERSION });
  for (const { name, wanted, risk } of SETTINGS) {
    const value = await readSetting(redis, log, name);
    if (value !== undefined && value !== wanted) log.warn({ [name]: value }, `${risk}: set ${name} ${wanted}`);
  }
}

/**
 * Runs `work`, which opens the store and needs rights of the Redis user, also for the queue: without it runs would wait
 * for the sweep.
 * @throws Error that names the rights if Redis refuses one of them, and otherwise why Redis cannot be used.
 */
export async function explainStart<T>(prefix: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const refusal = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
    if (!isPermissionDenied(refusal)) {
      if (!isStoreUnavailable(thrown)) throw thrown;
      const message = `store.url: ${storeReason(thrown)}. docs/operations/redis.md says what to do.`;
      throw new Error(message, { cause: thrown });
    }
    throw missingRights(prefix, messageOf(refusal), thrown);
  }
}

/** @throws Error if the user may not access the keys of the queue, or call one of the commands. */
export async function checkRights(redis: RedisConnection, prefix: string): Promise<void> {
  await redis.command(['EXISTS', `${queuePrefix(prefix)}:runs:meta`]);
  const refused = textList.parse(await redis.script(REFUSED, [`${prefix}:probe:rights`], COMMANDS));
  if (refused.length > 0) throw missingRights(prefix, refused.join(', '));
}

function missingRights(prefix: string, refused: string, cause?: unknown): Error {
  return new Error(
    `store.url: Redis refuses what the gateway needs: ${refused}. ` +
      `Give its user the keys ~${prefix}:* and ~${queuePrefix(prefix)}:*, the channels &${prefix}:*, ` +
      'and all commands but those of @dangerous and @admin.',
    { cause },
  );
}

async function checkVersion(
  redis: RedisConnection,
  { log, oldest }: { log: Logger; oldest: readonly [number, number] },
): Promise<void> {
  let info: string;
  try {
    info = String(await redis.command(['INFO', 'server']));
  } catch (thrown) {
    log.info(
      { reason: redisReason(thrown) },
      `Redis does not report its version; ${oldest.join('.')} or newer is needed`,
    );
    return;
  }
  const version = /redis_version:(\d+)\.(\d+)/.exec(info);
  const [major, minor] = [Number(version?.[1] ?? oldest[0]), Number(version?.[2] ?? oldest[1])];
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
    throw new Error(`store.url: Redis ${major}.${minor} is too old; ${oldest.join('.')} or newer is needed`);
  }
}

async function readSetting(redis: RedisConnection, log: Logger, name: string): Promise<string | undefined> {
  try {
    return textList.parse(await redis.command(['CONFIG', 'GET', name]))[1];
  } catch (thrown) {
    log.info({ setting: name, reason: redisReason(thrown) }, 'Redis does not report its settings; check this one');
    return undefined;
  }
}
