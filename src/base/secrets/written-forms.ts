import { escapeMarkup, unfinishedLength } from '../text.ts';

/** The forms in which an answer may quote a credential. */

/** Backslashes before one character: JSON within JSON within JSON has seven. */
const MAX_BACKSLASHES = 8;
/** The longest escape of one character. */
export const MAX_ESCAPE_LENGTH = MAX_BACKSLASHES + 'u0073'.length;

/** A secret unchanged, percent-encoded, and escaped for HTML. */
export function writtenForms(secret: string): string[] {
  // Lone surrogates cannot be percent-encoded.
  const url = secret.isWellFormed() ? encodeURIComponent(secret) : secret;
  const lower = url.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase());
  return [secret, url, lower, escapeMarkup(secret)];
}

/** Texts that are shorter than this without their backslashes are not searched for: they could be any word. */
export const MIN_BARE_LENGTH = 8;

/**
 * Finds texts some or all of whose characters are escaped, as in JSON (`\u0073k-`, PHP's `\/`, Gson's `\u003d`) or HTML
 * (`&#x2F;`). Both the searched text and the known texts are unescaped once and then compared, so the time does not
 * depend on their content, as that of a regular expression for all spellings would.
 */
export class EscapedTexts {
  readonly #bare: readonly string[];
  readonly #longest: number;
  /** Starts of escapes: bytes without any of them contain no escaped form of the texts. */
  readonly #escapeStarts: readonly Buffer[];

