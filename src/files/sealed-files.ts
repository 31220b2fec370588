import { GatewayError } from '../base/errors.ts';
import type { CredentialCipher } from '../base/secrets/encrypt.ts';
import { seal, unseal } from '../base/secrets/seal.ts';
import type { FileRecord } from '../store/side-stores/file-store.ts';

/** The stored purpose of an encrypted file, followed by the id of its API key. */
const SEALED = 'sealed by ';

/** The API key that encrypts a file, if any does. */
export function sealingKey({ purpose }: Pick<FileRecord, 'purpose'>): string | undefined {
  return purpose.startsWith(SEALED) ? purpose.slice(SEALED.length) : undefined;
}

/** The purpose of a file as its user sees it. */
export function shownPurpose(file: FileRecord): string {
  return sealingKey(file) === undefined ? file.purpose : 'user_data';
}

/**
 * Encrypts name, type and bytes of files that belong to a response with `store: false` (docs/files.md, "In a request"). A file
 * whose API key is gone, or has another secret now, can no longer be read.
 */
export class SealedFiles {
  readonly #cipherOf: (keyId: string) => CredentialCipher | undefined;

  constructor(cipherOf: (keyId: string) => CredentialCipher | undefined) {
    this.#cipherOf = cipherOf;
  }

  /** @throws GatewayError `invalid_api_key` if the key was removed since the request came. */
  #cipher(keyId: string | undefined): CredentialCipher | undefined {
    if (keyId === undefined) return undefined;
    const cipher = this.#cipherOf(keyId);
    if (!cipher) throw new GatewayError('invalid_api_key', 'The API key was removed.');
    return cipher;
  }

  /** The record to store; unchanged without a key. */
  sealRecord<R extends Pick<FileRecord, 'name' | 'type' | 'purpose'>>(record: R, keyId: string | undefined): R {
    const cipher = this.#cipher(keyId);
    if (!cipher) return record;
    const { name, type } = record;
    return { ...record, name: cipher.encrypt(name), type: cipher.encrypt(type), purpose: SEALED + keyId };
  }

  /** The bytes to store; unchanged without a key. */
  async sealBytes(bytes: Buffer, keyId: string | undefined): Promise<Buffer> {
    const cipher = this.#cipher(keyId);
    return cipher ? Buffer.from(await seal(bytes, cipher), 'latin1') : bytes;
  }

  /** A stored record with its real name and type; undefined if it cannot be read. */
  openRecord(file: FileRecord): FileRecord | undefined {
    const key = sealingKey(file);
    if (key === undefined) return file;
    try {
      const cipher = this.#cipherOf(key);
      return cipher && { ...file, name: cipher.decrypt(file.name), type: cipher.decrypt(file.type) };
    } catch {
      return undefined;
    }
  }

  /** Stored bytes as they were sent; undefined if they cannot be read. */
  async openBytes(stored: Buffer, file: FileRecord): Promise<Buffer | undefined> {
    const key = sealingKey(file);
    if (key === undefined) return stored;
    const cipher = this.#cipherOf(key);
    return cipher && (await unseal(stored.toString('latin1'), cipher).catch(() => undefined));
  }
}
