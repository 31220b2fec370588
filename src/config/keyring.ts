import { inSlices } from '../base/load/event-loop.ts';
import type { GatewayConfig, KeyConfig } from './schema.ts';
import { DEFAULT_SECRET, secretHash } from './secrets.ts';

/** The API keys of a configuration by id, and by the SHA-256 of their secret in hex. */
class Keyring {
  readonly byId = new Map<string, KeyConfig>();
  readonly byHash = new Map<string, KeyConfig>();

  add(key: KeyConfig): void {
    this.byId.set(key.id, key);
    this.byHash.set(secretHash(key), key);
  }
}

/** One keyring per list of keys, however many parts of the gateway look keys up. */
const keyrings = new WeakMap<readonly KeyConfig[], Keyring>();

/** The keyring of a configuration. Builds it if `prepareKeyring` has not. */
export function keyringOf({ keys }: GatewayConfig): Keyring {
  return keyrings.getOrInsertComputed(keys, () => {
    const keyring = new Keyring();
    for (const key of keys) keyring.add(key);
    return keyring;
  });
}

/** Builds the keyring of a configuration without blocking the event loop. */
export async function prepareKeyring({ keys }: GatewayConfig): Promise<void> {
  const keyring = new Keyring();
  await inSlices(keys, (key) => keyring.add(key));
  keyrings.set(keys, keyring);
}

const DEFAULT_HASH = secretHash({ secret: DEFAULT_SECRET });

/**
 * The well-known key, while it is accepted (docs/operating.md, "Starting"). It is not a secret and may be shown, unlike
 * everything else in `keys`.
 */
export function acceptedDefaultKey(config: GatewayConfig): string | undefined {
  return keyringOf(config).byHash.has(DEFAULT_HASH) ? DEFAULT_SECRET : undefined;
}