  constructor(texts: readonly string[]) {
    this.#bare = texts.map(plainOf).filter(({ length }) => length >= MIN_BARE_LENGTH);
    this.#longest = Math.max(0, ...this.#bare.map(({ length }) => length));
    const someHas = (characters: RegExp) => texts.some((text) => characters.test(text));
    const starts = [
      '\\u00',
      ...(someHas(/\//) ? ['\\/'] : []),
      ...(someHas(/"/) ? ['\\"'] : []),
      ...(someHas(/\\/) ? ['\\\\'] : []),
      ...(someHas(ESCAPED_IN_HTML) ? ['&#'] : []),
    ];
    this.#escapeStarts = texts.length === 0 ? [] : starts.map((start) => Buffer.from(start));
  }

  mayBeIn(bytes: Buffer): boolean {
    return this.#escapeStarts.some((start) => bytes.includes(start));
  }

  /** Start and end of each text that is found, with the backslashes before it. */
  placesIn(text: string): [number, number][] {
    if (this.#bare.length === 0) return [];
    const reader = new UnescapingReader(text, { piece: PIECE, overlap: this.#longest - 1 });
    const places: [number, number][] = [];
    while (reader.next()) {
      for (const bare of this.#bare) {
        for (let at = reader.plain.indexOf(bare); at !== -1; at = reader.plain.indexOf(bare, at + bare.length)) {
          places.push([reader.startOf(at), reader.endOf(at + bare.length - 1)]);
        }
      }
    }
    return places;
  }

  replaceIn(text: string, replacement: (found: string) => string): string {
    if (!text.includes('\\') && !text.includes('&#')) return text;
    let clean = '';
    let copied = 0;
    for (const [start, end] of this.placesIn(text).sort(([a], [b]) => a - b)) {
      if (start >= copied) clean += text.slice(copied, start) + replacement(text.slice(start, end));
      copied = Math.max(copied, end);
    }
    return copied === 0 ? text : clean + text.slice(copied);
  }

  /** The length of the longest end of a text that may be the start of a known text. */
  unfinishedIn(text: string): number {
    if (this.#bare.length === 0 || !text.includes('\\')) return 0;
    const reader = new UnescapingReader(text);
    reader.next();
    const length = unfinishedLength(reader.plain, this.#bare);
    const start = length === 0 ? reader.unfinishedAt : reader.startOf(reader.plain.length - length);
    return text.length - start;
  }
}

/** A text without its escapes. */
export function plainOf(text: string): string {
  const reader = new UnescapingReader(text);
  reader.next();
  return reader.plain;
}

/** Texts are read in pieces of this many characters, each of which takes six bytes of memory. */
const PIECE = 64 * 1024;

/**
 * Unescapes a text piece by piece: JSON's escapes, however often they were escaped again, complete or cut off at the end
 * of the text, and HTML's numeric ones. All backslashes are left out, because those of the text itself cannot be
 * distinguished from those of escaping.
 */
class UnescapingReader {
  readonly #text: string;
  /** The characters of the current piece after the last `overlap` ones of the piece before, and where each ends. */
  readonly #codes: Uint16Array;
  readonly #ends: Uint32Array;
  readonly #overlap: number;
  #length = 0;
  /** Where the first of the characters begins in the text. */
  #start = 0;
  #at = 0;
  plain = '';
  /** Where an unfinished escape at the end of the text begins, or the end if there is none. */
  unfinishedAt: number;

  constructor(text: string, { piece = text.length, overlap = 0 }: { piece?: number; overlap?: number } = {}) {
    this.#text = text;
    this.unfinishedAt = text.length;
    this.#overlap = overlap;
    const capacity = Math.min(piece, text.length) + overlap;
    this.#codes = new Uint16Array(capacity);
    this.#ends = new Uint32Array(capacity);
  }

  /** Reads the next piece; false after the last one. */
  next(): boolean {
    if (this.#at === this.#text.length) return false;
    const dropped = this.#length - this.#overlap;
    if (dropped > 0) {
      this.#start = this.endOf(dropped - 1);
      for (const values of [this.#codes, this.#ends]) values.copyWithin(0, dropped, this.#length);
      this.#length = this.#overlap;
    }
    while (this.#at < this.#text.length && this.#length < this.#codes.length) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === BACKSLASH || code === AMPERSAND) this.#readEscaped();
      else this.#append(this.#at + 1, code);
    }
    this.plain = Buffer.from(this.#codes.buffer, 0, this.#length * 2).toString('utf16le');
    return true;
  }

  /** Reads a character that may be escaped, with the backslashes before it. */
  #readEscaped(): void {
    const text = this.#text;
    const start = this.#at;
    let at = start;
    while (text.charCodeAt(at) === BACKSLASH) at++;
    let code = text.charCodeAt(at);
    let end = at + 1;
    if (at > start && (code | 0x20) === SMALL_U) {
      const digitsEnd = this.#digitsEnd(end, 4);
      if (digitsEnd === end + 4) {
        code = Number.parseInt(text.slice(end, digitsEnd), 16);
        end = digitsEnd;
      } else if (digitsEnd === text.length) at = digitsEnd;
    } else if (code === AMPERSAND && text.charCodeAt(end) === NUMBER_SIGN) {
      HTML_ESCAPE.lastIndex = at;
      const [found = '', decimal, hex = ''] = HTML_ESCAPE.exec(text) ?? [];
      if (found !== '') code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      end = at + Math.max(1, found.length);
    }
    if (at < text.length) this.#append(end, code);
    else {
      this.unfinishedAt = start;
      this.#at = at;
    }
  }

  #append(end: number, code: number): void {
    this.#at = end;
    if (code === BACKSLASH) return;
    this.#codes[this.#length] = code;
    this.#ends[this.#length++] = end;
  }

  /** Where a run of hexadecimal digits ends, of which at most `max` are read. */
  #digitsEnd(from: number, max: number): number {
    let at = from;
    while (at < from + max && isHexDigit(this.#text.charCodeAt(at))) at++;
    return at;
  }

  /** Where a character of `plain` begins in the text, with the backslashes before it. */
  startOf(place: number): number {
    return place === 0 ? this.#start : this.endOf(place - 1);
  }

  endOf(place: number): number {
    return this.#ends[place] ?? 0;
  }
}

const BACKSLASH = 0x5c;
const AMPERSAND = 0x26;
const NUMBER_SIGN = 0x23;
const SMALL_U = 0x75;
/** A numeric character reference of HTML. */
const HTML_ESCAPE = /&#(?:(\d{1,5})|x([\da-f]{1,4}));/iy;

function isHexDigit(code: number): boolean {
  const letter = code | 0x20;
  return (code >= 0x30 && code <= 0x39) || (letter >= 0x61 && letter <= 0x66);
}

/** Characters that HTML may escape by number. */
const ESCAPED_IN_HTML = /[^\w.-]/;
