import { foldedPattern } from './fold.ts';

/**
 * A set of words, as alternatives of a regular expression: `rose|increas\p{L}*|going to`. `signs` are matched anywhere, for
 * scripts without spaces.
 */
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

  in(text: string): string[] {
    return text.match(this.#all) ?? [];
  }

  /** The matches in a text and where they start. */
  placesIn(text: string): { at: number; word: string }[] {
    return [...text.matchAll(this.#all)].map(({ 0: word, index }) => ({ at: index, word }));
  }
}
