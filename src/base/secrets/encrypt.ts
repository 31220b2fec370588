import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CREDENTIALS = 'research-gateway request credentials';

/**
 * Encrypts credentials that a run needs after a restart but that no stored record may show: AES-256-GCM under a key that is
 * derived from the hash of the caller's API key and, where the operator has set one, from a key of the operator. The hash of
 * a key in the store lies beside what it encrypts: without the operator's, the store alone would show its credentials.
 */
export class CredentialCipher {
  /** The first encrypts, all of them decrypt. The last is what encrypts without a key of the operator. */
  readonly #keys: readonly Buffer[];

  /** `own`: the operator's keys, that of now first. */
  constructor(secretSha256Hex: string, own: readonly string[]) {
    const hash = Buffer.from(secretSha256Hex, 'hex');
    const mixed = own.map((key) => deriveKey(Buffer.concat([hash, Buffer.from(key)]), `${CREDENTIALS}, mixed`));
    this.#keys = [...mixed, deriveKey(hash, CREDENTIALS)];
  }

  /** Whether a key of the operator is needed to decrypt what this encrypts. */
  get isMixed(): boolean {
    return this.#keys.length > 1;
  }

  /** `text`, encrypted, as base64. */
  encrypt(text: string): string {
    const [key] = this.#keys;
    if (!key) throw new Error('there is no key');
    return encryptBytes(text, key).toString('base64');
  }

  /** What was encrypted. @throws Error where all keys are others or the text was changed. */
  decrypt(encrypted: string): string {
    const bytes = Buffer.from(encrypted, 'base64');
    for (const key of this.#keys) {
      try {
        return decryptBytes(bytes, key);
      } catch {
        // The next one may be the right one.
      }
    }
    throw new Error('it was encrypted with a key that is gone, or changed');
  }
}

/** A key of 256 bits for one purpose (HKDF, SHA-256). */
export function deriveKey(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** `text`, encrypted: nonce, tag and cipher text. `bound` is not in it, and must be the same to decrypt it. */
export function encryptBytes(text: string, key: Buffer, bound = ''): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(Buffer.from(bound));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]);
}

/** What was encrypted. @throws Error where key or `bound` are others, or the bytes were changed. */
export function decryptBytes(bytes: Buffer, key: Buffer, bound = ''): string {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(bound));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
}
