import { Redactor } from '../../base/logger.ts';

/** What keys of well-known providers look like, also half-masked as providers quote them in errors. */
const KEY_SHAPES = /\b(?:sk|pk|rk|gsk|xai|pplx|hf|nvapi|csk|fw|r8|AIza)[-_][\w*.…-]{6,}|\bAIza[\w-]{10,}/g;

/** The longest piece of a provider's message that is passed on, in characters. */
const MAX_QUOTED = 300;

/** What is cleaned at most, in characters: far more than is shown. */
const MAX_REDACTED = 64 * 1024;
const MAX_READ = 4096;

/** Cleans provider messages of the credentials in use, so that they can be shown. */
export class Scrubber {
  readonly #redactor = new Redactor();

  constructor(secrets: readonly (string | undefined)[]) {
    this.#redactor.setSecrets(secrets.flatMap((secret) => (secret ? [secret, ...secret.split(/\s+/)] : [])));
  }

  /** `text` on one line, without credentials, at most 300 characters. */
  scrub(text: string): string {
    const clean = this.#redactor
      .redact(text.slice(0, MAX_REDACTED))
      .slice(0, MAX_READ)
      .replace(KEY_SHAPES, '[redacted]')
      .replace(/\s+/g, ' ')
      .trim();
    return clean.length > MAX_QUOTED ? `${clean.slice(0, MAX_QUOTED)}...` : clean;
  }
}

/** Shorter values, such as `EMPTY`, are no credentials; blanking them would spoil answers. */
const MIN_MASKED = 12;

/**
 * Replaces credentials that a provider quotes in what its model says, so that none gets into an event or the store.
 * One that a provider splits over network chunks is not seen.
 */
export function maskOf(secrets: readonly (string | undefined)[]): (text: string) => string {
  const known = secrets
    .flatMap((secret) => (secret ? [secret, ...secret.split(/\s+/)] : []))
    .filter((secret) => secret.length >= MIN_MASKED)
    .sort((a, b) => b.length - a.length);
  return (text) => known.reduce((masked, secret) => masked.replaceAll(secret, '[redacted]'), text);
}
