import { REDACTED, Redactor } from '../logger.ts';
import { unfinishedEnd } from '../text.ts';
import { EscapedTexts, LONGEST_ESCAPE, writtenForms } from './written-forms.ts';

/** Shorter values are words that answers may well hold: `none`, `EMPTY`, `lm-studio`. */
const SHORTEST = 12;
const STAR = 0x2a;

/** What keys of well-known providers look like, also half-masked as providers quote them in errors. */
const KEY_SHAPES = /\b(?:sk|pk|rk|gsk|xai|pplx|hf|nvapi|csk|fw|r8|AIza)[-_][\w*.…-]{6,}|\bAIza[\w-]{10,}/g;
/** The longest piece of a provider's message that is passed on, in characters. */
const MAX_QUOTED = 300;
/** What of a message is cleaned at most, in characters: far more than is shown. */
const MAX_REDACTED = 64 * 1024;
const MAX_READ = 4096;

/**
 * Blanks credentials out of what those who got them answer: some quote them in their errors. They are found however JSON
 * escapes them, in JSON within JSON too, and as they stand in addresses and in HTML.
 */
export class SecretMask {
  readonly #texts: readonly string[];
  readonly #secrets: readonly Buffer[];
  /** Their bytes as text, a character each. */
  readonly #latin: readonly string[];
  readonly #longest: number;
  readonly #escaped: EscapedTexts;
  readonly #redactor = new Redactor();

  constructor(credentials: Iterable<string>) {
    const secrets = new Set(credentials);
    const forms = new Set([...secrets].flatMap(writtenForms));
    this.#redactor.setSecrets(forms);
    this.#texts = [...forms].filter(({ length }) => length >= SHORTEST).sort((a, b) => b.length - a.length);
    this.#secrets = this.#texts.map((secret) => Buffer.from(secret));
    this.#latin = this.#secrets.map((secret) => secret.toString('latin1'));
    this.#escaped = new EscapedTexts([...secrets].filter(({ length }) => length >= SHORTEST));
    this.#longest = Math.max(0, ...this.#latin.map(({ length }) => length));
  }

  /** Blanks the secrets that are whole in `bytes`, in place: lengths that were announced stay true. */
  apply(bytes: Buffer): void {
    for (const secret of this.#secrets) {
      for (let at = bytes.indexOf(secret); at !== -1; at = bytes.indexOf(secret, at + secret.length)) {
        bytes.fill(STAR, at, at + secret.length);
      }
    }
    if (this.#escaped.mayBeIn(bytes)) {
      for (const [start, end] of this.#escaped.placesIn(bytes.toString('latin1'))) bytes.fill(STAR, start, end);
    }
  }

  /** The same for a text. `shown`: what stands in place of a secret; by default stars, as many as it is long. */
  text(value: string, shown?: string): string {
    let clean = value;
    for (const secret of this.#texts) {
      if (clean.includes(secret)) clean = clean.replaceAll(secret, shown ?? '*'.repeat(secret.length));
    }
    return this.#escaped.replaceIn(clean, (found) => shown ?? '*'.repeat(found.length));
  }

  /** A provider's message on one line, without anything like a credential, at most 300 characters. */
  message(text: string): string {
    const clean = this.#redactor
      .redact(this.text(text.slice(0, MAX_REDACTED), REDACTED))
      .slice(0, MAX_READ)
      .replace(KEY_SHAPES, REDACTED)
      .replace(/\s+/g, ' ')
      .trim();
    return clean.length > MAX_QUOTED ? `${clean.slice(0, MAX_QUOTED)}...` : clean;
  }

  /** How many of the last bytes may be the start of a secret that goes on in what follows. */
  unfinished(bytes: Buffer): number {
    const end = bytes.toString('latin1', Math.max(0, bytes.length - this.#longest * LONGEST_ESCAPE));
    return Math.max(unfinishedEnd(end, this.#latin), this.#escaped.unfinishedIn(end));
  }

  /** The same of a text, in UTF-16 units. */
  unfinishedText(text: string): number {
    const end = text.slice(-Math.max(1, this.#longest * LONGEST_ESCAPE));
    return Math.max(unfinishedEnd(end, this.#texts), this.#escaped.unfinishedIn(end));
  }
}

/** A body that is masked piece by piece: what may be the start of a secret is held until more is there. */
export class MaskedBody {
  readonly #mask: SecretMask;
  #held: Buffer = Buffer.alloc(0);

  constructor(mask: SecretMask) {
    this.#mask = mask;
  }

  /** What may go out now. */
  push(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#mask.apply(bytes);
    const safe = bytes.length - this.#mask.unfinished(bytes);
    this.#held = bytes.subarray(safe);
    return bytes.subarray(0, safe);
  }

  /** What is left at the end. */
  end(): Buffer {
    return this.#held;
  }
}
