import { CredentialCipher } from '../base/secrets/encrypt.ts';
import { keyringOf } from './keyring.ts';
import type { GatewayConfig, KeyConfig } from './schema.ts';
import { secretHash } from './secrets.ts';

/** Derived once for a configuration. */
const ciphers = new WeakMap<KeyConfig, CredentialCipher>();

/**
 * The configuration in force. A reload puts another object in its place, so whoever holds on to a part of it goes on
 * with what it began with.
 */
export class LiveConfig {
  #current: GatewayConfig;
  readonly #listeners = new Set<(config: GatewayConfig) => void>();

  constructor(config: GatewayConfig) {
    this.#current = config;
  }

  /** The same frozen object until the next reload. */
  current(): GatewayConfig {
    return this.#current;
  }

  /** The key with this id, or undefined where it is not (or no longer) configured. */
  keyById(id: string): KeyConfig | undefined {
    return keyringOf(this.#current).byId(id);
  }

  /** What encrypts the credentials of a request while its run is stored; undefined once the key is removed. */
  cipherOf(keyId: string): CredentialCipher | undefined {
    const key = this.keyById(keyId);
    if (!key) return undefined;
    const own = this.#current.store.encryption_keys;
    const cipher = ciphers.get(key) ?? new CredentialCipher(key.encryptionHash ?? secretHash(key), own);
    ciphers.set(key, cipher);
    return cipher;
  }

  /**
   * Puts a new configuration in force and tells the listeners, in the order they came.
   * @throws what a listener throws, with the old configuration in force again and told to those that had heard the new.
   */
  replace(next: GatewayConfig): void {
    const before = this.#current;
    const told: ((config: GatewayConfig) => void)[] = [];
    this.#current = next;
    try {
      for (const listener of this.#listeners) {
        listener(next);
        told.push(listener);
      }
    } catch (thrown) {
      this.#current = before;
      for (const listener of told) listener(before);
      throw thrown;
    }
  }

  /** Calls `listener` after each reload, until disposed. */
  onChange(listener: (config: GatewayConfig) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
