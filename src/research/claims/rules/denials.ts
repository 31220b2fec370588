import { CJK } from '../text/fold.ts';
import type { Clause, Sentence } from '../text/parse-sentence.ts';
import { isOneOf, type Word } from '../text/words.ts';
import { DENIALS, NEGATIONS } from './lexicon.ts';

/** How many negations are compared; no sentence has more. */
const MAX_NEGATIONS = 12;

/** How many characters may be between a word and the Japanese negation that applies to it. */
const CJK_REACH = 4;

/**
 * Whether a claim or its passage negates what the other affirms. Negations of the same words cancel out; if both have one
 * left, they may say the same in different words.
 */
export function isDenied(claim: Sentence, source: readonly Sentence[]): boolean {
  const ofClaim = claim.clauses.flatMap(negationsOf).slice(0, MAX_NEGATIONS);
  const ofSource = source.flatMap(({ clauses }) => clauses.flatMap(negationsOf)).slice(0, MAX_NEGATIONS);
  if (ofClaim.length + ofSource.length === 0) return false;
  const freeOfClaim = ofClaim.filter((denied) => !ofSource.some((other) => denySame(denied, other)));
  const freeOfSource = ofSource.filter((denied) => !ofClaim.some((other) => denySame(other, denied)));
  const words = source.flatMap((sentence) => sentence.words);
  if (freeOfSource.length === 0) {
    const rest = without(words, ofSource);
    return freeOfClaim.some((denied) => denied.some((word) => isOneOf(word, rest))) && !deniesOtherwise(claim, source);
  }
  const isSaidOtherwise = source.every((sentence) => deniesOtherwise(sentence, [claim]));
  if (freeOfClaim.length > 0 || isSaidOtherwise) return false;
  const own = without(claim.words, ofClaim);
  const theirs = without(words, ofSource);
  return freeOfSource.some((denied) => denied.some((word) => isOneOf(word, own) && !isOneOf(word, theirs)));
}

function denySame(a: readonly Word[], b: readonly Word[]): boolean {
  return a.some((word) => isOneOf(word, b));
}

function without(words: readonly Word[], denied: readonly Word[][]): Word[] {
  return words.filter((word) => !denied.some((each) => each.includes(word)));
}

/** Whether a source negates with a verb that the claim does not use: `ruled out` for `did not plan`. */
function deniesOtherwise(claim: Sentence, source: readonly Sentence[]): boolean {
  const words = new Set(DENIALS.in(claim.folded));
  return source.some(({ folded }) => DENIALS.in(folded).some((word) => !words.has(word)));
}

/** The words that each negation of a clause applies to. */
function negationsOf(clause: Clause): Word[][] {
  return NEGATIONS.placesIn(clause.text)
    .map((place) => deniedBy(place, clause))
    .filter((denied) => denied.length > 0);
}

/** Whether a claim affirms, in a sentence without any negation, what a clause of its source denies. */
export function affirmsDenied(claim: Sentence, source: readonly Sentence[]): boolean {
  if (NEGATIONS.isIn(claim.folded) || DENIALS.isIn(claim.folded)) return false;
  return source.some(({ clauses }) => clauses.some((clause) => isRefused(claim, clause)));
}

/** Whether a clause of a source denies with a verb what a claim affirms: `ruled out a coalition` for `announced a coalition`. */
function isRefused(claim: Sentence, clause: Clause): boolean {
  const isMeant = (words: readonly Word[]) => words.length > 1 && words.every((word) => isOneOf(word, claim.words));
  if (negationsOf(clause).some((denied) => isMeant(clause.words.filter((word) => !denied.includes(word))))) return true;
  return DENIALS.placesIn(clause.text).some((place) => {
    const at = clause.start + place.at + place.word.length;
    const behind = clause.words.filter((word) => word.start >= at).slice(0, 2);
    return behind.length > 0 && behind.every((word) => isOneOf(word, claim.words));
  });
}

/** The two words after a negation, or those before it if none follow. In Japanese it applies to what comes before. */
function deniedBy({ at: place, word: denial }: { at: number; word: string }, { start, words }: Clause): Word[] {
  const at = start + place;
  if (/^[\u3040-\u309f]/.test(denial)) {
    return words.filter(({ end }) => at - end >= -1 && at - end <= CJK_REACH);
  }
  if (CJK.test(denial)) return words.filter((word) => [0, 1].includes(word.start - at - denial.length));
  const behind = words.filter((word) => word.start > at).slice(0, 2);
  return behind.length > 0 ? behind : words.filter(({ end }) => end <= at).slice(-2);
}
