import type { Doubt } from './clause-checks.ts';
import { DENIALS, EXCLUSIVE, NEGATIONS } from './lexicon.ts';
import type { Passage } from './passages.ts';
import { type FoundDate, sameDate } from './text/dates.ts';
import type { Figure } from './text/figures.ts';
import { CJK } from './text/fold.ts';
import { ARTICLES, isFunctionWord } from './text/language.ts';
import type { Sentence } from './text/parse-sentence.ts';
import { sameFigure } from './text/same-figure.ts';
import { sameName, sameWord } from './text/words.ts';

/**
 * Compares claims with sentences that they copy. A copy is right in any language; in a copy with a few words replaced,
 * the replaced words show what was changed.
 */

/** A word, a character of a script without spaces, a figure or a date. */
interface Token {
  text: string;
  isName: boolean;
  figure?: Figure;
  date?: FoundDate;
}

/** Words, single Chinese and Japanese characters, and symbols that belong to a number. */
const TOKEN =
  /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff々〆ヶ]|(?:(?![\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff々〆ヶ])[\p{L}\p{M}\p{N}])+|\p{Sc}|[%‰°²³]|[-−+](?=\d)/gu;

/**
 * Whether a passage contains all words of a claim in sequence, as whole sentences or as a part of them. A subject that the
 * title names may replace a pronoun of the passage.
 */
export function copiedFrom(
  claim: Sentence,
  { sentences }: Pick<Passage, 'sentences'>,
  title: Sentence,
): 'whole' | 'part' | undefined {
  const own = textOf(claim);
  const theirs = sentences.map(textOf);
  if (own === ' ') return undefined;
  if (!theirs.join('').replaceAll('  ', ' ').includes(own)) {
    const rest = withoutSubject(own, textOf(title));
    const isSaid = (text: string) => rest.split(' ').length > MIN_REST && text.replace(PRONOUN, ' ').startsWith(rest);
    return theirs.some(isSaid) ? 'part' : undefined;
  }
  for (const from of theirs.keys()) {
    let run = ' ';
    for (const sentence of theirs.slice(from)) {
      run += sentence.slice(1);
      if (run === own) return 'whole';
    }
  }
  return 'part';
}
/** A short word at the start of a sentence. */
const PRONOUN = /^ \p{L}{1,4} /u;
/** More parts than this, words and the spaces around them, are enough to be a copy. */
const MIN_REST = 5;

/** A text without the words at its start that the title has, too. */
function withoutSubject(text: string, title: string): string {
  const words = text.trim().split(' ');
  const from = words.findIndex((word) => !ARTICLES.has(word) && !title.includes(` ${word} `));
  return from < 1 ? text : ` ${words.slice(from).join(' ')} `;
}

/** The words of a sentence, each between spaces. */
function textOf({ folded }: Sentence): string {
  return ` ${(folded.match(TOKEN) ?? []).map((text) => `${text} `).join('')}`;
}

/** The share of a claim's words that a sentence must have in the same order for the claim to be a copy. */
const COPIED = 0.7;
/** The share that is enough if the sentence has all words, in whatever order. */
const REORDERED = 0.5;
/** A difference of more words is not a replacement. */
const LONGEST_REPLACEMENT = 5;
/** Longer sentences are lists. */
const MAX_TOKENS = 160;

/** The doubts about a claim that copies a sentence with a few words replaced, if the replacements change its meaning. */
export function doubtsOfCopy(claim: Sentence, sentence: Sentence): Doubt[] {
  const [own, theirs] = [tokensOf(claim), tokensOf(sentence)];
  const differences = differencesOf(own, theirs);
  if (!differences) return [];
  const doubts: Doubt[] = [];
  const short = differences.filter(({ own, theirs }) => Math.max(own.length, theirs.length) <= LONGEST_REPLACEMENT);
  if (short.some(isRuledOut)) doubts.push('direction');
  for (const kind of ['figure', 'date'] as const)
    if (short.some((difference) => isReplaced(kind, difference, theirs))) doubts.push(kind);
  if (isExchanged(short)) doubts.push('swap');
  if (hasExtraNegation(differences)) doubts.push('negation');
  return doubts;
}

function tokensOf(sentence: Sentence): Token[] {
  const { folded, words, figures, dates } = sentence;
  const facts = [...figures.map((figure) => ({ figure })), ...dates.map((date) => ({ date }))];
  const starts = new Map(words.filter(({ isName }) => isName).map(({ start }) => [start, true]));
  const tokens: Token[] = [];
  let last: unknown;
  for (const { 0: text, index } of folded.matchAll(TOKEN)) {
    const fact = facts.find((each) => {
      const { start, end } = 'figure' in each ? each.figure : each.date;
      return index >= start && index < end;
    });
    if (fact && fact === last) continue;
    last = fact;
    tokens.push({ text, isName: !fact && starts.has(index), ...fact });
  }
  return tokens;
}

function isSame(claim: Token, source: Token): boolean {
  if (claim.figure && source.figure) return sameFigure(claim.figure, source.figure);
  if (claim.date && source.date) return sameDate(claim.date, source.date);
  return !claim.figure && !claim.date && claim.text === source.text;
}

/** A difference: the claim's tokens in place of the sentence's. `between`: the common tokens before it. */
interface Difference {
  own: readonly Token[];
  theirs: readonly Token[];
  between: readonly Token[];
}

