import { mainOf } from '../likeness.ts';
import { isFunctionWord } from '../text/language.ts';
import type { Sentence } from '../text/parse-sentence.ts';
import type { SourceText } from '../text/source-text.ts';
import { placesOfWord, sameName, type Word } from '../text/words.ts';

/** Two words that are a name in any language, even where all nouns are capitalised: `Ada Brand`. */
type FullName = readonly [first: Word, last: Word];

/**
 * Whether a claim gives the wrong full name: one of two people's names, or of somebody else than in the sentence that says
 * the rest of the claim.
 */
export function isMisnamed(claim: Sentence, passage: readonly Sentence[], source: SourceText): boolean {
  const names = fullNamesIn(claim);
  if (names.length === 0) return false;
  if (names.some((name) => isMixed(name, source))) return true;
  const words = claim.words.filter((word) => !names.some((name) => name.includes(word)));
  const theirs = mainOf({ ...claim, words }, passage);
  const isNobodyOf = (others: readonly FullName[], { words }: Sentence) =>
    others.every((name) => !name.some((own) => words.some((word) => sameName(own.text, word.text))));
  return isNobodyOf(names, theirs) && fullNamesIn(theirs).some((name) => isNobodyOf([name], claim));
}

function fullNamesIn({ text, words }: Sentence): FullName[] {
  const isCapitalized = ({ start, text: word }: Word) =>
    /^\p{Lu}\p{Ll}/u.test(text.slice(start, start + 2)) && !isFunctionWord(word);
  const names = words.flatMap((last, at): FullName[] => {
    const first = words[at - 1];
    const isName = first && text.slice(first.end, last.start) === ' ' && isCapitalized(first) && isCapitalized(last);
    return isName ? [[first, last]] : [];
  });
  return names.slice(0, MAX_NAMES);
}
/** A sentence with more names is a list. */
const MAX_NAMES = 10;

/** Whether a source has both words of a name with capital letters, but nowhere together. */
function isMixed(name: FullName, { text, folded }: SourceText): boolean {
  const [firsts = [], lasts = []] = name.map((word) => [...placesOfWord(word.text, folded).take(MAX_PLACES)]);
  const areNames = [firsts, lasts].every((places) => places.some((at) => /\p{Lu}/u.test(text[at] ?? '')));
  return areNames && !firsts.some((first) => lasts.some((last) => Math.abs(first - last) < NEAR));
}
const MAX_PLACES = 50;
/** `Ada M. Brand` and `Brand, Ada` are together; in UTF-16 code units. */
const NEAR = 30;
