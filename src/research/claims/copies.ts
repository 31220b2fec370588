import type { Doubt } from './clause-checks.ts';
import { DENIALS, EXCLUSIVE, NEGATIONS } from './lexicon.ts';
import type { Passage } from './passages.ts';
import { type FoundDate, sameDate } from './text/dates.ts';
import type { Figure } from './text/figures.ts';
import { CJK } from './text/fold.ts';
import { ARTICLES, isFunctionWord } from './text/language.ts';
import type { Parsed } from './text/parsed.ts';
import { sameFigure } from './text/same-figure.ts';
import { sameName, sameWord } from './text/words.ts';

/**
 * Claims in the words of their source. What is copied is right in any language; of what is copied but for a few words,
 * those words are what is said in place of something else.
 */

/** A word, a sign of scripts that do not part words, a figure or a date. */
interface Token {
  text: string;
  isName: boolean;
  figure?: Figure;
  date?: FoundDate;
}

/** Words, single signs of Chinese and Japanese, and signs that say what a number is. */
const TOKEN =
  /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff々〆ヶ]|(?:(?![\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff々〆ヶ])[\p{L}\p{M}\p{N}])+|\p{Sc}|[%‰°²³]|[-−+](?=\d)/gu;

/**
 * Whether a passage has all words of a claim one behind the other: as whole sentences, or as a part of them. What the title
 * of a source names may stand where the passage says `it`.
 */
