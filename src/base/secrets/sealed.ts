import { createHash } from 'node:crypto';
import { fieldError } from '../errors.ts';
import { decryptBytes, deriveKey, encryptBytes } from './encrypt.ts';

/** What a sealed text is: one cannot be given back as another. */
export type SealedKind = 'reasoning' | 'compaction' | 'credentials';

/** Whose a sealed text is, and what. */
export interface SealedFor {
  user: string;
  kind: SealedKind;
}

/** Says which scheme a text was sealed with; further schemes get prefixes of their own. */
const PREFIX = 'rgs1';

/**
 * Seals what clients keep for the gateway and give back later (`encrypted_content`): AES-256-GCM under a key of the
 * gateway, derived for one user. Nobody else can read it, and nothing of it can be changed.
 *
 * `keys` are the operator's: the first seals, all of them open, so a key is replaced by putting its successor in front.
 * The secret that all instances of a store `share` seals if there is none, and opens what it has sealed.
 */
export class Sealer {
  readonly #own: readonly Buffer[];
  readonly #share: () => Promise<string>;
  #shared: Promise<Buffer> | undefined;

  constructor({ keys, share }: { keys: readonly string[]; share(): Promise<string> }) {
    this.#own = keys.map((key) => Buffer.from(key));
    this.#share = share;
  }

  /**
   * A text that only `open` reads, for the same user.
   * @throws GatewayError `store_unavailable` where the shared secret is needed and cannot be read.
   */
  async seal(text: string, of: SealedFor): Promise<string> {
    const secret = this.#own[0] ?? (await this.#sharedSecret());
    const name = nameOf(secret);
    const bytes = encryptBytes(text, userKey(secret, of), boundTo(name, of));
    return `${PREFIX}.${name}.${bytes.toString('base64url')}`;
  }

  /**
   * Whether a text may be one of ours, perhaps changed: what other services encrypt for their clients has no dots.
   */
  static mayOpen(text: string): boolean {
    return text.includes('.');
  }

  /**
   * What was sealed. `param` names the field, for the error.
   * @throws GatewayError `invalid_parameter` where it is no sealed text, was changed, is another user's or of another
   * kind, or its key is gone; the cases are not told apart.
   */
  async open(sealed: string, { param, ...of }: SealedFor & { param: string }): Promise<string> {
    const [prefix, name, encoded, ...rest] = sealed.split('.');
    const bytes = Buffer.from(encoded ?? '', 'base64url');
    // Base64 has several spellings of the same bytes: only the one that was sent is accepted.
    const isSpelled = prefix === PREFIX && rest.length === 0 && bytes.toString('base64url') === encoded;
    const secret = isSpelled && name !== undefined ? await this.#named(name) : undefined;
    try {
      if (secret && name !== undefined) return decryptBytes(bytes, userKey(secret, of), boundTo(name, of));
    } catch {
      // Told below, with all other reasons.
    }
    throw fieldError('invalid_parameter', param, 'it was not made here for this user, or it was changed.');
  }

  async #named(name: string): Promise<Buffer | undefined> {
    const own = this.#own.find((secret) => nameOf(secret) === name);
    if (own) return own;
    const shared = await this.#sharedSecret();
    return nameOf(shared) === name ? shared : undefined;
  }

  /** Read once; where that failed, again the next time. */
  #sharedSecret(): Promise<Buffer> {
    this.#shared ??= this.#share().then(
      (secret) => Buffer.from(secret),
      (thrown: unknown) => {
        this.#shared = undefined;
        throw thrown;
      },
    );
    return this.#shared;
  }
}

/** Tells keys apart and nothing of them. */
function nameOf(secret: Buffer): string {
  return createHash('sha256').update('research-gateway sealing key ').update(secret).digest('hex').slice(0, 8);
}

function userKey(secret: Buffer, { user }: SealedFor): Buffer {
  return deriveKey(secret, `research-gateway sealed ${user}`);
}

function boundTo(name: string, { user, kind }: SealedFor): string {
  return JSON.stringify([PREFIX, name, kind, user]);
}
