import { CJK } from './text/fold.ts';
import { ARTICLES, isFunctionWord } from './text/language.ts';
import type { Sentence } from './text/parse-sentence.ts';
import type { SourceText } from './text/source-text.ts';
import { unitAt } from './text/units.ts';
import { sameName, sameWord, type Word } from './text/words.ts';

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
  const german = claim.language === 'de';
  const words = context.window.flatMap((sentence) => sentence.words);
  for (const word of claim.words) {
    if (!word.isName || ERAS.has(word.text) || unitAt('', ` ${word.text}`)) continue;
    if (words.some((other) => sameName(word.text, other.text))) found++;
    else if (missing || isKnown(word, claim, context)) continue;
    else if (CJK.test(word.text))
      missing ||= words.some((other) => other.isName && CJK.test(other.text) && !isInClaim(other, claim));
    else missing ||= german ? isCertain(word, claim) : !DEMONYM.test(word.text);
  }
  missing ||= isReplaced(claim, context) || isReplacedCjk(claim, context);
  return { missing, found };
}

/** After a year these are not names. */
const ERAS = new Set(['bc', 'bce', 'ad', 'ce']);

/** Whether a German word is certainly a name: in all capitals, or after another noun. All nouns are capitalised. */
function isCertain({ start, end }: Word, { text }: Sentence): boolean {
  const written = text.slice(start, end);
  if (/^\p{Lu}[\p{Lu}\p{N}]+$/u.test(written)) return true;
  return /(?<!^)(?<=[\p{Ll}\d] )\p{Lu}\p{Ll}+\s$/u.test(text.slice(Math.max(0, start - 20), start));
}

