import { yieldToEventLoop } from '../load/event-loop.ts';
import type { CredentialCipher } from './encrypt.ts';

/** How many bytes are encrypted at once: a response may have tens of megabytes, and others wait meanwhile. */
const PIECE_BYTES = 256 * 1024;
const PIECE_END = '.';

/** Encrypts any number of bytes to a text. */
export async function seal(bytes: Uint8Array, cipher: CredentialCipher): Promise<string> {
  const pieces: string[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += PIECE_BYTES) {
    if (at > 0) await yieldToEventLoop();
    pieces.push(cipher.encrypt(bytes.subarray(at, at + PIECE_BYTES)));
  }
  return pieces.join(PIECE_END);
}

/** Decrypts a text of `seal`. @throws Error if no key fits or the text was changed. */
export async function unseal(sealed: string, cipher: CredentialCipher): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (const piece of sealed.split(PIECE_END)) {
    if (pieces.length > 0) await yieldToEventLoop();
    pieces.push(cipher.decryptToBytes(piece));
  }
  return Buffer.concat(pieces);
}
