import { CJK } from './fold.ts';
import { isFunctionWord } from './language.ts';

export interface Word {
  /** Folded, without a possessive, an elided article or the Arabic one. */
  text: string;
  start: number;
  end: number;
  isName: boolean;
}

const WORD = /[\p{L}\p{M}\p{N}]+(?:['.&][\p{L}\p{N}]+)*/gu;
const KATAKANA = /^[\u30a0-\u30ff]{3,}$/;
const CJK_RUN = /[\u30a0-\u30ffー]+|[\u3400-\u9fff々〆ヶ]+|[\u3040-\u309f]+|[^\u3040-\u30ff\u3400-\u9fff々〆ヶ]+/g;

/** The content words of a text. Han characters count in pairs, Katakana in whole runs, Hiragana not at all. */
export function wordsIn(folded: string, original: string): Word[] {
  const words: Word[] = [];
  for (const { 0: text, index } of folded.matchAll(WORD)) {
    if (CJK.test(text)) words.push(...cjkWords(text, index));
    else if (!/^\d/.test(text) && !isFunctionWord(text) && !isCurrency(folded, index + text.length)) {
      words.push({
        text: withoutParticles(text),
        start: index,
        end: index + text.length,
        isName: isNameAt(original, index, text),
      });
    }
  }
  return words;
}

/** Whether a word is part of the sign of a currency: `US$`. */
function isCurrency(folded: string, end: number): boolean {
  return /[$€£¥]/.test(folded[end] ?? '');
}

/** The Arabic article, with what is written before it without a space. */
const ARABIC_ARTICLE = /^[وف]?(?:[بك]?ال|لل)(?=[\u0621-\u064a]{3})/;

function withoutParticles(word: string): string {
  if (word.charCodeAt(0) >= 0x600 && word.charCodeAt(0) < 0x700) return word.replace(ARABIC_ARTICLE, '');
  if (!word.includes("'")) return word;
  return word.replace(/'s$/, '').replace(/^(?:d|l|dell|dall|nell|all|qu|s|n|un|c)'/, '');
}

function cjkWords(text: string, from: number): Word[] {
  const words: Word[] = [];
  for (const { 0: run, index } of text.matchAll(CJK_RUN)) {
    const start = from + index;
    if (KATAKANA.test(run)) words.push({ text: run, start, end: start + run.length, isName: true });
    else if (/^[\u3400-\u9fff々〆ヶ]/.test(run)) {
      for (let i = 0; i + 1 < run.length; i++) {
        const pair = run.slice(i, i + 2);
        if (!CJK_FUNCTION.test(pair)) words.push({ text: pair, start: start + i, end: start + i + 2, isName: false });
      }
      if (run.length === 1 && !CJK_FUNCTION.test(run)) words.push({ text: run, start, end: start + 1, isName: false });
    } else if (/^[a-z]/.test(run) && run.length > 1) {
      words.push({ text: run, start, end: start + run.length, isName: true });
    }
  }
  return words;
}
const CJK_FUNCTION = /[的了是在和与及或也]|^[一二三四五六七八九十百千万]/;

/**
 * Whether a word is written like a name: with a capital letter inside a sentence, or before another one at its start.
 * German capitalises all nouns; callers look at the `language` of the claim.
 */
function isNameAt(original: string, start: number, word: string): boolean {
  // Most words are lower case, as in the folded text.
  if (original[start] === word[0] && !word.includes("'")) return false;
  const written = original.slice(start, start + word.length).replace(/^(?:[dl]|dell|all|qu)['’]/i, '');
  if (!/^\p{Lu}/u.test(written)) return false;
  if (/^\p{Lu}[\p{Lu}\p{N}]+$/u.test(written) || /\p{Ll}\p{Lu}/u.test(written)) return true;
  const before = original.slice(Math.max(0, start - 3), start);
  if (!/(?:^|[.!?:|*#"“„«\n]\s?|^[-•]\s)$/u.test(before)) return true;
  return /^[\s-]\p{Lu}/u.test(original.slice(start + word.length, start + word.length + 2));
}

const FIRST_CJK = 0x3000;

/** Whether two words are forms of one word: they start alike, or one contains the other. */
export function sameWord(a: string, b: string): boolean {
  if (a === b) return true;
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  // Most pairs end here: in alphabetic scripts, forms of one word start alike.
  const first = short.charCodeAt(0);
  if (first < FIRST_CJK && first !== long.charCodeAt(0)) return false;
  if (short.length < 3 || CJK.test(short)) return short.length > 2 && CJK.test(short) && long.includes(short);
  const common = commonStart(short, long);
  if (haveDigits(common, short, long)) return false;
  if (common === short.length) return long.length - short.length <= 3 || common >= 5;
  return common >= 4 && common >= long.length * 0.6;
}

/** Whether two names are the same; their ends may differ by inflection only. */
export function sameName(a: string, b: string): boolean {
  if (a === b) return true;
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  if (short.length < 3) return false;
  const common = commonStart(short, long);
  if (haveDigits(common, short, long)) return false;
  if (common === short.length) return true;
  return common >= 4 && common >= long.length - 3 && common >= short.length - 2;
}

function commonStart(short: string, long: string): number {
  let common = 0;
  while (common < short.length && short[common] === long[common]) common++;
  return common;
}

/** Whether words differ by a digit, which inflection never changes: `sector4` is not `sector3`, `tp5` not `tp53`. */
function haveDigits(from: number, a: string, b: string): boolean {
  return /\d/.test(a.slice(from)) || /\d/.test(b.slice(from));
}

/** Whether a word is a form of one of these words. */
export function isOneOf({ text }: Word, words: readonly Word[]): boolean {
  return words.some((other) => sameWord(text, other.text));
}

/** Whether a text contains these letters as a separate word, with no character of `inWords` next to them. */
export function containsWord(letters: string, text: string, inWords = /\p{L}/u): boolean {
  return !placesOfWord(letters, text, inWords).next().done;
}

/** Where a text contains these letters as a separate word. */
export function* placesOfWord(letters: string, text: string, inWords = /\p{L}/u): Generator<number> {
  for (let at = text.indexOf(letters); at !== -1; at = text.indexOf(letters, at + 1)) {
    if (!inWords.test(text[at - 1] ?? '') && !inWords.test(text[at + letters.length] ?? '')) yield at;
  }
}