/** Whether the source has a name anywhere: in its title, in another sentence, as initials. */
function isKnown({ text, start, end }: Word, claim: Sentence, { source, window }: NameContext): boolean {
  if (source.parsedTitle.words.some((word) => sameName(text, word.text))) return true;
  const plain = text.replaceAll('.', '');
  const beginning = /\d/.test(plain) ? plain : plain.slice(0, Math.max(Math.min(4, plain.length), plain.length - 2));
  if (plain.length > 3 && source.says(beginning)) return true;
  const passage = window.map((sentence) => sentence.text).join(' ');
  if (/^\p{Lu}[\p{Lu}.]+(?:['’]s)?$/u.test(claim.text.slice(start, end)) && plain.length < 6) {
    // `MP` for `member of parliament`.
    const isSpelledOut = window.some(({ words }) =>
      words
        .map((word) => word.text[0])
        .join('')
        .includes(plain),
    );
    if (isSpelledOut || source.saysAlone(plain)) return true;
    return initials(passage).includes(plain) || initials(source.title).includes(plain);
  }
  // `United Nations Messenger` contains `un`.
  const preceding = capitalsBefore(claim.text.slice(Math.max(0, start - LONGEST_TITLE), start))
    .split(' ')
    .filter(Boolean)
    .slice(-MAX_INITIALS);
  const following = /^\p{L}+(?:\s\p{Lu}\p{L}+){0,5}/u.exec(claim.text.slice(start))?.[0] ?? '';
  const run = [...preceding, ...following.split(/\s/)];
  return run.slice(0, preceding.length + 1).some((_, from) =>
    run.slice(preceding.length).some((_word, to) => {
      const short = initials(run.slice(from, preceding.length + to + 1).join(' '));
      return short.length > 1 && short.length <= MAX_INITIALS && source.saysAlone(short);
    }),
  );
}

/** The longest run of capitalised words that may precede a word of a name, in UTF-16 code units. */
const LONGEST_TITLE = 60;
/** How many initials may stand for a name. */
const MAX_INITIALS = 5;

/** Whether a word is an abbreviation of names in a sentence: `US` for `United States`. */
function isAbbreviation({ text, start, end }: Word, claim: Sentence, main: Sentence): boolean {
  return /^\p{Lu}{2,5}$/u.test(claim.text.slice(start, end)) && initials(main.text).includes(text);
}

/** The capitalised words at the end of a text. */
function capitalsBefore(text: string): string {
  const words = text.split(/\s/);
  if (words.pop() !== '') return '';
  return words.slice(words.findLastIndex((word) => !/^\p{Lu}\p{L}+$/u.test(word)) + 1).join(' ');
}

/** The initials of the capitalised words of a text, in lower case. */
function initials(text: string): string {
  return (text.match(/\p{Lu}(?=\p{L})/gu) ?? []).join('').toLowerCase();
}

function isInClaim(word: Word, claim: Sentence): boolean {
  return claim.words.some((other) => sameWord(word.text, other.text));
}

/** Adjectives of places need no match: a source about a Swedish town may never say `Swedish`. */
const DEMONYM = /(?:ish|ese|[ei]an|ican)$|^(?:french|dutch|german|greek|swiss)$/;

/** Endings of nouns that are not names. */
const NOUN = /(?:ion|ions|ment|ments|ness|ity|ies|ing|ung|ungen|heit|keit|schaft|tat|tum|nis|tion|ly)$/;

/** Whether a capitalised word replaces another one of the source, between the same neighbouring words. */
function isReplaced(claim: Sentence, { main, source }: NameContext): boolean {
  const mine = capitals(claim);
  const theirs = capitals(main).filter((word) => !claim.words.some((other) => sameWord(other.text, word.text)));
  const sidesOf = ({ isName }: Word) => (claim.language === 'de' || !isName ? 2 : 1);
  return mine.some(
    (word) =>
      !NOUN.test(word.text) &&
      !isAbbreviation(word, claim, main) &&
      isInPlaceOf(word, theirs, { claim, main, source }, sidesOf(word)),
  );
}

/** Whether a word that a sentence lacks is surrounded by the same words as one that it has, on this many `sides`. */
function isInPlaceOf(
  word: Word,
  others: readonly Word[],
  { claim, main, source }: { claim: Sentence; main: Sentence; source: SourceText },
  sides: 1 | 2,
): boolean {
  if (CJK.test(word.text) || main.words.some((other) => sameWord(other.text, word.text))) return false;
  if (source.parsedTitle.words.some((other) => sameWord(other.text, word.text))) return false;
  if (main.folded.includes(word.text.slice(0, 4))) return false;
  const [before, after] = neighbours(claim, word);
  return others.some((other) => {
    if (sides === 1 && NOUN.test(other.text)) return false;
    const [left, right] = neighbours(main, other);
    // If both sides have to agree, the edge of a sentence counts as a side.
    const isSame = (a: string, b: string) => a === b && (a !== '' || sides === 2);
    const same = [isSame(before, left), isSame(after, right)].filter(Boolean).length;
    return same >= sides;
  });
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

/** The share of a claim's character pairs that a passage must have for the rest to be a replacement. */
const MIN_COMMON_PAIRS = 0.65;

function shareOfPairsIn(folded: string, passage: string): number {
  let found = 0;
  for (let i = 0; i + 1 < folded.length; i++) if (passage.includes(folded.slice(i, i + 2))) found++;
  return found / Math.max(1, folded.length - 1);
}

/** How many characters on each side of a replacement have to be the same. */
const CONTEXT = 2;
const LONGEST_NAME = 8;

/** `isReplaced` for scripts without spaces: characters that the passage lacks, between characters that it has. */
function isReplacedCjk(claim: Sentence, { window }: NameContext): boolean {
  if (!CJK.test(claim.text)) return false;
  const passage = window.map((sentence) => `\n${sentence.folded.trim()}`).join('');
  const { folded } = claim;
  if (unknownRuns(claim, passage).some((run) => hasOtherBefore(run, folded, passage))) return true;
  if (shareOfPairsIn(folded, passage) < MIN_COMMON_PAIRS) return false;
  for (const { start, end } of unknownRuns(claim, passage)) {
    if (claim.figures.some((figure) => start < figure.end && end > figure.start)) continue;
    const left = start === 0 ? '\n' : folded.slice(Math.max(0, start - CONTEXT), start);
    const rights = [0, 1, 2, 3].map((skip) => folded.slice(end + skip, end + skip + CONTEXT));
    if (left.length < CONTEXT && start > 0) continue;
    for (let at = passage.indexOf(left); left !== '' && at !== -1; at = passage.indexOf(left, at + 1)) {
      const from = at + left.length;
      const stop = firstAfter(passage, from, rights);
      const between = Number.isFinite(stop) ? passage.slice(from, stop) : '';
      if (isOther(folded.slice(start, end), between) && !/[。，、！？\d\s]/.test(between)) return true;
    }
  }
  return false;
}

/** Whether before the same three characters a passage has another name of the same length: `熊本県に` for `宮崎県に`. */
function hasOtherBefore({ start, end }: { start: number; end: number }, folded: string, passage: string): boolean {
  const [run, following] = [folded.slice(start, end), folded.slice(end, end + CONTEXT + 1)];
  if (!PLACE.test(following)) return false;
  for (let at = passage.indexOf(following); at !== -1; at = passage.indexOf(following, at + 1)) {
    const other = passage.slice(Math.max(0, at - run.length), at);
    if (/^[\u3400-\u9fff々ヶ]{2,}$/.test(other) && !folded.includes(other) && !/[\u30a0-\u30ff]/.test(run)) return true;
  }
  return false;
}

/** Characters that end the name of a place. */
const PLACE = /^[県县省州郡町村].{2}/;

/** Whether one run of characters is a different name than the other, rather than a paraphrase. */
function isOther(run: string, between: string): boolean {
  if (between.length < 2 || between.length > LONGEST_NAME) return false;
  const head = run.slice(0, -1);
  return run.length === between.length || ![...head].some((sign) => between.slice(0, -1).includes(sign));
}

/** The first place after `from` at which one of the contexts starts, or Infinity. */
function firstAfter(text: string, from: number, contexts: readonly string[]): number {
  const places = contexts.filter((each) => each.length === CONTEXT).map((each) => text.indexOf(each, from + 1));
  return Math.min(...places.filter((place) => place !== -1), Number.POSITIVE_INFINITY);
}

/** Runs of Han characters or Katakana in a claim that share no pair of characters with the passage. */
function unknownRuns({ folded }: Sentence, text: string): { start: number; end: number }[] {
  const runs: { start: number; end: number }[] = [];
  for (const { 0: run, index } of folded.matchAll(/[\u3400-\u9fff\u30a0-\u30ffー々]{2,}/g)) {
    let from: number | undefined;
    for (let i = 0; i <= run.length; i++) {
      const covered =
        i === run.length || text.includes(run.slice(i, i + 2)) || (i > 0 && text.includes(run.slice(i - 1, i + 1)));
      if (!covered) from ??= i;
      else if (from !== undefined) {
        if (i - from >= 2) runs.push({ start: index + from, end: index + i });
        from = undefined;
      }
    }
  }
  return runs;
}
