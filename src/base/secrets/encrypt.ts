import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CREDENTIALS = 'research-gateway request credentials';

/**
 * Encrypts credentials that a run needs after a restart but that no stored record may reveal: AES-256-GCM under a key
 * derived from the hash of the caller's API key and, if configured, from the operator's encryption key. For API keys in
 * the store the hash lies beside what it encrypts: without an operator's key, the store alone reveals the credentials.
 */
export class CredentialCipher {
  /** The first key encrypts, all of them decrypt. The last one is the key without any of the operator's. */
  readonly #keys: readonly Buffer[];

  /** `extraKeys`: those of the operator, the current one first. */
  constructor(secretSha256Hex: string, extraKeys: readonly string[]) {
    const hash = Buffer.from(secretSha256Hex, 'hex');
    const mixed = extraKeys.map((key) => deriveKey(Buffer.concat([hash, Buffer.from(key)]), `${CREDENTIALS}, mixed`));
    this.#keys = [...mixed, deriveKey(hash, CREDENTIALS)];
  }

  /** Whether decrypting needs a key of the operator. */
  get isMixed(): boolean {
    return this.#keys.length > 1;
  }

  /** Encrypts a text, or bytes, to base64. */
  encrypt(content: string | Uint8Array): string {
    const [key] = this.#keys;
    if (!key) throw new Error('there is no key');
    return encryptBytes(content, key).toString('base64');
  }

  /** Decrypts base64 of `encrypt` to a text. @throws Error if no key fits or the text was changed. */
  decrypt(encrypted: string): string {
    return this.decryptToBytes(encrypted).toString();
  }

  /** As `decrypt`, to bytes. */
  decryptToBytes(encrypted: string): Buffer {
    const bytes = Buffer.from(encrypted, 'base64');
    for (const key of this.#keys) {
      try {
        return decryptBytes(bytes, key);
      } catch {
        // The next key may fit.
      }
    }
    throw new Error('it was encrypted with a key that is gone, or changed');
  }
}

/** Derives a 256-bit key for one purpose (HKDF, SHA-256). */
export function deriveKey(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts to nonce, tag and cipher text. `boundTo` is authenticated but not included: decrypting needs the same. */
export function encryptBytes(content: string | Uint8Array, key: Buffer, boundTo = ''): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  if (boundTo !== '') cipher.setAAD(Buffer.from(boundTo));
  const encrypted = Buffer.concat([
    typeof content === 'string' ? cipher.update(content, 'utf8') : cipher.update(content),
    cipher.final(),
  ]);
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]);
}

/** Decrypts the bytes of `encryptBytes`. @throws Error if `key` or `boundTo` differ, or the bytes were changed. */
export function decryptBytes(bytes: Buffer, key: Buffer, boundTo = ''): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  if (boundTo !== '') decipher.setAAD(Buffer.from(boundTo));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
}
