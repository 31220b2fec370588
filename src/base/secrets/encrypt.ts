import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/**
 * Encryption of credentials that a run needs after a restart but that no stored record may show: AES-256-GCM under a key
 * that is derived from what the configuration knows of the caller's API key and that is itself never stored.
 */

/** The encryption key that belongs to an API key, from the SHA-256 of its secret. */
export function encryptionKey(secretSha256Hex: string): Buffer {
  return deriveKey(Buffer.from(secretSha256Hex, 'hex'), 'research-gateway request credentials');
}

/** A key of 256 bits for one purpose (HKDF, SHA-256). */
export function deriveKey(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** `text`, encrypted, as base64. */
export function encrypt(text: string, key: Buffer): string {
  return encryptBytes(text, key).toString('base64');
}

/** What was encrypted. @throws Error where the key is another one or the text was changed. */
export function decrypt(encrypted: string, key: Buffer): string {
  return decryptBytes(Buffer.from(encrypted, 'base64'), key);
}

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
