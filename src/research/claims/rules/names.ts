import { CJK } from '../text/fold.ts';
import { ARTICLES, isFunctionWord } from '../text/language.ts';
import type { Sentence } from '../text/parse-sentence.ts';
import type { SourceText } from '../text/source-text.ts';
import { sameName, sameWord, type Word } from '../text/words.ts';
import { isReplacedCjk } from './cjk-names.ts';

/** Finds names of a claim that its source does not have, or that it has in another place. */

interface NameContext {
  window: readonly Sentence[];
  /** The sentence that covers most of the claim. */
  main: Sentence;
  source: SourceText;
}

export function missingNames(claim: Sentence, context: NameContext): { missing: boolean; found: number } {
  let found = 0;
  let missing = false;
  const words = context.window.flatMap((sentence) => sentence.words);
  for (const word of claim.words) {
    if (!word.isName) continue;
    if (words.some((other) => sameName(word.text, other.text))) found++;
    else missing ||= !isKnown(word, claim, context) && isNameForSure(word, claim, words);
  }
  missing ||= isReplaced(claim, context) || isReplacedCjk(claim, context.window);
  return { missing, found };
}

/**
 * Whether a capitalised word is certainly a name: in German, which capitalises all nouns, in all capitals or after another
 * noun; in Chinese and Japanese if the passage has another name in Latin letters or Katakana.
 */
function isNameForSure({ text, start, end }: Word, claim: Sentence, words: readonly Word[]): boolean {
  if (CJK.test(text)) return words.some((other) => other.isName && CJK.test(other.text) && !isIn(other, claim.words));
  if (claim.language !== 'de') return true;
  const isCapital = /^\p{Lu}[\p{Lu}\p{N}]+$/u.test(claim.text.slice(start, end));
  return isCapital || /(?<!^)(?<=[\p{Ll}\d] )\p{Lu}\p{Ll}+\s$/u.test(claim.text.slice(Math.max(0, start - 20), start));
}

/** Whether the source has a name anywhere: in its title, in another sentence, in full or as initials. */
function isKnown({ text, start, end }: Word, claim: Sentence, { source, window }: NameContext): boolean {
  if (source.parsedTitle.words.some((word) => sameName(text, word.text))) return true;
  const plain = text.replaceAll('.', '');
  const beginning = /\d/.test(plain) ? plain : plain.slice(0, Math.max(Math.min(4, plain.length), plain.length - 2));
  if (plain.length > 3 && source.says(beginning)) return true;
  const isAbbreviation = /^\p{Lu}[\p{Lu}.]+(?:['’]s)?$/u.test(claim.text.slice(start, end)) && plain.length < 6;
  if (!isAbbreviation) return false;
  const initials = [source.title, ...window.map((sentence) => sentence.text)].map(initialsOf);
  // `CFO` for `chief financial officer`.
  for (const { words } of window) initials.push(words.map((word) => word.text[0]).join(''));
  return source.saysAlone(plain) || initials.some((each) => each.includes(plain));
}

/** The initials of the capitalised words of a text, in lower case. */
function initialsOf(text: string): string {
  return (text.match(/\p{Lu}(?=\p{L})/gu) ?? []).join('').toLowerCase();
}

/** Endings of nouns that are not names. */
const NOUN = /(?:ions?|ments?|ness|ity|ies|ing|ung(?:en)?|heit|keit|schaft|tat|tum|nis|ly)$/;

/** Whether a capitalised word replaces another one of the source, between the same neighbouring words. */
function isReplaced(claim: Sentence, { main, source }: NameContext): boolean {
  const theirs = capitals(main).filter((word) => !isIn(word, claim.words) && !NOUN.test(word.text));
  const mine = capitals(claim).filter(
    ({ text, start, end }) =>
      !NOUN.test(text) &&
      !CJK.test(text) &&
      // `US` may stand for `United States`.
      !/^\p{Lu}{2,5}$/u.test(claim.text.slice(start, end)) &&
      !main.folded.includes(text.slice(0, 4)) &&
      !source.parsedTitle.words.some((other) => sameWord(other.text, text)),
  );
  // German capitalises all nouns, so both neighbours have to agree; the edge of a sentence then counts as one.
  const sides = claim.language === 'de' ? 2 : 1;
  return mine.some((word) => {
    const [before, after] = neighbours(claim, word);
    return theirs.some((other) => {
      const [left, right] = neighbours(main, other);
      const isSame = (a: string, b: string) => a === b && (a !== '' || sides === 2);
      return Number(isSame(before, left)) + Number(isSame(after, right)) >= sides;
    });
  });
}

function isIn(word: Word, others: readonly Word[]): boolean {
  return others.some((other) => sameWord(word.text, other.text));
}

function capitals({ words, text }: Sentence): Word[] {
  return words.filter(({ start, text: word }) => /\p{Lu}/u.test(text[start] ?? '') && !isFunctionWord(word));
}

/** The words before and after a word, unless punctuation separates them. Articles before it are skipped. */
function neighbours({ folded }: Sentence, { start, end }: Word): [before: string, after: string] {
  const preceding = folded.slice(Math.max(0, start - REACH), start).match(WORD_OR_SIGN) ?? [];
  const before = preceding.findLast((each) => !ARTICLES.has(each)) ?? '';
  const after = /^[\s-]*([\p{L}\p{N}]+)/u.exec(folded.slice(end, end + REACH))?.[1] ?? '';
  return [/[\p{L}\p{N}]/u.test(before) ? before : '', after];
}
const REACH = 24;
const WORD_OR_SIGN = /[\p{L}\p{N}]+|[^\s\p{L}\p{N}'-]/gu;
