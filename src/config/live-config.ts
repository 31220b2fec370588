import { CredentialCipher } from '../base/secrets/encrypt.ts';
import { keyringOf } from './keyring.ts';
import type { GatewayConfig, KeyConfig } from './schema.ts';
import { secretHash } from './secrets.ts';

/** Ciphers are derived once per key of a configuration. */
const ciphers = new WeakMap<KeyConfig, CredentialCipher>();

/**
 * The configuration in force. A reload replaces the whole object, so code that keeps a reference to a part of it goes on
 * with the values it started with.
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

  /** The key with this id, or undefined if it is not, or no longer, configured. */
  keyById(id: string): KeyConfig | undefined {
    return keyringOf(this.#current).byId.get(id);
  }

  /** The cipher for credentials of stored runs of a key; undefined once the key is removed. */
  cipherOf(keyId: string): CredentialCipher | undefined {
    const key = this.keyById(keyId);
    if (!key) return undefined;
    const operatorKeys = this.#current.store.encryption_keys;
    const make = () => new CredentialCipher(key.encryptionHash ?? secretHash(key), operatorKeys);
    return ciphers.getOrInsertComputed(key, make);
  }

  /**
   * Puts a new configuration in force and calls the listeners in the order in which they were added.
   * @throws the error of a listener, after restoring the old configuration and calling the earlier listeners with it.
   */
  replace(next: GatewayConfig): void {
    const before = this.#current;
    const notified: ((config: GatewayConfig) => void)[] = [];
    this.#current = next;
    try {
      for (const listener of this.#listeners) {
        listener(next);
        notified.push(listener);
      }
    } catch (thrown) {
      this.#current = before;
      for (const listener of notified) listener(before);
      throw thrown;
    }
  }

  /** Calls `listener` after each reload, until disposed. */
  onChange(listener: (config: GatewayConfig) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
