import type { JsonObject, JsonValue } from '../../base/json.ts';

/** Text nested deeper than this is not JSON that a model meant to write. */
const MAX_DEPTH = 64;

/**
 * Reads the first JSON value in `text` as models write it: with comments, single, curly or missing quotes, trailing
 * commas, raw newlines in strings, Python's `True`, `False` and `None`, and brackets or quotes left open at the end. The
 * arguments of a Python call, `(key="value")`, are an object.
 * Undefined if there is none. `end`: the index after the value; `whole`: whether the value was closed.
 */
export function repairJson(text: string): { value: JsonValue; end: number; whole: boolean } | undefined {
  const start = text.startsWith('(') ? 0 : text.search(/[{[]/);
  if (start === -1) return undefined;
  const reader = new LenientReader(text, start);
  try {
    const value = reader.value(0);
    return { value, end: Math.min(reader.at, text.length), whole: !reader.ranOut };
  } catch (error) {
    if (error instanceof NotJson) return undefined;
    throw error;
  }
}

class NotJson extends Error {}

const QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”', '‘': '’', '`': '`' };
const WORDS: Readonly<Record<string, JsonValue>> = {
  true: true,
  false: false,
  null: null,
  True: true,
  False: false,
  None: null,
  undefined: null,
  NaN: null,
};
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

const JSON_ENDS = { word: /^[^,}\]\n]*/, string: /^\s*(?:[,:}\]]|$|\/\/|\/\*)/ };
const CALL_ENDS = { word: /^[^,})\]\n]*/, string: /^\s*(?:[,:})\]]|$|\/\/|\/\*)/ };

class LenientReader {
  readonly #text: string;
  /** What ends a word, and what follows the quote that ends a string. */
  readonly #ends: { word: RegExp; string: RegExp };
  at: number;
  ranOut = false;

  constructor(text: string, at: number) {
    this.#text = text;
    this.at = at;
    this.#ends = text[at] === '(' ? CALL_ENDS : JSON_ENDS;
  }

  value(depth: number): JsonValue {
    if (depth > MAX_DEPTH) throw new NotJson();
    this.#skipSpace();
    const char = this.#text[this.at];
    if (char === '{') return this.#object(depth, '}');
    if (char === '(' && depth === 0) return this.#object(depth, ')');
    if (char === '[') return this.#array(depth);
    if (char !== undefined && char in QUOTES) return this.#string();
    return this.#word();
  }

  #object(depth: number, closing: '}' | ')'): JsonObject {
    const entries: [string, JsonValue][] = [];
    this.#untilClosed(closing, (char) => {
      const key = char in QUOTES ? this.#string() : this.#bareKey();
      this.#skipSpace();
      if (this.at >= this.#text.length) return;
      const separator = this.#text[this.at];
      if (separator !== ':' && !(separator === '=' && closing === ')')) throw new NotJson();
      this.at += 1;
      this.#skipSpace();
      if (this.at < this.#text.length) entries.push([key, this.value(depth + 1)]);
    });
    return Object.fromEntries(entries);
  }

  #array(depth: number): JsonValue[] {
    const list: JsonValue[] = [];
    this.#untilClosed(']', () => list.push(this.value(depth + 1)));
    return list;
  }

  /** Reads entries up to the closing bracket or the end of the text, whatever commas stand between them. */
  #untilClosed(closing: string, readEntry: (char: string) => void): void {
    for (this.at += 1; ; ) {
      this.#skipSpace();
      const char = this.#text[this.at];
      if (char === undefined) this.ranOut = true;
      else if (char === ',' || char === closing) this.at += 1;
      else readEntry(char);
      if (char === undefined || char === closing) return;
    }
  }

  #string(): string {
    const quote = QUOTES[this.#text[this.at] ?? ''] ?? '"';
    let result = '';
    for (this.at += 1; this.at < this.#text.length; this.at += 1) {
      const char = this.#text[this.at];
      if (char === '\\') result += this.#escape();
      else if (char === quote && this.#endsString(quote)) {
        this.at += 1;
        return result;
      } else result += char;
    }
    this.ranOut = true;
    return result;
  }

  /** An unescaped quote inside a string is not followed by `,` `:` `}` `]`, a comment or the end of the text. */
  #endsString(quote: string): boolean {
    if (this.#ends.string.test(this.#text.slice(this.at + 1, this.at + 64))) return true;
    return this.#text.indexOf(quote, this.at + 1) === -1;
  }

  #escape(): string {
    this.at += 1;
    const char = this.#text[this.at] ?? '';
    if (char === 'u') {
      const hex = this.#text.slice(this.at + 1, this.at + 5);
      if (/^[0-9a-f]{4}$/i.test(hex)) {
        this.at += 4;
        return String.fromCharCode(Number.parseInt(hex, 16));
      }
    }
    return ESCAPES[char] ?? char;
  }

  #bareKey(): string {
    const key = /^[\w$.-]+/.exec(this.#text.slice(this.at, this.at + 128))?.[0];
    if (key === undefined) throw new NotJson();
    this.at += key.length;
    return key;
  }

  /** A number, a word such as `True`, or text that the model forgot to quote. */
  #word(): JsonValue {
    const bare = this.#ends.word.exec(this.#text.slice(this.at))?.[0] ?? '';
    const word = bare.trim();
    if (word === '') throw new NotJson();
    this.at += bare.length;
    if (this.at >= this.#text.length) this.ranOut = true;
    if (Object.hasOwn(WORDS, word)) return WORDS[word] ?? null;
    return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(word) ? Number(word) : word;
  }

  #skipSpace(): void {
    const skipped = /^(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/.exec(this.#text.slice(this.at, this.at + 4096));
    if (skipped) this.at += skipped[0].length;
  }
}
