import { type FoundDate, sameDate } from './text/dates.ts';
import type { Figure } from './text/figures.ts';
import type { Clause, Parsed } from './text/parsed.ts';
import { sameFigure } from './text/same-figure.ts';
import { sameName, sameWord, type Word } from './text/words.ts';

/** A word, a figure or a date of a sentence, with the places that tell what it belongs to. */
export interface Mark {
  /** What it may be confused with: another figure of the same dimension, another date, another name. */
  kind: string;
  /** A word that is no name. */
  isPlain: boolean;
  start: number;
  end: number;
  clause: Clause;
  sentence: Parsed;
  of: { word: Word } | { figure: Figure } | { date: FoundDate };
}

/** The marks of some sentences in their order. */
export function marksOf(sentences: readonly Parsed[]): Mark[] {
  return sentences.flatMap((sentence) => sentence.clauses.flatMap((clause) => marksOfClause(clause, sentence)));
}

/** The marks of one clause. German writes all nouns like names: none of them is one for sure. */
function marksOfClause(clause: Clause, sentence: Parsed): Mark[] {
  const { words, figures, dates } = clause;
  const isName = (word: Word) => word.isName && sentence.language !== 'de';
  const place = { clause, sentence };
  const marks: Mark[] = [
    ...words.map((word): Mark => ({ ...place, ...range(word), kind: 'word', isPlain: !isName(word), of: { word } })),
    ...figures.map((figure): Mark => {
      const kind = `figure ${figure.unit?.dimension ?? ''}`;
      return { ...place, ...range(figure), kind, isPlain: false, of: { figure } };
    }),
    ...dates.map((date): Mark => ({ ...place, ...range(date), kind: 'date', isPlain: false, of: { date } })),
  ];
  return marks.sort((a, b) => a.start - b.start);
}

function range({ start, end }: { start: number; end: number }): { start: number; end: number } {
  return { start, end };
}

/** Whether a mark of a claim is one of its source. */
export function sameMark({ of: claim }: Mark, { of: source }: Mark): boolean {
  if ('word' in claim && 'word' in source) {
    return claim.word.isName && source.word.isName
      ? sameName(claim.word.text, source.word.text)
      : sameWord(claim.word.text, source.word.text);
  }
  if ('figure' in claim && 'figure' in source) return sameFigure(claim.figure, source.figure);
  return 'date' in claim && 'date' in source && sameDate(claim.date, source.date);
}

/** Whether a mark stands among others. */
export function isAmong(mark: Mark, others: readonly Mark[]): boolean {
  return others.some((other) => sameMark(mark, other));
}
