import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { SECRET_TAG } from './keys.ts';
import type { RedisParts } from './part.ts';

const SECRET_BYTES = 32;

/** The secret of `Storage.secret`, created by the first instance that asks. */
export async function redisSecret({ redis, keys, waitForReplicas }: RedisParts): Promise<string> {
  await redis.command(['SET', keys.secret, randomBytes(SECRET_BYTES).toString('base64'), 'NX']);
  const secret = z.string().parse(await redis.command(['GET', keys.secret]));
  // What is encrypted with a secret that a failover loses could never be decrypted.
  await waitForReplicas(SECRET_TAG);
  return secret;
}
