import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { SECRET } from './keys.ts';
import type { RedisParts } from './part.ts';

const SECRET_BYTES = 32;

/** The secret of `Storage.secret`, made by the first instance that asks. */
export async function redisSecret({ redis, keys, have }: RedisParts): Promise<string> {
  await redis.command(['SET', keys.secret, randomBytes(SECRET_BYTES).toString('base64'), 'NX']);
  const secret = z.string().parse(await redis.command(['GET', keys.secret]));
  // What is sealed with one that a failover takes away could never be opened.
  await have(SECRET);
  return secret;
}
