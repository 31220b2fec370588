import type { Passage } from '../passages.ts';
import { type FoundDate, sameDate } from '../text/dates.ts';
import type { Figure } from '../text/figures.ts';
import { isFunctionWord } from '../text/language.ts';
import type { Sentence } from '../text/parse-sentence.ts';
import { isComputed, sameFigure } from '../text/same-figure.ts';
import { containsWord, isOneOf } from '../text/words.ts';
import { EXCLUSIVE, NEGATIONS, OPPOSITES } from './lexicon.ts';

/**
 * Compares claims with sentences that they copy. A copy is right in any language, unless a word was replaced that decides
 * what it means: a name, a figure, a date, a negation, `north` for `south`.
 */

/** Words, single Chinese and Japanese characters, and symbols that belong to a number. */
const TOKEN =
  /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff々〆ヶ]|(?:(?![\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff々〆ヶ])[\p{L}\p{M}\p{N}])+|\p{Sc}|[%‰°²³]|[-−+](?=\d)/gu;

/** Whether a claim is one or more whole sentences of a passage, word by word. */
export function isCopyOf(claim: Sentence, { sentences }: Passage): boolean {
  const own = textOf(claim);
  const theirs = sentences.map(textOf);
  const runs = theirs.flatMap((_, from) =>
    theirs.slice(from).map((_each, more) => theirs.slice(from, from + more + 1)),
  );
  return own !== '' && runs.some((run) => run.join('') === own);
}

/** The words of a sentence, each with a space. */
function textOf({ folded }: Sentence): string {
  return (folded.match(TOKEN) ?? []).map((text) => `${text} `).join('');
}

/** A word, a character of a script without spaces, a name of any length, a figure or a date. */
interface Token {
  kind: 'word' | 'name' | 'negation' | 'figure' | 'date';
  text: string;
  figure?: Figure;
  date?: FoundDate;
}

/** Longer sentences are lists. */
const MAX_TOKENS = 160;
/** In a copy of so many words a single other word is no accident. */
const LONG = 10;

/**
 * Whether a claim copies a sentence, or a part of it, except for words that decide what it means: names, figures, dates,
 * negations, `north` for `south`, or one other word.
 */
export function isFalsified(claim: Sentence, sentence: Sentence): boolean {
  const [mine, theirs] = [tokensOf(claim), tokensOf(sentence)];
  const own = mine.filter(isPlaced);
  const other = theirs.filter(isPlaced);
  if (own.length === 0 || own.length > other.length || other.length > MAX_TOKENS) return false;
  let isFound = false;
  for (let from = 0; from + own.length <= other.length; from++) {
    const part = other.slice(from, from + own.length);
    const pairs = own.flatMap((token, at) =>
      part[at] && !isSame(token, part[at]) ? [[token, part[at]] as const] : [],
    );
    if (pairs.length > own.length / 2) continue;
    const [first, last] = [part[0], part.at(-1)];
    const between = theirs.slice(first && theirs.indexOf(first), last && theirs.indexOf(last) + 1);
    const hasSameNegations = between.length - part.length === mine.length - own.length;
    const others = pairs.filter(([a, b]) => !(mayReplace(a, b) || (hasSameNegations && areOpposite(a, b)))).length;
    if (others > (own.length < LONG ? 0 : 1)) continue;
    isFound = true;
    if (hasSameNegations && pairs.length === 0) return false;
  }
  return isFound;
}

/** Negations may also be left out or put in. */
function isPlaced({ kind }: Token): boolean {
  return kind !== 'negation';
}

function tokensOf({ text: original, folded, figures, dates }: Sentence): Token[] {
  const facts = [...figures.map((figure) => ({ figure })), ...dates.map((date) => ({ date }))];
  const tokens: Token[] = [];
  let last: object | undefined;
  for (const { 0: text, index } of folded.matchAll(TOKEN)) {
    const fact = facts.find((each) => {
      const { start, end } = 'figure' in each ? each.figure : each.date;
      return index >= start && index < end;
    });
    const before = tokens.at(-1);
    if (fact && fact === last) continue;
    last = fact;
    const isCapital = /\p{Lu}/u.test(original[index] ?? '');
    const isName =
      isCapital &&
      (!isFunctionWord(text) || IS_FIRST.test(original.slice(Math.max(0, index - MAX_NAME), index + text.length)));
    if (fact) tokens.push({ kind: 'figure' in fact ? 'figure' : 'date', text, ...fact });
    else if (isName && before?.kind === 'name') before.text += ` ${text}`;
    else if (isName) tokens.push({ kind: 'name', text });
    else tokens.push({ kind: NEGATIONS.isIn(text) ? 'negation' : 'word', text });
  }
  return tokens;
}

/** A numeral: `World War I`, `Type I`. */
const IS_FIRST = /(?<!\p{L})\p{Lu}\p{L}* I$/u;
const MAX_NAME = 30;

/** Whether two different tokens are of one kind, so that one changes the meaning in the place of the other. */
function mayReplace(claim: Token, source: Token): boolean {
  if (claim.kind !== source.kind || claim.kind !== 'word') return claim.kind === source.kind;
  return DECISIVE.some((sides) => {
    const [own = -1, theirs = -1] = [claim, source].map(({ text }) => sides.findIndex((side) => side.isIn(text)));
    return own !== -1 && theirs !== -1 && own !== theirs;
  });
}

const DECISIVE = [...EXCLUSIVE, ...OPPOSITES];

/** Whether one word is the other with a prefix that negates it: `unsafe`, `illegal`, `impossible`. */
function areOpposite({ text: a }: Token, { text: b }: Token): boolean {
  const [word = '', negated = ''] = [a, b].sort((one, two) => one.length - two.length);
  const prefix = negated.slice(0, negated.length - word.length);
  return word.length >= 4 && negated.endsWith(word) && /^(?:un|in|im|il|ir|non|dis)$/.test(prefix);
}

function isSame(claim: Token, source: Token): boolean {
  if (claim.figure && source.figure) return sameFigure(claim.figure, source.figure);
  if (claim.date && source.date) return sameDate(claim.date, source.date);
  if (claim.kind !== 'name' || source.kind !== 'name') return claim.text === source.text;
  // `Ada Brand` is `Dr. Ada Brand`, and `Berlin` is `Berlins`; other endings do not differ in copies: `Paris` is not `Parish`.
  const own = claim.text.replace(/'?s$/, '');
  const theirs = source.text.replace(/'?s$/, '');
  return containsWord(own, source.text, IN_NAMES) || containsWord(theirs, claim.text, IN_NAMES) || own === theirs;
}

const IN_NAMES = /[\p{L}\p{N}]/u;

/**
 * Whether the sentence of a passage that has most words of a claim has another figure or date in place of one that
 * the claim takes from a sentence beside it.
 */
export function isFromBeside(
  { words, figures, dates }: Sentence,
  main: Sentence,
  passage: readonly Sentence[],
): boolean {
  const common = words.filter((word) => isOneOf(word, main.words)).length;
  if (passage.length === 1 || common < words.length * MOST_WORDS) return false;
  return (
    figures.some((figure) => {
      const isRival = ({ unit }: Figure) => unit?.dimension === figure.unit?.dimension;
      const isHere = main.figures.some((other) => sameFigure(figure, other));
      return !isHere && main.figures.some(isRival) && !isComputed(figure, main.figures);
    }) || dates.some((date) => main.dates.length > 0 && !main.dates.some((other) => sameDate(date, other)))
  );
}
const MOST_WORDS = 0.7;
