import { z } from 'zod';
import { keyFields } from '../config/schema/keys.ts';
import type { KeyConfig } from '../config/schema.ts';

/** A key as the store holds it: hashes, never a secret. */

/** What an operator says of a key: what the file says, less credentials, which are kept in the file alone. */
export const keySettings = keyFields.omit({
  id: true,
  secret: true,
  secret_sha256: true,
  provider_keys: true,
  webhook: true,
});

export type KeySettings = z.input<typeof keySettings>;

const hash = z.object({
  sha256: z.string(),
  /** Until when it is taken, in Unix milliseconds; absent: as long as the key is. */
  until: z.number().optional(),
});

/** Fields that come after the first version are optional. */
export const storedKey = z.object({
  v: z.literal(1),
  id: z.string(),
  settings: z.record(z.string(), z.unknown()),
  /** That of now first. */
  hashes: z.array(hash).min(1),
  createdAt: z.number(),
});

export type StoredKey = z.output<typeof storedKey>;

/**
 * The key as the configuration holds it, once for each of its secrets. That of now comes first: what is looked up by id
 * is found as it was before a rotation, so that what was sealed under the older secret can be read meanwhile.
 * Undefined where this version cannot read its settings.
 */
export function configsOf({ id, settings, hashes }: StoredKey, now: number): KeyConfig[] | undefined {
  const parsed = keySettings.safeParse(settings);
  if (!parsed.success) return undefined;
  return hashes.flatMap(({ sha256, until }) => {
    if (until !== undefined && until <= now) return [];
    const ends = until === undefined ? {} : { expires_at: sooner(until, parsed.data.expires_at) };
    return [{ ...parsed.data, ...ends, id, secret_sha256: sha256, provider_keys: {} }];
  });
}

function sooner(until: number, expires: string | undefined): string {
  return new Date(Math.min(until, expires === undefined ? until : Date.parse(expires))).toISOString();
}
