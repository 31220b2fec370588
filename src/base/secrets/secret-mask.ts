import { REDACTED, Redactor } from '../logger.ts';
import { unfinishedLength } from '../text.ts';
import { EscapedTexts, MAX_ESCAPE_LENGTH, MIN_BARE_LENGTH, plainOf, writtenForms } from './written-forms.ts';

/** Shorter values are words that answers may well contain: `none`, `EMPTY`, `lm-studio`. */
const MIN_SECRET_LENGTH = 12;
const STAR = 0x2a;

/** Keys of well-known providers, also half-masked, as providers quote them in errors. */
const KEY_SHAPES = /\b(?:sk|pk|rk|gsk|xai|pplx|hf|nvapi|csk|fw|r8|AIza)[-_][\w*.…-]{6,}|\bAIza[\w-]{10,}/g;
/** How much of a provider's message clients and logs see, in characters. */
const MAX_QUOTED = 300;
/** How much of a message is redacted, in characters: far more than anybody sees. */
const MAX_REDACTED = 64 * 1024;
const MAX_READ = 4096;

/**
 * Masks credentials in the answers of the services that received them: some quote them in their errors. It finds them
 * however JSON escapes them, also in JSON within JSON, and as URLs and HTML encode them.
 */
export class SecretMask {
  readonly #texts: readonly string[];
  readonly #secrets: readonly Buffer[];
  /** The secrets' bytes as text, one character a byte. */
  readonly #latin: readonly string[];
  readonly #longest: number;
  /** The bytes of the secrets and of escapes. Most answers end with another one, such as the brace of their JSON. */
  readonly #bytes: ReadonlySet<number>;
  readonly #escaped: EscapedTexts;
  readonly #redactor = new Redactor();

  constructor(credentials: Iterable<string>) {
    const secrets = new Set(credentials);
    const forms = new Set([...secrets].flatMap(writtenForms));
    this.#redactor.setSecrets(forms);
    this.#texts = [...forms].filter(({ length }) => length >= MIN_SECRET_LENGTH).sort((a, b) => b.length - a.length);
    this.#secrets = this.#texts.map((secret) => Buffer.from(secret));
    this.#latin = this.#secrets.map((secret) => secret.toString('latin1'));
    this.#escaped = new EscapedTexts([...secrets].filter(({ length }) => length >= MIN_SECRET_LENGTH));
    this.#bytes = new Set(Buffer.from(`${this.#texts.join('')}\\u0123456789abcdefABCDEF`));
    this.#longest = Math.max(0, ...this.#latin.map(({ length }) => length));
  }

  /** Masks the complete secrets in `bytes`, in place, so that a `Content-Length` stays true. */
  maskBytes(bytes: Buffer): void {
    for (const secret of this.#secrets) {
      for (let at = bytes.indexOf(secret); at !== -1; at = bytes.indexOf(secret, at + secret.length)) {
        bytes.fill(STAR, at, at + secret.length);
      }
    }
    if (this.#escaped.mayBeIn(bytes)) {
      for (const [start, end] of this.#escaped.placesIn(bytes.toString('latin1'))) bytes.fill(STAR, start, end);
    }
  }

  /** Masks a whole body, in place: also a secret that is cut at its end, unless the part could be any word. */
  maskWhole(bytes: Buffer): void {
    this.maskBytes(bytes);
    if (!this.#bytes.has(bytes.at(-1) ?? 0)) return;
    const start = bytes.length - this.unfinishedBytes(bytes);
    if (isTelling(bytes.toString('latin1', start))) bytes.fill(STAR, start);
  }

  /** Masks the secrets in a text. `replacement`: by default, stars of the same length. */
  maskText(value: string, replacement?: string): string {
    let clean = value;
    for (const secret of this.#texts) {
      if (clean.includes(secret)) clean = clean.replaceAll(secret, replacement ?? '*'.repeat(secret.length));
    }
    return this.#escaped.replaceIn(clean, (found) => replacement ?? '*'.repeat(found.length));
  }

  /** A provider's message on one line, without anything that looks like a credential, at most 300 characters. */
  cleanMessage(text: string): string {
    const clean = this.#redactor
      .redact(this.maskText(text.slice(0, MAX_REDACTED), REDACTED))
      .slice(0, MAX_READ)
      .replace(KEY_SHAPES, REDACTED)
      .replace(/\s+/g, ' ')
      .trim();
    return clean.length > MAX_QUOTED ? `${clean.slice(0, MAX_QUOTED).toWellFormed()}...` : clean;
  }

  /** How many of the last bytes may be the start of a secret that continues in the next chunk. */
  unfinishedBytes(bytes: Buffer): number {
    const end = bytes.toString('latin1', Math.max(0, bytes.length - this.#longest * MAX_ESCAPE_LENGTH));
    return Math.max(unfinishedLength(end, this.#latin), this.#escaped.unfinishedIn(end));
  }

  /** How much of the end of a text may be the start of a secret, in UTF-16 code units. */
  unfinishedText(text: string): number {
    const end = text.slice(-Math.max(1, this.#longest * MAX_ESCAPE_LENGTH));
    return Math.max(unfinishedLength(end, this.#texts), this.#escaped.unfinishedIn(end));
  }
}

/** Whether the start of a secret says something about it. */
export function isTelling(start: string): boolean {
  return plainOf(start).length >= MIN_BARE_LENGTH;
}

/** Masks a body chunk by chunk: what may be the start of a secret is buffered until the next chunk. */
export class MaskedBody {
  readonly #mask: SecretMask;
  #buffered: Buffer = Buffer.alloc(0);

  constructor(mask: SecretMask) {
    this.#mask = mask;
  }

  /** Masks a chunk and returns the bytes that may be sent now. */
  push(chunk: Buffer): Buffer {
    const bytes = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk]);
    this.#mask.maskBytes(bytes);
    const safe = bytes.length - this.#mask.unfinishedBytes(bytes);
    this.#buffered = bytes.subarray(safe);
    return bytes.subarray(0, safe);
  }

  /** The bytes that remain at the end of the body. */
  end(): Buffer {
    this.#mask.maskWhole(this.#buffered);
    return this.#buffered;
  }
}