/** The differences between two sentences; undefined if one is no copy of the other. */
function differencesOf(own: readonly Token[], theirs: readonly Token[]): Difference[] | undefined {
  if (Math.max(own.length, theirs.length) > MAX_TOKENS || own.length === 0) return undefined;
  let head = 0;
  while (head < own.length && head < theirs.length && isSameAt(own, theirs, head, head)) head++;
  let tail = 0;
  const maxTail = Math.min(own.length, theirs.length) - head;
  while (tail < maxTail && isSameAt(own, theirs, own.length - 1 - tail, theirs.length - 1 - tail)) tail++;
  const [mine, other] = [own.slice(head, own.length - tail), theirs.slice(head, theirs.length - tail)];
  const lengths = commonLengths(mine, other);
  const common = head + tail + (lengths[0]?.[0] ?? 0);
  const isReordered = common >= own.length * REORDERED && mine.every((a) => theirs.some((b) => isSame(a, b)));
  if (common < own.length * COPIED && !isReordered) return undefined;
  const differences: Difference[] = [];
  let difference: { own: Token[]; theirs: Token[]; between: Token[] } | undefined;
  let between: Token[] = own.slice(0, head);
  for (let i = 0, j = 0; i < mine.length || j < other.length; ) {
    const [a, b] = [mine[i], other[j]];
    if (a && b && isSame(a, b)) {
      if (difference) differences.push(difference);
      if (difference) between = [];
      difference = undefined;
      between.push(a);
      i++;
      j++;
      continue;
    }
    difference ??= { own: [], theirs: [], between };
    if (b && (!a || (lengths[i]?.[j + 1] ?? 0) >= (lengths[i + 1]?.[j] ?? 0))) {
      difference.theirs.push(b);
      j++;
    } else if (a) {
      difference.own.push(a);
      i++;
    }
  }
  if (difference) differences.push(difference);
  return differences;
}

function isSameAt(own: readonly Token[], theirs: readonly Token[], i: number, j: number): boolean {
  const [a, b] = [own[i], theirs[j]];
  return a !== undefined && b !== undefined && isSame(a, b);
}

/** The length of the longest common subsequence of two lists, from each pair of indexes on. */
function commonLengths(own: readonly Token[], theirs: readonly Token[]): Uint16Array[] {
  const lengths = Array.from({ length: own.length + 1 }, () => new Uint16Array(theirs.length + 1));
  for (let i = own.length - 1; i >= 0; i--) {
    const [row, next] = [lengths[i], lengths[i + 1]];
    if (!row || !next) continue;
    for (let j = theirs.length - 1; j >= 0; j--) {
      row[j] = isSameAt(own, theirs, i, j) ? (next[j + 1] ?? 0) + 1 : Math.max(next[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return lengths;
}

/** Whether a figure or date that the sentence does not have replaces one of its own. */
function isReplaced(kind: 'figure' | 'date', { own, theirs }: Difference, all: readonly Token[]): boolean {
  const isStrange = (token: Token) => token[kind] !== undefined && !all.some((each) => isSame(token, each));
  return theirs.some((token) => token[kind]) && own.some(isStrange);
}

/** Whether a word replaces one that it excludes. */
function isRuledOut({ own, theirs }: Difference): boolean {
  if (own.length === 0 || theirs.length === 0) return false;
  const texts = [textOfTokens(own), textOfTokens(theirs)];
  return EXCLUSIVE.some((sides) => {
    const [mine, other] = texts.map((text) => sides.flatMap((side, at) => (side.isIn(text) ? [at] : [])));
    return mine?.length === 1 && other?.length === 1 && mine[0] !== other[0];
  });
}

/** Whether two names, figures or dates changed places: `B buys A`. In a list the order means nothing. */
function isExchanged(differences: readonly Difference[]): boolean {
  return differences.some(({ own, theirs }, at) =>
    differences.slice(at + 1).some((other, skipped) => {
      const between = differences.slice(at + 1, at + 2 + skipped).flatMap((difference) => difference.between);
      const isList =
        own.every(({ figure }) => !figure) && between.every(({ text, isName }) => isName || isFunctionWord(text));
      return !isList && sharesToken(own, other.theirs) && sharesToken(other.own, theirs) && !sharesToken(own, theirs);
    }),
  );
}

/** Whether a name, figure or date of a claim is among others. */
function sharesToken(own: readonly Token[], theirs: readonly Token[]): boolean {
  return own.some((token) =>
    theirs.some((each) =>
      token.figure || token.date
        ? isSame(token, each)
        : (token.isName || each.isName) && sameName(token.text, each.text),
    ),
  );
}

/** Whether only one side has a negation, in differences without other content words. */
function hasExtraNegation(differences: readonly Difference[]): boolean {
  // A side is empty if the only difference is the negation on the other side.
  const textOf = (side: keyof Difference) =>
    differences.map((difference) => textOfTokens(difference[side])).join(' | ');
  const [mine, other] = [textOf('own'), textOf('theirs')];
  if (NEGATIONS.isIn(mine) === NEGATIONS.isIn(other)) return false;
  if (DENIALS.isIn(mine) || DENIALS.isIn(other)) return false;
  const isFree = (token: Token, others: readonly Token[]) =>
    (CJK.test(token.text) ? !PARTICLE.test(token.text) : !isFunctionWord(token.text)) &&
    !NEGATIONS.isIn(token.text) &&
    !others.some(({ text }) => sameWord(text, token.text));
  return differences
    .filter(({ own, theirs }) => [own, theirs].some((tokens) => NEGATIONS.isIn(textOfTokens(tokens))))
    .every(
      ({ own, theirs }) =>
        own.length <= LONGEST_REPLACEMENT &&
        theirs.length <= LONGEST_REPLACEMENT &&
        !own.some((token) => isFree(token, theirs)) &&
        !theirs.some((token) => isFree(token, own)),
    );
}
/** Characters that mean nothing beside a negation. */
const PARTICLE = /[はがをにでもとるいあたなっし是的了在有]/;

function textOfTokens(tokens: readonly Token[]): string {
  return tokens.map(({ text }) => text).join(' ');
}
