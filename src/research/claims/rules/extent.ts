import { type ClauseOf, likeness } from '../likeness.ts';
import { CJK } from '../text/fold.ts';
import type { Clause, Sentence } from '../text/parse-sentence.ts';
import { isOneOf } from '../text/words.ts';
import { HEDGES, NEGATIONS, POSSIBLE, RANKED, UNIVERSAL } from './lexicon.ts';

/** Rules for claims that say more than their source: all for some, done for planned, the first for the second. */

/** Whether a claim generalizes to all what no sentence of its passage does. */
export function isGeneralized({ folded }: Sentence, passage: readonly Sentence[]): boolean {
  if (!UNIVERSAL.isIn(folded) || NEGATIONS.isIn(folded)) return false;
  return !passage.some((sentence) => UNIVERSAL.isIn(sentence.folded));
}

/** Whether a source has only the second or third of its kind where a claim has the first. */
export function isRanked({ folded }: Sentence, { clause }: ClauseOf): boolean {
  return RANKED.isIn(clause.text) && !RANKED.isIn(folded);
}

/**
 * Whether a claim states what its source only plans or holds possible: in the best clause, or in another clause of its
 * sentence that has a date or figure of the claim.
 */
export function isOnlyPlanned(claim: Sentence, own: Clause, { clause, sentence }: ClauseOf): boolean {
  const facts = { words: [], figures: own.figures, dates: own.dates };
  const otherWords = own.words.filter((word) => !isOneOf(word, clause.words));
  const isPlanned = sentence.clauses.some(
    (each) =>
      (each === clause ||
        likeness(facts, each) > 0 ||
        (CJK.test(claim.text) && likeness({ ...facts, words: otherWords }, each) > 1)) &&
      isHedged(sentence, each),
  );
  return isPlanned && !leavesOpen(claim);
}

/** Whether a claim says itself that something is to come, possible, or not so. */
function leavesOpen(claim: Sentence): boolean {
  const { folded, language } = claim;
  return (
    isHedged(claim, { start: 0, end: folded.length }) ||
    POSSIBLE.isIn(folded) ||
    NEGATIONS.isIn(folded) ||
    (language === 'fr' && FRENCH_FUTURE.test(folded))
  );
}

function isHedged({ text, folded }: Sentence, { start, end }: Pick<Clause, 'start' | 'end'>): boolean {
  return HEDGES.isIn(folded.slice(start, end)) || FUTURE.test(text.slice(start, end));
}

/** The future of Spanish and Italian verbs: its accents are lost when text is folded. */
const FUTURE = /(?<!\p{L})\p{L}{2,}(?:r[áà]n?|ranno)(?!\p{L})/u;
/** The future and the conditional of French verbs. In other languages nouns have the same endings: `salmuera`. */
const FRENCH_FUTURE = /(?<!\p{L})\p{L}{2,}(?:rait|raient|ira|era|eront|iront)(?!\p{L})/u;
