import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { RedisConnection } from './connection.ts';
import { textList } from './replies.ts';

/** Ranges of streams that leave out their start came with this version. */
const OLDEST = [6, 2] as const;

/**
 * Looks whether this Redis keeps what it is given. Settings that risk runs are a warning, not a refusal: a managed
 * Redis may hide or fix them.
 * @throws Error where Redis is too old.
 */
export async function checkRedis(redis: RedisConnection, log: Logger): Promise<void> {
  const version = /redis_version:(\d+)\.(\d+)/.exec(String(await redis.command(['INFO', 'server'])));
  const [major, minor] = [Number(version?.[1] ?? OLDEST[0]), Number(version?.[2] ?? OLDEST[1])];
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw new Error(`store.url: Redis ${major}.${minor} is too old; ${OLDEST.join('.')} or newer is needed`);
  }
  const policy = await setting(redis, log, 'maxmemory-policy');
  if (policy !== undefined && policy !== 'noeviction') {
    log.warn(
      { 'maxmemory-policy': policy },
      'Redis may throw runs away when its memory is full: set maxmemory-policy noeviction',
    );
  }
  const appendOnly = await setting(redis, log, 'appendonly');
  if (appendOnly !== undefined && appendOnly !== 'yes') {
    log.warn({ appendonly: appendOnly }, 'Redis loses runs when it restarts: set appendonly yes');
  }
}

async function setting(redis: RedisConnection, log: Logger, name: string): Promise<string | undefined> {
  try {
    return textList.parse(await redis.command(['CONFIG', 'GET', name]))[1];
  } catch (thrown) {
    log.info({ setting: name, reason: messageOf(thrown) }, 'Redis does not tell its settings; make sure of this one');
    return undefined;
  }
}
