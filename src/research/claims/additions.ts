import {
  ALL,
  ALONE,
  CAUSES,
  LEADS,
  NEGATIONS,
  OPPOSED_PREPOSITIONS,
  RANKED,
  REASONS,
  STRONGEST,
  UNIVERSAL,
} from './lexicon.ts';
import { type FoundDate, sameDate } from './text/dates.ts';
import { CJK } from './text/fold.ts';
import { isFunctionWord } from './text/language.ts';
import type { Parsed } from './text/parsed.ts';
import { spoken, type WordList } from './text/word-list.ts';
import { isOneOf } from './text/words.ts';

/** What a claim adds to what its source says, although its words stand there: a cause, all of it, the largest, another date. */

/** Whether a claim says of all, of one alone, of the first of all, or why, what no sentence of its passage says so. */
export function addsToIt(claim: Parsed, context: readonly Parsed[], title: Parsed): boolean {
  const [why = false, all = false, alone = false, most = false] = [CAUSES, UNIVERSAL, ALONE, STRONGEST].map((list) =>
    list.isIn(claim.spoken),
  );
  if (!why && !all && !alone && !most) return false;
  const around = spoken([title, ...context].map(({ folded }) => folded).join(' '));
  const isAround = (...lists: WordList[]) => lists.some((list) => list.isIn(around));
  if (why && !isAround(REASONS)) return true;
  if (NEGATIONS.isIn(claim.spoken)) return false;
  return (
    (all && !isAround(ALL)) || (alone && !isAround(ALONE)) || (most && !isAround(STRONGEST, RANKED, LEADS, NEGATIONS))
  );
}

/** `After the war` where the source says `before the war`. */
export function isTurnedRound(claim: Parsed, context: readonly Parsed[]): boolean {
  const said = phrasesOf(claim);
  if (said.length === 0) return false;
  const found = context.flatMap(phrasesOf);
  const isFound = (preposition: string | undefined, word: string) =>
    found.some((other) => other.preposition === preposition && other.word === word);
  return said.some(
    ({ preposition, word }) => isFound(OPPOSED_PREPOSITIONS.get(preposition), word) && !isFound(preposition, word),
  );
}

/** Prepositions that have an opposite, with the word that each stands before. */
function phrasesOf({ spoken: { words } }: Parsed): { preposition: string; word: string }[] {
  return words.flatMap((preposition, at) => {
    if (!OPPOSED_PREPOSITIONS.has(preposition)) return [];
    const word = words.slice(at + 1, at + 4).find((next) => !isFunctionWord(next));
    return word === undefined ? [] : [{ preposition, word }];
  });
}

/** Words, or pairs of signs, that another sentence has to share more. */
const MORE_WORDS = 2;
const MORE_PAIRS = 4;
/** What has more dates is a list. */
const MOST_DATES = 6;

/** Whether what a claim dates stands in its source beside another date, and its own date beside something else. */
export function isDatedOtherwise(claim: Parsed, context: readonly Parsed[]): boolean {
  const known = claim.dates.slice(0, MOST_DATES);
  const has = (sentence: Parsed, date: FoundDate) => sentence.dates.some((other) => sameDate(date, other));
  const others = context.filter((sentence) => sentence.dates.length > 0 && !known.some((date) => has(sentence, date)));
  if (known.length === 0 || others.length === 0) return false;
  const shared = ({ words }: Parsed) => claim.words.filter((word) => isOneOf(word, words)).length;
  const least = CJK.test(claim.text) ? MORE_PAIRS : MORE_WORDS;
  const most = Math.max(...others.map(shared));
  return known.some((date) => {
    const own = context.filter((sentence) => has(sentence, date));
    return own.length > 0 && most - Math.max(...own.map(shared)) >= least;
  });
}
