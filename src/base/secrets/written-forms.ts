import { escapedMarkup, unfinishedEnd } from '../text.ts';

/** How a credential may be written in what somebody answers. */

/** Backslashes before one character: JSON within JSON within JSON has seven. */
const MOST_BACKSLASHES = 8;
/** The characters of one escaped character at most. */
export const LONGEST_ESCAPE = MOST_BACKSLASHES + 'u0073'.length;

/** As it is, in an address and in HTML. */
export function writtenForms(secret: string): string[] {
  // A part of a character cannot be written in an address.
  const url = secret.isWellFormed() ? encodeURIComponent(secret) : secret;
  const lower = url.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase());
  return [secret, url, lower, escapedMarkup(secret)];
}

/** An escape of JSON, however often it was escaped again, whole or begun at the end of a text. */
const ESCAPE = /\\+(?:u([\da-f]{4})|u[\da-f]{0,3}$)?/gi;

/**
 * Finds texts that are written with escapes, all of their characters or some: of JSON (`\u0073k-`, PHP's `\/`, Gson's
 * `\u003d`), or of HTML (`&#x2F;`).
 */
export class EscapedTexts {
  readonly #texts: readonly string[];
  /** Made when they are needed first: most never are. */
  #made: readonly RegExp[] | undefined;
  /** Without one of these nothing is escaped that could be in such a text. */
  readonly #signs: readonly Buffer[];

  constructor(texts: readonly string[]) {
    this.#texts = texts;
    const among = (signs: RegExp) => texts.some((text) => signs.test(text));
    const signs = [
      '\\u00',
      ...(among(/\//) ? ['\\/'] : []),
      ...(among(/"/) ? ['\\"'] : []),
      ...(among(MARK) ? ['&#'] : []),
    ];
    this.#signs = texts.length === 0 ? [] : signs.map((sign) => Buffer.from(sign));
  }

  get #patterns(): readonly RegExp[] {
    this.#made ??= this.#texts.map((text) => new RegExp(Array.from(text, patternOf).join(''), 'g'));
    return this.#made;
  }

  mayBeIn(bytes: Buffer): boolean {
    return this.#signs.some((sign) => bytes.includes(sign));
  }

  /** Where they stand. */
  placesIn(text: string): [number, number][] {
    return this.#patterns.flatMap((pattern) =>
      [...text.matchAll(pattern)].map(({ index, 0: found }): [number, number] => [index, index + found.length]),
    );
  }

  replaceIn(text: string, shown: (found: string) => string): string {
    if (!text.includes('\\') && !text.includes('&#')) return text;
    return this.#patterns.reduce((clean, pattern) => clean.replace(pattern, shown), text);
  }

  /** The length of the longest end of a text with which one of them may begin. */
  unfinishedIn(text: string): number {
    if (this.#texts.length === 0 || !text.includes('\\')) return 0;
    let plain = '';
    const starts: number[] = [];
    let copied = 0;
    const copy = (end: number) => {
      for (; copied < end; copied++) {
        starts.push(copied);
        plain += text[copied];
      }
    };
    for (const { index, 0: found, 1: code } of text.matchAll(ESCAPE)) {
      copy(index);
      copied = index + found.length;
      const isBegun = copied === text.length && code === undefined;
      if (code !== undefined) {
        starts.push(index);
        plain += String.fromCharCode(Number.parseInt(code, 16));
      }
      if (isBegun) starts.push(index);
    }
    copy(text.length);
    const begun = starts.length - plain.length;
    const length = unfinishedEnd(plain, this.#texts) + begun;
    return length === 0 ? 0 : text.length - (starts.at(-length) ?? text.length);
  }
}

/** What is escaped in HTML, by number. */
const MARK = /[^\w.-]/;

/** One character, as it is or escaped. */
function patternOf(character: string): string {
  const code = character.charCodeAt(0).toString(16).padStart(4, '0');
  const digits = code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
  const short = digits.slice(2);
  const entity = MARK.test(character) ? `|&#(?:${character.charCodeAt(0)}|[xX]${short});` : '';
  return `(?:\\\\{0,${MOST_BACKSLASHES}}\\u${code}|\\\\{1,${MOST_BACKSLASHES}}u${digits}${entity})`;
}
