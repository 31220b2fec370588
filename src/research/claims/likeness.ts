import { sameDate } from './text/dates.ts';
import type { Clause, Sentence } from './text/parse-sentence.ts';
import { sameFigure } from './text/same-figure.ts';
import { isOneOf } from './text/words.ts';

/** Finds what in a passage a claim, or a part of it, seems to rest on. */

/** A clause with the sentence that it is in. */
export interface ClauseOf {
  clause: Clause;
  sentence: Sentence;
}

/** How similar two clauses or sentences are: figures and dates weigh most, then names, then words. */
export function likeness(
  claim: Pick<Clause, 'words' | 'figures' | 'dates'>,
  source: Pick<Clause, 'words' | 'figures' | 'dates'>,
): number {
  let shared = 0;
  for (const word of claim.words) if (isOneOf(word, source.words)) shared += word.isName ? 1.5 : 1;
  for (const figure of claim.figures) {
    // The number of a name, such as `COVID-19`, says no more than the name.
    if (figure.label === undefined && source.figures.some((other) => sameFigure(figure, other))) shared += 3;
  }
  for (const date of claim.dates) if (source.dates.some((other) => sameDate(date, other))) shared += 2;
  return shared;
}

/** The sentence of a passage that is most like a claim. */
export function mainOf(claim: Sentence, sentences: readonly Sentence[]): Sentence {
  return mostLike(claim, sentences, (sentence) => sentence) ?? claim;
}

/** Each clause of a claim with the clause of a passage that is most like it, if any is. */
export function clausePairs(claim: Sentence, sentences: readonly Sentence[]): { own: Clause; theirs: ClauseOf }[] {
  const all = sentences.flatMap((sentence) => sentence.clauses.map((clause): ClauseOf => ({ clause, sentence })));
  return claim.clauses.flatMap((own) => {
    const theirs = mostLike(own, all, ({ clause }) => clause);
    return theirs && likeness(own, theirs.clause) > 0 ? [{ own, theirs }] : [];
  });
}

function mostLike<T>(
  claim: Clause | Sentence,
  all: readonly T[],
  partsOf: (each: T) => Clause | Sentence,
): T | undefined {
  if (all.length < 2) return all[0];
  let best: { each: T; score: number } | undefined;
  for (const each of all) {
    const score = likeness(claim, partsOf(each));
    if (!best || score > best.score) best = { each, score };
  }
  return best?.each;
}
