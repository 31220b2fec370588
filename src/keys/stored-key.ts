import { z } from 'zod';
import { formatPath } from '../base/text.ts';
import { crossCheck } from '../config/cross-checks.ts';
import { keyFields } from '../config/schema/keys.ts';
import type { GatewayConfig, KeyConfig } from '../config/schema.ts';

/** A key of the store in memory: with the hashes of its secrets, never the secrets. */

/** What an operator can set for a key: the same as in the configuration file. */
export const keySettings = keyFields.omit({ id: true, secret: true, secret_sha256: true });

export type KeySettings = z.input<typeof keySettings>;

export const keyHash = z.object({
  sha256: z.string(),
  /** Until when the secret is accepted, in Unix milliseconds; absent: as long as the key exists. */
  until: z.number().optional(),
});

export interface StoredKey {
  id: string;
  settings: KeySettings;
  /** The current one first. */
  hashes: readonly z.output<typeof keyHash>[];
  createdAt: number;
  /** The hash that encrypts credentials of its runs, which rotation does not change; absent until the first rotation. */
  encryption?: string | undefined;
  /** Its encrypted credentials, if `store.encryption_keys` cannot decrypt them: then the key is not in force. */
  locked?: string | undefined;
}

/** The hash that encrypts credentials of the key's runs: its first one. */
export function encryptionHashOf({ encryption, hashes }: StoredKey, now: number): string {
  const valid = hashes.filter(({ until }) => until === undefined || until > now);
  return encryption ?? valid.at(-1)?.sha256 ?? '';
}

/**
 * The key as entries of the configuration, one for each of its secrets. The current one comes last, so that a lookup by id
 * finds it. If the key cannot be in force, a string that says why.
 */
export function configsOf(
  key: StoredKey,
  { providers }: Pick<GatewayConfig, 'providers'>,
  now: number,
): KeyConfig[] | string {
  if (key.locked !== undefined) return LOCKED;
  const parsed = keySettings.safeParse(key.settings);
  if (!parsed.success) return 'its settings are not known to this version';
  const encryptionHash = encryptionHashOf(key, now);
  const configs = key.hashes.flatMap(({ sha256, until }) => {
    if (until !== undefined && until <= now) return [];
    const ends = until === undefined ? {} : { expires_at: earlier(until, parsed.data.expires_at) };
    return [{ ...parsed.data, ...ends, id: key.id, secret_sha256: sha256, encryptionHash }];
  });
  return ownCredentialProblem(configs[0], { providers }) ?? configs.reverse();
}

/** Why a key is not in force whose credentials cannot be decrypted. */
export const LOCKED = 'its credentials were sealed with a key that store.encryption_keys does not hold any more';

/** Why the key's credentials cannot replace those of its providers, which may have changed since it was created. */
function ownCredentialProblem(
  key: KeyConfig | undefined,
  { providers }: Pick<GatewayConfig, 'providers'>,
): string | undefined {
  if (!key || Object.keys(key.provider_keys).length === 0) return undefined;
  const [problem] = crossCheck({ keys: [key], providers }).filter(({ path }) => path[0] === 'providers');
  return problem && `${formatPath(problem.path)} ${problem.message}`;
}

function earlier(until: number, expires: string | undefined): string {
  return new Date(Math.min(until, expires === undefined ? until : Date.parse(expires))).toISOString();
}
