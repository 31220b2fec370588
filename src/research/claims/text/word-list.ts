import { foldedPattern } from './fold.ts';

/** Words, beginnings of words and signs, as alternatives of a regular expression: `rose|increas\p{L}*|going to`. */
export class WordList {
  readonly #one: RegExp;
  readonly #all: RegExp;

  constructor(words: string, signs: string) {
    const whole = `(?<!\\p{L})(?:${words})(?!\\p{L})`;
    const pattern = foldedPattern(signs === '' ? whole : `${whole}|${signs}`);
    this.#one = new RegExp(pattern);
    this.#all = new RegExp(pattern, 'g');
  }

  isIn(text: string): boolean {
    return this.#one.test(text);
  }

  /** Those that a text has. */
  in(text: string): string[] {
    return text.match(this.#all) ?? [];
  }

  /** Where they stand in a text. */
  placesIn(text: string): { at: number; word: string }[] {
    return [...text.matchAll(this.#all)].map(({ 0: word, index }) => ({ at: index, word }));
  }
}
