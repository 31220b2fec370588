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

/** Texts that are shorter without their backslashes are not looked for: they could be any word. */
const SHORTEST_BARE = 8;

/**
 * Finds texts that are written with escapes, all of their characters or some: of JSON (`\u0073k-`, PHP's `\/`, Gson's
 * `\u003d`), or of HTML (`&#x2F;`). What is looked at and what is looked for are read in the same way, each once: the time
 * does not depend on what they hold, as that of a pattern for all ways to write a text would.
 */
export class EscapedTexts {
  readonly #bare: readonly string[];
  readonly #longest: number;
  /** Without one of these nothing is escaped that could be in such a text. */
  readonly #signs: readonly Buffer[];

  constructor(texts: readonly string[]) {
    this.#bare = texts.map(plainOf).filter(({ length }) => length >= SHORTEST_BARE);
    this.#longest = Math.max(0, ...this.#bare.map(({ length }) => length));
    const among = (signs: RegExp) => texts.some((text) => signs.test(text));
    const signs = [
      '\\u00',
      ...(among(/\//) ? ['\\/'] : []),
      ...(among(/"/) ? ['\\"'] : []),
      ...(among(/\\/) ? ['\\\\'] : []),
      ...(among(MARK) ? ['&#'] : []),
    ];
    this.#signs = texts.length === 0 ? [] : signs.map((sign) => Buffer.from(sign));
  }

  mayBeIn(bytes: Buffer): boolean {
    return this.#signs.some((sign) => bytes.includes(sign));
  }

  /** Where they stand, with the backslashes before them. */
  placesIn(text: string): [number, number][] {
    if (this.#bare.length === 0) return [];
    const read = new ReadText(text, { piece: PIECE, kept: this.#longest - 1 });
    const places: [number, number][] = [];
    while (read.next()) {
      for (const bare of this.#bare) {
        for (let at = read.plain.indexOf(bare); at !== -1; at = read.plain.indexOf(bare, at + bare.length)) {
          places.push([read.startOf(at), read.endOf(at + bare.length - 1)]);
        }
      }
    }
    return places;
  }

  replaceIn(text: string, shown: (found: string) => string): string {
    if (!text.includes('\\') && !text.includes('&#')) return text;
    let clean = '';
    let copied = 0;
    for (const [start, end] of this.placesIn(text).sort(([a], [b]) => a - b)) {
      if (start >= copied) clean += text.slice(copied, start) + shown(text.slice(start, end));
      copied = Math.max(copied, end);
    }
    return copied === 0 ? text : clean + text.slice(copied);
  }

  /** The length of the longest end of a text with which one of them may begin. */
  unfinishedIn(text: string): number {
    if (this.#bare.length === 0 || !text.includes('\\')) return 0;
    const read = new ReadText(text);
    read.next();
    const length = unfinishedEnd(read.plain, this.#bare);
    return length === 0 ? text.length - read.begun : text.length - read.startOf(read.plain.length - length);
  }
}

function plainOf(text: string): string {
  const read = new ReadText(text);
  read.next();
  return read.plain;
}

/** A text is read in pieces of so many characters: what is known of each takes six bytes. */
const PIECE = 64 * 1024;

/**
 * A text with its escapes read, piece by piece: those of JSON, however often they were escaped again, whole or begun at the
 * end of the text, and those of HTML by number. Backslashes are left out, which are never told from those that others put
 * there.
 */
class ReadText {
  readonly #text: string;
  /** What is read of the piece, and of the one before as much as `kept` says: characters, and where each ends. */
  readonly #codes: Uint16Array;
  readonly #ends: Uint32Array;
  readonly #kept: number;
  #length = 0;
  /** Where the first of them begins. */
  #from = 0;
  #at = 0;
  plain = '';
  /** Where an unfinished escape at the end begins; without one, the end. */
  begun: number;

  constructor(text: string, { piece = text.length, kept = 0 }: { piece?: number; kept?: number } = {}) {
    this.#text = text;
    this.begun = text.length;
    this.#kept = kept;
    const most = Math.min(piece, text.length) + kept;
    this.#codes = new Uint16Array(most);
    this.#ends = new Uint32Array(most);
  }

  /** Reads a piece; false behind the last one. */
  next(): boolean {
    if (this.#at === this.#text.length) return false;
    const moved = this.#length - this.#kept;
    if (moved > 0) {
      this.#from = this.endOf(moved - 1);
      for (const places of [this.#codes, this.#ends]) places.copyWithin(0, moved, this.#length);
      this.#length = this.#kept;
    }
    while (this.#at < this.#text.length && this.#length < this.#codes.length) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === BACKSLASH || code === AMPERSAND) this.#step();
      else this.#take(this.#at + 1, code);
    }
    this.plain = Buffer.from(this.#codes.buffer, 0, this.#length * 2).toString('utf16le');
    return true;
  }

  /** Reads a character that may be escaped, with the backslashes before it. */
  #step(): void {
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
      MARKED.lastIndex = at;
      const [found = '', decimal, hex = ''] = MARKED.exec(text) ?? [];
      if (found !== '') code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      end = at + Math.max(1, found.length);
    }
    if (at < text.length) this.#take(end, code);
    else {
      this.begun = start;
      this.#at = at;
    }
  }

  #take(end: number, code: number): void {
    this.#at = end;
    if (code === BACKSLASH) return;
    this.#codes[this.#length] = code;
    this.#ends[this.#length++] = end;
  }

  /** Where hexadecimal digits end, so many at most. */
  #digitsEnd(from: number, most: number): number {
    let at = from;
    while (at < from + most && isDigit(this.#text.charCodeAt(at))) at++;
    return at;
  }

  /** Where a character of `plain` is written, with what was left out before it. */
  startOf(place: number): number {
    return place === 0 ? this.#from : this.endOf(place - 1);
  }

  endOf(place: number): number {
    return this.#ends[place] ?? 0;
  }
}

const BACKSLASH = 0x5c;
const AMPERSAND = 0x26;
const NUMBER_SIGN = 0x23;
const SMALL_U = 0x75;
/** A character of HTML by its number. */
const MARKED = /&#(?:(\d{1,5})|x([\da-f]{1,4}));/iy;

function isDigit(code: number): boolean {
  const letter = code | 0x20;
  return (code >= 0x30 && code <= 0x39) || (letter >= 0x61 && letter <= 0x66);
}

/** What is escaped in HTML, by number. */
const MARK = /[^\w.-]/;
