import { foldedPattern } from './fold.ts';

/** A text with its words: word lists are asked for the same text many times. */
export interface Spoken {
  text: string;
  words: readonly string[];
}

/** The words of a folded text. */
export function spoken(text: string): Spoken {
  return { text, words: text.match(WORD) ?? [] };
}
const WORD = /\p{L}+(?:'\p{L}+)*/gu;

/**
 * Words, beginnings of words and signs, as alternatives of a regular expression: `rose|increas\p{L}*|going to`. Most are
 * looked up in sets; only those that are neither a word nor a beginning cost an expression.
 */
export class WordList {
  readonly #words = new Set<string>();
  /** Beginnings of words by their first two letters. */
  readonly #beginnings = new Map<string, string[]>();
  readonly #others: RegExp | undefined;
  readonly #all: RegExp;

  constructor(words: string, signs: string) {
    const others: string[] = [];
    for (const word of alternatives(words)) {
      const beginning = /^(\p{L}+)\\p\{L\}\*$/u.exec(word)?.[1];
      if (beginning !== undefined && beginning.length >= HEAD) this.#addBeginning(beginning);
      else if (/^\p{L}+$/u.test(word)) this.#words.add(word);
      else others.push(whole(word));
    }
    const rest = [...others, ...(signs === '' ? [] : [signs])].join('|');
    this.#others = rest === '' ? undefined : new RegExp(foldedPattern(rest));
    this.#all = new RegExp(foldedPattern([whole(words), ...(signs === '' ? [] : [signs])].join('|')), 'g');
  }

  isIn({ text, words }: Spoken): boolean {
    return words.some((word) => this.#has(word)) || this.#others?.test(text) === true;
  }

  /** Those that a text has. */
  in({ text, words }: Spoken): string[] {
    const found = words.filter((word) => this.#has(word));
    // The expression of all words costs too much to look for a few.
    return this.#others?.test(text) ? [...found, ...(text.match(new RegExp(this.#others, 'g')) ?? [])] : found;
  }

  /** Where they stand in a text. */
  placesIn(text: string): { at: number; word: string }[] {
    return [...text.matchAll(this.#all)].map(({ 0: word, index }) => ({ at: index, word }));
  }

  #addBeginning(beginning: string): void {
    const head = beginning.slice(0, HEAD);
    this.#beginnings.set(head, [...(this.#beginnings.get(head) ?? []), beginning]);
  }

  #has(word: string): boolean {
    if (this.#words.has(word)) return true;
    const beginnings = word.length < HEAD ? undefined : this.#beginnings.get(word.slice(0, HEAD));
    return beginnings?.some((beginning) => word.startsWith(beginning)) ?? false;
  }
}
const HEAD = 2;

function whole(words: string): string {
  return `(?<!\\p{L})(?:${words})(?!\\p{L})`;
}

/** The alternatives of an expression that stand in no group. */
export function alternatives(pattern: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < pattern.length; at++) {
    const sign = pattern[at];
    if (sign === '(' || sign === '[') depth++;
    else if (sign === ')' || sign === ']') depth--;
    else if (sign === '|' && depth === 0) {
      found.push(pattern.slice(from, at));
      from = at + 1;
    }
  }
  return [...found, pattern.slice(from)];
}
