import { foldedPattern } from './fold.ts';

/**
 * A set of words, as lines of alternatives of a regular expression: `rose|increas*|going to`, where `*` is any ending. After
 * `~` are signs that match anywhere, for scripts without spaces.
 */
export class WordList {
  readonly #one: RegExp;
  readonly #all: RegExp;

  constructor(table: string) {
    const [words = '', signs] = table
      .split('~')
      .map((part) => part.trim().replaceAll('\n', '|').replaceAll('*', '\\p{L}*'));
    const whole = `(?<!\\p{L})(?:${words})(?!\\p{L})`;
    const pattern = foldedPattern(signs === undefined ? whole : `${whole}|${signs}`);
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

/** Groups of word lists, a list each line, with an empty line between groups. */
export function wordGroups(table: string): WordList[][] {
  return table
    .trim()
    .split('\n\n')
    .map((group) => group.split('\n').map((line) => new WordList(line)));
}
