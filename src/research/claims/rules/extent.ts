import { type ClauseOf, likeness } from '../likeness.ts';
import type { Clause, Sentence } from '../text/parse-sentence.ts';
import { HEDGES, NEGATIONS, POSSIBLE, UNIVERSAL } from './lexicon.ts';

/** Rules for claims that say more than their source: all for some, done for planned. */

/** Whether a claim generalizes to all what no sentence of its passage does. */
export function isGeneralized({ folded }: Sentence, passage: readonly Sentence[]): boolean {
  if (!UNIVERSAL.isIn(folded) || NEGATIONS.isIn(folded)) return false;
  return !passage.some((sentence) => UNIVERSAL.isIn(sentence.folded));
}

/**
 * Whether a claim states what its source only plans or holds possible: in the best clause, or in another clause of its
 * sentence that has a date or figure of the claim.
 */
export function isOnlyPlanned({ folded }: Sentence, own: Clause, { clause, sentence }: ClauseOf): boolean {
  // It may say itself that something is to come, possible, or not so.
  if ([HEDGES, POSSIBLE, NEGATIONS].some((words) => words.isIn(folded))) return false;
  const facts = { words: [], figures: own.figures, dates: own.dates };
  return sentence.clauses.some((each) => (each === clause || likeness(facts, each) > 0) && HEDGES.isIn(each.text));
}
