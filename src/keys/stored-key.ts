import { z } from 'zod';
import { crossCheck } from '../config/cross-checks.ts';
import { keyFields } from '../config/schema/keys.ts';
import type { GatewayConfig, KeyConfig } from '../config/schema.ts';

/** A key of the store as the gateway knows it: hashes, never a secret of its own. */

/** What an operator says of a key: what the file says. */
export const keySettings = keyFields.omit({ id: true, secret: true, secret_sha256: true });

export type KeySettings = z.input<typeof keySettings>;

export const keyHash = z.object({
  sha256: z.string(),
  /** Until when it is taken, in Unix milliseconds; absent: as long as the key is. */
  until: z.number().optional(),
});

export interface StoredKey {
  id: string;
  settings: KeySettings;
  /** That of now first. */
  hashes: readonly z.output<typeof keyHash>[];
  createdAt: number;
  /** What encrypts credentials of its runs, however often it is rotated; absent until it is. */
  encryption?: string | undefined;
  /** Its credentials as they are stored, where `store.encryption_keys` do not open them: it is not in force. */
  locked?: string | undefined;
}

/** The hash that encrypts credentials of its runs: the one that it had first. */
export function encryptionHashOf({ encryption, hashes }: StoredKey, now: number): string {
  const valid = hashes.filter(({ until }) => until === undefined || until > now);
  return encryption ?? valid.at(-1)?.sha256 ?? '';
}

/**
 * The key as the configuration holds it, once for each of its secrets, that of now last: it is the one that is found by
 * the id. A text that says why where it cannot be in force.
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
    const ends = until === undefined ? {} : { expires_at: sooner(until, parsed.data.expires_at) };
    return [{ ...parsed.data, ...ends, id: key.id, secret_sha256: sha256, encryptionHash }];
  });
  return ownCredentialProblem(configs[0], { providers }) ?? configs.reverse();
}

/** What is said of a key whose credentials cannot be opened. */
export const LOCKED = 'its credentials were sealed with a key that store.encryption_keys does not hold any more';

/** Why credentials of the key would not replace those of its providers; they have changed since it was made. */
function ownCredentialProblem(
  key: KeyConfig | undefined,
  { providers }: Pick<GatewayConfig, 'providers'>,
): string | undefined {
  if (!key || Object.keys(key.provider_keys).length === 0) return undefined;
  const [problem] = crossCheck({ keys: [key], providers }).filter(({ path }) => path[0] === 'providers');
  return problem && `${problem.path.join('.')} ${problem.message}`;
}

function sooner(until: number, expires: string | undefined): string {
  return new Date(Math.min(until, expires === undefined ? until : Date.parse(expires))).toISOString();
}
