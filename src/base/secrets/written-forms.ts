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

/** An escape of JSON, however often it was escaped again, whole or begun at the end of a text, or of HTML by number. */
const ESCAPE = /\\+(?:u([\da-f]{4})|u[\da-f]{0,3}$)?|&#(?:(\d{1,5})|x([\da-f]{1,4}));/gi;
const BACKSLASH = '\\';
/** Texts that are shorter without their backslashes are not looked for: they could be any word. */
const SHORTEST_BARE = 8;

/**
 * Finds texts that are written with escapes, all of their characters or some: of JSON (`\u0073k-`, PHP's `\/`, Gson's
 * `\u003d`), or of HTML (`&#x2F;`). What is looked at and what is looked for are read in the same way, each once: the time
 * does not depend on what they hold, as that of a pattern for all ways to write a text would.
 */
export class EscapedTexts {
  readonly #bare: readonly string[];
  /** Without one of these nothing is escaped that could be in such a text. */
  readonly #signs: readonly Buffer[];

  constructor(texts: readonly string[]) {
    this.#bare = texts.map((text) => new ReadText(text).plain).filter(({ length }) => length >= SHORTEST_BARE);
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
    const read = new ReadText(text);
    const places: [number, number][] = [];
    for (const bare of this.#bare) {
      for (let at = read.plain.indexOf(bare); at !== -1; at = read.plain.indexOf(bare, at + bare.length)) {
        places.push([read.startOf(at), read.endOf(at + bare.length - 1)]);
      }
    }
    return places;
  }

  replaceIn(text: string, shown: (found: string) => string): string {
    if (!text.includes(BACKSLASH) && !text.includes('&#')) return text;
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
    if (this.#bare.length === 0 || !text.includes(BACKSLASH)) return 0;
    const read = new ReadText(text);
    const length = unfinishedEnd(read.plain, this.#bare);
    return length === 0 ? text.length - read.begun : text.length - read.startOf(read.plain.length - length);
  }
}

/** A text with its escapes read: without backslashes, which are never told from those that others put there. */
class ReadText {
  readonly plain: string;
  /** Where an unfinished escape at the end begins; without one, the end. */
  readonly begun: number;
  /** The pieces of `plain`: where each begins, where the escape before it does, and where its first character is written. */
  readonly #at: number[] = [0];
  readonly #lead: number[] = [0];
  readonly #from: number[] = [0];

  constructor(text: string) {
    let plain = '';
    let copied = 0;
    this.begun = text.length;
    for (const { index, 0: found, 1: json, 2: decimal, 3: hex } of text.matchAll(ESCAPE)) {
      plain += text.slice(copied, index);
      copied = index + found.length;
      const code = decimal === undefined ? Number.parseInt(json ?? hex ?? '', 16) : Number(decimal);
      const character = Number.isNaN(code) ? BACKSLASH : String.fromCharCode(code);
      if (copied === text.length && json === undefined && found.startsWith(BACKSLASH)) this.begun = index;
      if (character === BACKSLASH) this.#piece(plain.length, index, copied);
      else {
        this.#piece(plain.length, index, copied - 1);
        plain += character;
        this.#piece(plain.length, copied, copied);
      }
    }
    this.plain = plain + text.slice(copied);
  }

  #piece(at: number, lead: number, from: number): void {
    this.#at.push(at);
    this.#lead.push(lead);
    this.#from.push(from);
  }

  /** Where a character of `plain` is written. */
  startOf(place: number): number {
    const piece = this.#pieceOf(place);
    return place === this.#at[piece] ? (this.#lead[piece] ?? 0) : this.endOf(place) - 1;
  }

  endOf(place: number): number {
    const piece = this.#pieceOf(place);
    return (this.#from[piece] ?? 0) + place - (this.#at[piece] ?? 0) + 1;
  }

  /** The last one that begins there or before. */
  #pieceOf(place: number): number {
    let [low, high] = [0, this.#at.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#at[middle] ?? 0) <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** What is escaped in HTML, by number. */
const MARK = /[^\w.-]/;
