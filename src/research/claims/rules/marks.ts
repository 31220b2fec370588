import { type FoundDate, sameDate } from '../text/dates.ts';
import type { Figure } from '../text/figures.ts';
import type { Clause, Sentence } from '../text/parse-sentence.ts';
import { sameFigure } from '../text/same-figure.ts';
import { sameName, sameWord, type Word } from '../text/words.ts';

/** A word, a figure or a date of a sentence, with its clause and sentence. */
export interface Mark {
  /** Marks of one kind may be confused: figures of the same dimension, dates, words. */
  kind: string;
  /** A word that is not a name. */
  isPlain: boolean;
  start: number;
  end: number;
  clause: Clause;
  sentence: Sentence;
  of: { word: Word } | { figure: Figure } | { date: FoundDate };
}

/** The marks of sentences, in order. */
export function marksOf(sentences: readonly Sentence[]): Mark[] {
  return sentences.flatMap((sentence) => sentence.clauses.flatMap((clause) => marksOfClause(clause, sentence)));
}

/** The marks of one clause. German capitalises all nouns, so that no word is certain to be a name. */
function marksOfClause(clause: Clause, sentence: Sentence): Mark[] {
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

/** Whether a mark of a claim and one of its source mean the same. */
export function sameMark({ of: claim }: Mark, { of: source }: Mark): boolean {
  if ('word' in claim && 'word' in source) {
    return claim.word.isName && source.word.isName
      ? sameName(claim.word.text, source.word.text)
      : sameWord(claim.word.text, source.word.text);
  }
  if ('figure' in claim && 'figure' in source) return sameFigure(claim.figure, source.figure);
  return 'date' in claim && 'date' in source && sameDate(claim.date, source.date);
}

/** Whether others contain the same mark. */
export function isAmong(mark: Mark, others: readonly Mark[]): boolean {
  return others.some((other) => sameMark(mark, other));
}
