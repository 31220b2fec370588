import { foldedPattern } from './fold.ts';

/**
 * A set of words, as lines of alternatives of a regular expression: `rose|increas*|going to`, where `*` is any ending. After
 * `~` are signs that match anywhere, for scripts without spaces.
 */
export class WordList {
  /** One expression for all uses, because its first use takes a millisecond. */
  readonly #words: RegExp;

  constructor(table: string) {
    const [words = '', signs] = table.split('~').map((part) =>
      part
        .trim()
        .replaceAll('\n', '|')
        .replace(/(?<!\})\*/g, '\\p{L}*'),
    );
    const whole = `(?<!\\p{L})(?:${words})(?!\\p{L})`;
    this.#words = new RegExp(foldedPattern(signs === undefined ? whole : `${whole}|${signs}`), 'g');
  }

  isIn(text: string): boolean {
    return text.search(this.#words) !== -1;
  }

  in(text: string): string[] {
    return text.match(this.#words) ?? [];
  }

  /** The matches in a text and where they start. */
  placesIn(text: string): { at: number; word: string }[] {
    return [...text.matchAll(this.#words)].map(({ 0: word, index }) => ({ at: index, word }));
  }
}

/** Groups of word lists, a list each line, with an empty line between groups. */
export function wordGroups(table: string): WordList[][] {
  return table
    .trim()
    .split('\n\n')
    .map((group) => group.split('\n').map((line) => new WordList(line)));
}
