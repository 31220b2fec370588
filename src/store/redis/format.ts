import type { RedisConnection } from './connection/connection.ts';
import type { RedisKeys } from './keys.ts';
import { formatReply } from './replies.ts';
import { loadScript } from './scripts.ts';

/**
 * The version of keys and fields in Redis. It increases with every change that an older gateway does not know.
 * 1: without this mark. 2: submission keys are stored with the run; lists have indexes by model and state; ends follow
 * the clock of the store.
 */
export const FORMAT = 2;

/** The oldest version that may share the data: the previous one, for rolling updates. */
const SHARES_WITH = 1;

/** KEYS format. ARGV version, oldest version that shares. */
const ENTER = loadScript(`
local r = redis.call('HMGET', KEYS[1], 'version', 'sharesWith')
local version, sharesWith = tonumber(r[1] or '1'), tonumber(r[2] or '1')
local mine = tonumber(ARGV[1])
if sharesWith > mine then return {'newer', version} end
if version < mine or not r[1] then redis.call('HSET', KEYS[1], 'version', ARGV[1], 'sharesWith', ARGV[2]) end
return {'shared', version}`);

/** Marks the data with the version of this gateway. @throws Error with the fix if an incompatible gateway wrote it. */
export async function enterFormat(redis: RedisConnection, keys: RedisKeys): Promise<void> {
  const reply = await redis.script(ENTER, [keys.format], [`${FORMAT}`, `${SHARES_WITH}`]);
  const [outcome, found] = formatReply.parse(reply);
  if (outcome === 'shared') return;
  throw new Error(
    `store.url: the data in Redis has format ${found}; this gateway knows ${FORMAT} and cannot share it. ` +
      'Start the gateway that wrote it or a newer one, or use another database.',
  );
}
