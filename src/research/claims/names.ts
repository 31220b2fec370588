import { CJK } from './text/fold.ts';
import { ARTICLES, isFunctionWord } from './text/language.ts';
import type { Parsed } from './text/parsed.ts';
import type { SourceText } from './text/source-text.ts';
import { unitAt } from './text/units.ts';
import { sameName, sameWord, type Word } from './text/words.ts';

/** Names of a claim that its source does not know, or knows in another place. */

interface Against {
  window: readonly Parsed[];
  /** The sentence that says most. */
  main: Parsed;
  source: SourceText;
}

export function missingNames(claim: Parsed, against: Against): { missing: boolean; found: number } {
  let found = 0;
  let missing = false;
  const german = claim.language === 'de';
  const words = against.window.flatMap((sentence) => sentence.words);
  for (const word of claim.words) {
    if (!word.isName || ERAS.has(word.text) || unitAt('', ` ${word.text}`)) continue;
    if (words.some((other) => sameName(word.text, other.text))) found++;
    else if (missing || isKnown(word, claim, against)) continue;
    else if (CJK.test(word.text))
      missing ||= words.some((other) => other.isName && CJK.test(other.text) && !isSaid(other, claim));
    else missing ||= german ? isCertain(word, claim) : !DEMONYM.test(word.text);
  }
  missing ||= isReplaced(claim, against) || isReplacedCjk(claim, against);
  return { missing, found };
}

/** Behind years they are no names. */
const ERAS = new Set(['bc', 'bce', 'ad', 'ce']);

/** Of German words: what follows another noun, or is all capitals, is a name; other nouns are written with one, too. */
function isCertain({ start, end }: Word, { text }: Parsed): boolean {
  const written = text.slice(start, end);
  if (/^\p{Lu}[\p{Lu}\p{N}]+$/u.test(written)) return true;
  return /(?<!^)(?<=[\p{Ll}\d] )\p{Lu}\p{Ll}+\s$/u.test(text.slice(Math.max(0, start - 20), start));
}

