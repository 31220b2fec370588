import { isCredentialHeader } from '../../config/credential-places.ts';

/** Shorter values are words that answers may well hold: `none`, `EMPTY`, `lm-studio`. */
const SHORTEST = 12;
const STAR = 0x2a;

/**
 * Blanks the credentials of a target out of what its provider answers: some quote them in their errors. What replaces
 * a credential is as long, so that lengths announced stay true.
 */
export class SecretMask {
  readonly #secrets: readonly Buffer[];
  readonly #texts: readonly string[];

  constructor({ credential, headers }: { credential: string | undefined; headers: Readonly<Record<string, string>> }) {
    const values = Object.entries(headers)
      .filter(([name, value]) => isCredentialHeader(name, value))
      .flatMap(([, value]) => [value, ...value.split(/\s+/)]);
    if (credential !== undefined) values.push(credential);
    const secrets = new Set(values.filter((value) => value.length >= SHORTEST));
    this.#texts = [...secrets].sort((a, b) => b.length - a.length);
    this.#secrets = this.#texts.map((secret) => Buffer.from(secret));
  }

  /** Blanks the secrets that are whole in `bytes`, in place. */
  apply(bytes: Buffer): void {
    for (const secret of this.#secrets) {
      for (let at = bytes.indexOf(secret); at !== -1; at = bytes.indexOf(secret, at + secret.length)) {
        bytes.fill(STAR, at, at + secret.length);
      }
    }
  }

  text(value: string): string {
    let clean = value;
    for (const secret of this.#texts) {
      if (clean.includes(secret)) clean = clean.replaceAll(secret, '*'.repeat(secret.length));
    }
    return clean;
  }

  /** How many of the last bytes may be the start of a secret that goes on in what follows. */
  unfinished(bytes: Buffer): number {
    let longest = 0;
    const last = bytes[bytes.length - 1];
    for (const secret of this.#secrets) {
      if (last === undefined || !secret.includes(last)) continue;
      for (let length = Math.min(secret.length - 1, bytes.length); length > longest; length--) {
        if (bytes.compare(secret, 0, length, bytes.length - length) === 0) longest = length;
      }
    }
    return longest;
  }
}