export function copiedFrom(
  claim: Parsed,
  { sentences }: Pick<Passage, 'sentences'>,
  title: Parsed,
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
/** A short word that a sentence begins with. */
const PRONOUN = /^ \p{L}{1,4} /u;
/** Words, and the spaces around them, that are enough to be copied. */
const MIN_REST = 5;

/** A text without the words of a title that it begins with. */
function withoutSubject(text: string, title: string): string {
  const words = text.trim().split(' ');
  const from = words.findIndex((word) => !ARTICLES.has(word) && !title.includes(` ${word} `));
  return from < 1 ? text : ` ${words.slice(from).join(' ')} `;
}

/** The words of a sentence, each between spaces. */
function textOf({ folded }: Parsed): string {
  return ` ${(folded.match(TOKEN) ?? []).map((text) => `${text} `).join('')}`;
}

/** The part of a claim's words that a sentence has in the same order, so that the others stand in place of its own. */
const COPIED = 0.7;
/** The part that is enough where a sentence has all of them, in whatever order. */
const REORDERED = 0.5;
/** More words in a row are not in place of others. */
const LONGEST_PLACE = 5;
/** Longer sentences are lists. */
const MAX_TOKENS = 160;

/** What a claim that copies a sentence but for a few words says in place of what stands there, and cannot be the same. */
export function doubtsOfCopy(claim: Parsed, sentence: Parsed): Doubt[] {
  const [own, theirs] = [tokensOf(claim), tokensOf(sentence)];
  const places = placesOf(own, theirs);
  if (!places) return [];
  const doubts: Doubt[] = [];
  const short = places.filter(({ own, theirs }) => Math.max(own.length, theirs.length) <= LONGEST_PLACE);
  if (short.some(isRuledOut)) doubts.push('direction');
  for (const kind of ['figure', 'date'] as const)
    if (short.some((place) => isReplaced(kind, place, theirs))) doubts.push(kind);
  if (isExchanged(short)) doubts.push('swap');
  if (isDeniedAlone(places)) doubts.push('negation');
  return doubts;
}

function tokensOf(sentence: Parsed): Token[] {
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

/** What stands in a claim in place of what stands in a sentence, in their order; `between`: what both have before it. */
interface Place {
  own: readonly Token[];
  theirs: readonly Token[];
  between: readonly Token[];
}

/** The places at which two sentences differ; undefined where the one is no copy of the other. */
function placesOf(own: readonly Token[], theirs: readonly Token[]): Place[] | undefined {
  if (Math.max(own.length, theirs.length) > MAX_TOKENS || own.length === 0) return undefined;
  let head = 0;
  while (head < own.length && head < theirs.length && isSameAt(own, theirs, head, head)) head++;
  let tail = 0;
  const most = Math.min(own.length, theirs.length) - head;
  while (tail < most && isSameAt(own, theirs, own.length - 1 - tail, theirs.length - 1 - tail)) tail++;
  const [mine, other] = [own.slice(head, own.length - tail), theirs.slice(head, theirs.length - tail)];
  const lengths = commonLengths(mine, other);
  const common = head + tail + (lengths[0]?.[0] ?? 0);
  const isReordered = common >= own.length * REORDERED && mine.every((a) => theirs.some((b) => isSame(a, b)));
  if (common < own.length * COPIED && !isReordered) return undefined;
  const places: Place[] = [];
  let place: { own: Token[]; theirs: Token[]; between: Token[] } | undefined;
  let between: Token[] = own.slice(0, head);
  for (let i = 0, j = 0; i < mine.length || j < other.length; ) {
    const [a, b] = [mine[i], other[j]];
    if (a && b && isSame(a, b)) {
      if (place) places.push(place);
      if (place) between = [];
      place = undefined;
      between.push(a);
      i++;
      j++;
      continue;
    }
    place ??= { own: [], theirs: [], between };
    if (b && (!a || (lengths[i]?.[j + 1] ?? 0) >= (lengths[i + 1]?.[j] ?? 0))) {
      place.theirs.push(b);
      j++;
    } else if (a) {
      place.own.push(a);
      i++;
    }
  }
  if (place) places.push(place);
  return places;
}

function isSameAt(own: readonly Token[], theirs: readonly Token[], i: number, j: number): boolean {
  const [a, b] = [own[i], theirs[j]];
  return a !== undefined && b !== undefined && isSame(a, b);
}

/** How many tokens two lists have in common in the same order, from each pair of places on. */
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

/** Whether a figure or date that a sentence does not have stands in place of one of its own. */
function isReplaced(kind: 'figure' | 'date', { own, theirs }: Place, all: readonly Token[]): boolean {
  const isStrange = (token: Token) => token[kind] !== undefined && !all.some((each) => isSame(token, each));
  return theirs.some((token) => token[kind]) && own.some(isStrange);
}

/** Whether a word stands in place of one that it rules out. */
function isRuledOut({ own, theirs }: Place): boolean {
  if (own.length === 0 || theirs.length === 0) return false;
  const [said, found] = [textOfTokens(own), textOfTokens(theirs)];
  return EXCLUSIVE.some((sides) => {
    const [mine, other] = [said, found].map((text) => sides.flatMap((side, at) => (side.isIn(text) ? [at] : [])));
    return mine?.length === 1 && other?.length === 1 && mine[0] !== other[0];
  });
}

/** Two names, figures or dates, each in the place of the other: `B buys A`. In a list their order says nothing. */
function isExchanged(places: readonly Place[]): boolean {
  return places.some(({ own, theirs }, at) =>
    places.slice(at + 1).some((other, skipped) => {
      const between = places.slice(at + 1, at + 2 + skipped).flatMap((place) => place.between);
      const isList =
        own.every(({ figure }) => !figure) && between.every(({ text, isName }) => isName || isFunctionWord(text));
      return !isList && trade(own, other.theirs) && trade(other.own, theirs) && !trade(own, theirs);
    }),
  );
}

/** Whether a name, figure or date of a claim is among others. */
function trade(own: readonly Token[], theirs: readonly Token[]): boolean {
  return own.some((token) =>
    theirs.some((each) =>
      token.figure || token.date
        ? isSame(token, each)
        : (token.isName || each.isName) && sameName(token.text, each.text),
    ),
  );
}

/** A negation that one of the two has in a place where nothing else is said otherwise. */
function isDeniedAlone(places: readonly Place[]): boolean {
  // Empty where all that one of the two has is the negation of the other.
  const textOf = (side: keyof Place) => places.map((place) => textOfTokens(place[side])).join(' | ');
  const [mine, other] = [textOf('own'), textOf('theirs')];
  if (NEGATIONS.isIn(mine) === NEGATIONS.isIn(other)) return false;
  if (DENIALS.isIn(mine) || DENIALS.isIn(other)) return false;
  const isFree = (token: Token, others: readonly Token[]) =>
    (CJK.test(token.text) ? !PARTICLE.test(token.text) : !isFunctionWord(token.text)) &&
    !NEGATIONS.isIn(token.text) &&
    !others.some(({ text }) => sameWord(text, token.text));
  return places
    .filter(({ own, theirs }) => [own, theirs].some((tokens) => NEGATIONS.isIn(textOfTokens(tokens))))
    .every(
      ({ own, theirs }) =>
        own.length <= LONGEST_PLACE &&
        theirs.length <= LONGEST_PLACE &&
        !own.some((token) => isFree(token, theirs)) &&
        !theirs.some((token) => isFree(token, own)),
    );
}
/** Signs that say nothing beside a negation. */
const PARTICLE = /[はがをにでもとるいあたなっし是的了在有]/;

function textOfTokens(tokens: readonly Token[]): string {
  return tokens.map(({ text }) => text).join(' ');
}