/** Whether the source names it anywhere: in its title, in another sentence, as its initials. */
function isKnown({ text, start, end }: Word, claim: Parsed, { source, window }: Against): boolean {
  if (source.parsedTitle.words.some((word) => sameName(text, word.text))) return true;
  const plain = text.replaceAll('.', '');
  const beginning = /\d/.test(plain) ? plain : plain.slice(0, Math.max(Math.min(4, plain.length), plain.length - 2));
  if (plain.length > 3 && source.says(beginning)) return true;
  const shown = window.map((sentence) => sentence.text).join(' ');
  if (/^\p{Lu}[\p{Lu}.]+(?:['’]s)?$/u.test(claim.text.slice(start, end)) && plain.length < 6) {
    // `MP` of `member of parliament`.
    const said = window.some(({ words }) =>
      words
        .map((word) => word.text[0])
        .join('')
        .includes(plain),
    );
    return said || initials(shown).includes(plain) || initials(source.title).includes(plain) || source.saysAlone(plain);
  }
  // `United Nations Messenger` has `un` in it.
  const before = capitalsBefore(claim.text.slice(Math.max(0, start - LONGEST_TITLE), start))
    .split(' ')
    .filter(Boolean)
    .slice(-LONGEST_SHORT);
  const behind = /^\p{L}+(?:\s\p{Lu}\p{L}+){0,5}/u.exec(claim.text.slice(start))?.[0] ?? '';
  const run = [...before, ...behind.split(/\s/)];
  return run.slice(0, before.length + 1).some((_, from) =>
    run.slice(before.length).some((_word, to) => {
      const short = initials(run.slice(from, before.length + to + 1).join(' '));
      return short.length > 1 && short.length <= LONGEST_SHORT && source.saysAlone(short);
    }),
  );
}

/** The longest run of capitalised words before a name that it is part of. */
const LONGEST_TITLE = 60;
/** The most initials that stand for a name. */
const LONGEST_SHORT = 5;

/** Whether a word is the initials of names that stand in a sentence: `US` for `United States`. */
function isShort({ text, start, end }: Word, claim: Parsed, main: Parsed): boolean {
  return /^\p{Lu}{2,5}$/u.test(claim.text.slice(start, end)) && initials(main.text).includes(text);
}

/** The capitalised words that a text ends with. */
function capitalsBefore(text: string): string {
  const words = text.split(/\s/);
  if (words.pop() !== '') return '';
  return words.slice(words.findLastIndex((word) => !/^\p{Lu}\p{L}+$/u.test(word)) + 1).join(' ');
}

/** The initials of the capitalised words of a text, in lower case. */
function initials(text: string): string {
  return (text.match(/\p{Lu}(?=\p{L})/gu) ?? []).join('').toLowerCase();
}

function isSaid(word: Word, claim: Parsed): boolean {
  return claim.words.some((other) => sameWord(word.text, other.text));
}

/** Endings of nouns that are no names. */
/** `Swedish` may be said of what stands in a town of Sweden. */
const DEMONYM = /(?:ish|ese|[ei]an|ican)$|^(?:french|dutch|german|greek|swiss)$/;

const NOUN = /(?:ion|ions|ment|ments|ness|ity|ies|ing|ung|ungen|heit|keit|schaft|tat|tum|nis|tion|ly|er|ers|ern)$/;

/** Whether a word that is written like a name stands where another one stands in the source: between the same words. */
function isReplaced(claim: Parsed, { main, source }: Against): boolean {
  const mine = capitals(claim);
  const theirs = capitals(main).filter((word) => !claim.words.some((other) => sameWord(other.text, word.text)));
  const sidesOf = ({ isName }: Word) => (claim.language === 'de' || !isName ? 2 : 1);
  return mine.some(
    (word) =>
      !NOUN.test(word.text) &&
      !isShort(word, claim, main) &&
      isInPlaceOf(word, theirs, { claim, main, source }, sidesOf(word)),
  );
}

/** Whether a word that a sentence does not have stands between the same words as one that it has; `sides` that agree. */
function isInPlaceOf(
  word: Word,
  others: readonly Word[],
  { claim, main, source }: { claim: Parsed; main: Parsed; source: SourceText },
  sides: 1 | 2,
): boolean {
  if (CJK.test(word.text) || main.words.some((other) => sameWord(other.text, word.text))) return false;
  if (source.parsedTitle.words.some((other) => sameWord(other.text, word.text))) return false;
  if (main.folded.includes(word.text.slice(0, 4))) return false;
  const [before, after] = neighbours(claim, word);
  return others.some((other) => {
    if (sides === 1 && NOUN.test(other.text)) return false;
    const [left, right] = neighbours(main, other);
    // Where both sides have to agree, the edge of a sentence is a side, too.
    const isSame = (a: string, b: string) => a === b && (a !== '' || sides === 2);
    const same = [isSame(before, left), isSame(after, right)].filter(Boolean).length;
    return same >= sides;
  });
}

function capitals({ words, text }: Parsed): Word[] {
  return words.filter(({ start, text: word }) => /\p{Lu}/u.test(text[start] ?? '') && !isFunctionWord(word));
}

/** The words before and behind a word, where no sign stands between; articles before it are passed over. */
function neighbours({ folded }: Parsed, { start, end }: Word): [before: string, after: string] {
  const said = folded.slice(Math.max(0, start - REACH), start).match(WORD_OR_SIGN) ?? [];
  const before = said.findLast((each) => !ARTICLES.has(each)) ?? '';
  const after = /^[\s-]*([\p{L}\p{N}]+)/u.exec(folded.slice(end, end + REACH))?.[1] ?? '';
  return [/[\p{L}\p{N}]/u.test(before) ? before : '', after];
}
const REACH = 24;
const WORD_OR_SIGN = /[\p{L}\p{N}]+|[^\s\p{L}\p{N}'-]/gu;

/** The part of a claim's pairs of signs that a passage has, so that what it does not have was put in place of it. */
const CLOSE = 0.65;

function partShown(folded: string, shown: string): number {
  let found = 0;
  for (let i = 0; i + 1 < folded.length; i++) if (shown.includes(folded.slice(i, i + 2))) found++;
  return found / Math.max(1, folded.length - 1);
}

/** Signs at each side of what is replaced that have to be the same. */
const CONTEXT = 2;
const LONGEST_NAME = 8;

/** The same where words are not parted: a run of signs that the passage does not have, between signs that it has. */
function isReplacedCjk(claim: Parsed, { window }: Against): boolean {
  if (!CJK.test(claim.text)) return false;
  const shown = window.map((sentence) => `\n${sentence.folded.trim()}`).join('');
  const { folded } = claim;
  if (partShown(folded, shown) < CLOSE) return false;
  for (const { start, end } of strangeRuns(claim, shown)) {
    if (claim.figures.some((figure) => start < figure.end && end > figure.start)) continue;
    const left = start === 0 ? '\n' : folded.slice(Math.max(0, start - CONTEXT), start);
    const rights = [0, 1, 2, 3].map((skip) => folded.slice(end + skip, end + skip + CONTEXT));
    if (left.length < CONTEXT && start > 0) continue;
    for (let at = shown.indexOf(left); left !== '' && at !== -1; at = shown.indexOf(left, at + 1)) {
      const from = at + left.length;
      const stop = firstAfter(shown, from, rights);
      const between = Number.isFinite(stop) ? shown.slice(from, stop) : '';
      if (isOther(folded.slice(start, end), between) && !/[。，、！？\d\s]/.test(between)) return true;
    }
  }
  return false;
}

/** Whether one run of signs is another name than the other, and not the same in other words. */
function isOther(run: string, between: string): boolean {
  if (between.length < 2 || between.length > LONGEST_NAME) return false;
  const head = run.slice(0, -1);
  return run.length === between.length || ![...head].some((sign) => between.slice(0, -1).includes(sign));
}

/** The first place behind `from` at which one of some contexts stands, or -1. */
function firstAfter(text: string, from: number, contexts: readonly string[]): number {
  const places = contexts.filter((each) => each.length === CONTEXT).map((each) => text.indexOf(each, from + 1));
  return Math.min(...places.filter((place) => place !== -1), Number.POSITIVE_INFINITY);
}

/** Runs of Han signs or Katakana of a claim of which no pair stands in the passage. */
function strangeRuns({ folded }: Parsed, shown: string): { start: number; end: number }[] {
  const runs: { start: number; end: number }[] = [];
  for (const { 0: run, index } of folded.matchAll(/[\u3400-\u9fff\u30a0-\u30ffー々]{2,}/g)) {
    let from: number | undefined;
    for (let i = 0; i <= run.length; i++) {
      const covered =
        i === run.length || shown.includes(run.slice(i, i + 2)) || (i > 0 && shown.includes(run.slice(i - 1, i + 1)));
      if (!covered) from ??= i;
      else if (from !== undefined) {
        if (i - from >= 2) runs.push({ start: index + from, end: index + i });
        from = undefined;
      }
    }
  }
  return runs;
}
