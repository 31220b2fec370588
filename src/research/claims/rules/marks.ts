import { type FoundDate, sameDate } from '../text/dates.ts';
import type { Figure } from '../text/figures.ts';
import type { Clause, Sentence } from '../text/parse-sentence.ts';
import { sameFigure } from '../text/same-figure.ts';
import { sameName, sameWord, type Word } from '../text/words.ts';

/** A word, a figure or a date of a sentence, with its clause and sentence. */
export interface Mark {
  /** Marks of one kind may be confused: figures of the same dimension, dates, words. */
  kind: string;
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

function marksOfClause(clause: Clause, sentence: Sentence): Mark[] {
  const { words, figures, dates } = clause;
  const markAt = ({ start, end }: { start: number; end: number }, kind: string, of: Mark['of']): Mark => {
    return { start, end, kind, clause, sentence, of };
  };
  const marks = [
    ...words.map((word) => markAt(word, 'word', { word })),
    ...figures.map((figure) => markAt(figure, `figure ${figure.unit?.dimension ?? ''}`, { figure })),
    ...dates.map((date) => markAt(date, 'date', { date })),
  ];
  return marks.sort((a, b) => a.start - b.start);
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
