import { createHash } from 'node:crypto';
import { fieldError } from '../errors.ts';
import { once } from '../once.ts';
import { decryptBytes, deriveKey, encryptBytes } from './encrypt.ts';

/** What a sealed text contains: a text of one kind cannot be opened as another. */
export type SealedKind = 'reasoning' | 'compaction' | 'credentials';

/** The user and the kind that a sealed text is bound to. */
export interface SealContext {
  user: string;
  kind: SealedKind;
}

/** Identifies the scheme of a sealed text; further schemes get prefixes of their own. */
const PREFIX = 'rgs1';

/**
 * Seals what clients keep for the gateway and send back later (`encrypted_content`): AES-256-GCM under a key of the
 * gateway, derived for one user. Nobody else can read it, and any change is detected.
 *
 * `keys` are the operator's: the first seals and all of them open, so a key is rotated by putting its successor first.
 * Without keys, texts are sealed with the secret that all instances of a store `share`; it always opens those texts.
 */
export class Sealer {
  readonly #operatorKeys: readonly Buffer[];
  readonly #sharedSecret: () => Promise<Buffer>;

  constructor({ keys, share }: { keys: readonly string[]; share(): Promise<string> }) {
    this.#operatorKeys = keys.map((key) => Buffer.from(key));
    this.#sharedSecret = once(async () => Buffer.from(await share()));
  }

  /**
   * Seals a text so that only `open` can read it, for the same user.
   * @throws GatewayError `store_unavailable` if the shared secret is needed and cannot be read.
   */
  async seal(text: string, context: SealContext): Promise<string> {
    const secret = this.#operatorKeys[0] ?? (await this.#sharedSecret());
    const keyName = keyNameOf(secret);
    const bytes = encryptBytes(text, userKey(secret, context), associatedData(keyName, context));
    return `${PREFIX}.${keyName}.${bytes.toString('base64url')}`;
  }

  /** Whether the gateway may have sealed a text, which may have been changed since: other services' texts have no dots. */
  static looksSealed(text: string): boolean {
    return text.includes('.');
  }

  /**
   * Opens a sealed text. `param` names the field in the error.
   * @throws GatewayError `invalid_parameter`, always the same, if the text is not sealed, was changed, belongs to another
   * user or kind, or its key is gone.
   */
  async open(sealed: string, { param, ...context }: SealContext & { param: string }): Promise<string> {
    const [prefix, keyName, encoded, ...rest] = sealed.split('.');
    const bytes = Buffer.from(encoded ?? '', 'base64url');
    // Base64 has several spellings of the same bytes: only the canonical one is accepted.
    const isWellFormed = prefix === PREFIX && rest.length === 0 && bytes.toString('base64url') === encoded;
    const secret = isWellFormed && keyName !== undefined ? await this.#secretNamed(keyName) : undefined;
    try {
      if (secret && keyName !== undefined) {
        return decryptBytes(bytes, userKey(secret, context), associatedData(keyName, context)).toString();
      }
    } catch {
      // Reported below, like every other reason.
    }
    throw fieldError('invalid_parameter', param, 'it was not made here for this user, or it was changed.');
  }

  async #secretNamed(keyName: string): Promise<Buffer | undefined> {
    const operatorKey = this.#operatorKeys.find((secret) => keyNameOf(secret) === keyName);
    if (operatorKey) return operatorKey;
    const shared = await this.#sharedSecret();
    return keyNameOf(shared) === keyName ? shared : undefined;
  }
}

/** A name that distinguishes keys and reveals nothing about them. */
function keyNameOf(secret: Buffer): string {
  return createHash('sha256').update('research-gateway sealing key ').update(secret).digest('hex').slice(0, 8);
}

function userKey(secret: Buffer, { user }: SealContext): Buffer {
  return deriveKey(secret, `research-gateway sealed ${user}`);
}

function associatedData(keyName: string, { user, kind }: SealContext): string {
  return JSON.stringify([PREFIX, keyName, kind, user]);
}
