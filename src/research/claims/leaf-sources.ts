import { inSlices } from '../../base/load/event-loop.ts';
import { withoutTrailing } from '../../base/text.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import { citation } from '../answer/citation.ts';
import type { Source } from '../run/sources.ts';
import type { ClaimChecker } from './claim-checker.ts';
import { type JsonLeaf, leavesOf } from './json-leaves.ts';
import { LONGEST_PASSAGE } from './passages.ts';
import { NEGATIONS } from './rules/lexicon.ts';
import { isDatedElsewhere } from './rules/swaps.ts';
import { LONGEST_CLAIM } from './sentences.ts';
import { findSupport } from './support.ts';
import { sameDate } from './text/dates.ts';
import { type Figure, saysFall } from './text/figures.ts';
import { parseSentence, type Sentence } from './text/parse-sentence.ts';
import { sameFigure } from './text/same-figure.ts';
import type { SourceText } from './text/source-text.ts';
import { sameWord } from './text/words.ts';

/** Longer strings, in UTF-16 code units, are sentences: they are checked like claims instead of being searched for. */
const LONGEST_VALUE = 60;
/** Shorter strings match everywhere. */
const MIN_LETTERS = 3;
/** How many values of one answer are looked up, as each costs a search of every source. */
const MAX_LOOKED_UP = 2000;
/** How many sentences of one source that have the letters of a value are read, and how many that have it as whole words are examined. */
const MAX_PLACES = 1000;
const MAX_EXAMINED = 40;
/** How many sentences of all sources are searched for the values of one answer; parsing one counts as `PARSING` of them. */
const MAX_SEARCHED = 1_000_000;
const PARSING = 20;

interface FoundValue {
  support: 'quoted' | 'partial';
  start: number;
  end: number;
  /** How many words of the value's context are near it. */
  worth: number;
}

/**
 * The citations of a structured answer, in the order of its text: those of its markers, with the value that they are in,
 * and one for each other value that a source of the run supports (docs/research.md, "Claims").
 */
export async function citeLeaves(
  json: string,
  { marked, claims, sources }: { marked: readonly UrlCitation[]; claims: ClaimChecker; sources: readonly Source[] },
): Promise<UrlCitation[]> {
  const citations: UrlCitation[] = [];
  const texts = await claims.read(sources);
  const inOrder = marked.toSorted((a, b) => a.start_index - b.start_index);
  const leaves: JsonLeaf[] = [];
  await inSlices(leavesOf(json), (leaf) => void leaves.push(leaf));
  const budget = { left: MAX_SEARCHED };
  let next = 0;
  let lookups = 0;
  for (const leaf of leaves) {
    const own: UrlCitation[] = [];
    for (let mark = inOrder[next]; mark && mark.start_index < leaf.end; mark = inOrder[++next]) {
      if (mark.start_index >= leaf.start) own.push(mark);
    }
    citations.push(...own.map((each) => ({ ...each, path: leaf.path })));
    if (own.length > 0 || leaf.kind === 'other' || ++lookups > MAX_LOOKED_UP) continue;
    const best = await bestOf(leaf, texts, budget);
    if (best) citations.push(best);
  }
  return citations;
}

async function bestOf(
  leaf: JsonLeaf,
  texts: readonly [Source, SourceText][],
  budget: ValueSearch['budget'],
): Promise<UrlCitation | undefined> {
  const value = parseSentence(leaf.text.slice(0, LONGEST_CLAIM));
  const about = parseSentence(leaf.about.join(' ').slice(0, LONGEST_CLAIM));
  const figure = { start: 0, end: 0, steps: [1], isRounded: false, precision: () => 'exact' as const };
  const exact = {
    ...(value.figures[0] ?? figure),
    values: [Math.abs(Number(leaf.text))],
    unit: undefined,
    falls: () => saysFall(about.folded),
  };
  const written = wholeWords(value.folded);
  const digits = digitsOf(leaf.kind === 'number' ? [exact] : value.figures);
  const all: { source: Source; text: SourceText; found: FoundValue }[] = [];
  const look = function* (): Generator<undefined> {
    for (const [source, text] of texts) {
      const found =
        leaf.text.length > LONGEST_VALUE
          ? findStatement(value, text)
          : yield* findValue({ leaf, value, exact, written, digits, about, text, budget });
      if (found) all.push({ source, text, found });
      yield;
    }
  };
  await inSlices(look(), () => {}, { stepsPerClockRead: 1 });
  const [first, ...others] = all;
  if (!first) return undefined;
  const { source, text, found } = others.reduce(
    (best, each) => (each.found.worth > best.found.worth ? each : best),
    first,
  );
  const range = { start_index: leaf.start, end_index: leaf.end };
  const cited_text = text.text.slice(found.start, found.end).trim();
  return { ...citation(range, { source, index: null }, { cited_text, support: found.support }), path: leaf.path };
}

function findStatement(value: Sentence, text: SourceText): FoundValue | undefined {
  const { support, passage } = findSupport(value, text);
  if (support === 'none' || !passage) return undefined;
  return { support, ...passage, worth: support === 'quoted' ? 2 : 1 };
}

/** A value of a JSON answer, its context (names and neighbours), and the text to search. */
interface ValueSearch {
  leaf: JsonLeaf;
  value: Sentence;
  /** A number as a figure without a unit. */
  exact: Figure;
  /** The value as it is written, as whole words and numbers. */
  written: RegExp;
  /** What every notation of its figure contains, if that is known. */
  digits: RegExp | undefined;
  about: Sentence;
  text: SourceText;
  /** What the other values of the answer have left of `MAX_SEARCHED`. */
  budget: { left: number };
}

/**
 * The leading digits of an exact figure in any notation, or those of the next lower figure if what follows rounds up: `26`,
 * `26.3` and `25.8` for 26.
 */
function digitsOf([figure, another]: readonly Figure[]): RegExp | undefined {
  if (!figure || another || figure.precision() !== 'exact') return undefined;
  const whole = Math.round((figure.values[0] ?? 0) / (figure.steps[0] ?? 1));
  if (!Number.isSafeInteger(whole) || whole < 1) return undefined;
  const spaced = (digits: string) => digits.split('').join(SEPARATOR);
  const own = spaced(withoutTrailing(String(whole), '0'));
  return new RegExp(`(?<![1-9])(?:${own}|${spaced(String(whole - 1))}${SEPARATOR}[5-9])`);
}
const SEPARATOR = "[.,' \u00a0\u202f\u2009٬٫]?";

/** The sentence that has a value and most of its context: verbatim, or else a number or date in another notation. */
function* findValue(search: ValueSearch): Generator<undefined, FoundValue | undefined> {
  const { leaf, value, text, written } = search;
  // A name says what it is about; `open` and `red` stand in many a text.
  const isName = leaf.text.length >= MIN_LETTERS && value.words.length > 0 && /[\p{Lu}\p{Lo}\p{N}]/u.test(leaf.text);
  const places = leaf.kind === 'string' ? placesOf(value.folded, text, MAX_PLACES) : [];
  const found = yield* bestAmong(places, search, { needsMore: !isName, has: written, max: MAX_EXAMINED });
  if (found || !isMeasure(leaf, value)) return found;
  // Every notation of a number has its first digit, and every notation of a date its year.
  const year = leaf.kind === 'string' ? value.dates[0]?.year : undefined;
  const needle = year === undefined ? /\d/.exec(value.folded)?.[0] : String(year);
  const digits = year === undefined ? search.digits : undefined;
  return yield* bestAmong(placesOf(needle ?? '', text), search, { needsMore: true, has: digits });
}

/**
 * `needsMore`: the value alone is not enough, a word of its context has to be there, too. `has`: sentences without it are
 * not parsed. `max`: how many others are.
 */
function* bestAmong(
  places: Iterable<number>,
  search: ValueSearch,
  { needsMore, has, max = Number.POSITIVE_INFINITY }: { needsMore: boolean; has: RegExp | undefined; max?: number },
): Generator<undefined, FoundValue | undefined> {
  const { value, about, text, budget } = search;
  let best: FoundValue | undefined;
  let examined = 0;
  for (const index of places) {
    if (budget.left-- <= 0) break;
    yield;
    if (has && !has.test(text.foldedSentence(index))) continue;
    if (++examined > max) break;
    budget.left -= PARSING;
    const sentence = text.parse(index);
    if (!hasValue(sentence, search)) continue;
    if (isDatedElsewhere({ figures: value.figures, dates: about.dates }, [sentence])) continue;
    const before = index > 0 ? text.parse(index - 1) : undefined;
    const words = [...sentence.words, ...(before?.words ?? []), ...text.parsedTitle.words];
    const worth = about.words.filter((word) => words.some((other) => sameWord(other.text, word.text))).length;
    if (worth === 0 && needsMore) continue;
    if (!best || worth > best.worth) {
      const [start, end] = [text.start(index), text.end(index)];
      best = { support: 'quoted', start, end: Math.min(end, start + LONGEST_PASSAGE), worth };
    }
  }
  return best;
}

/** A folded value, but not as a part of other words or numbers: `42` is not in `1942` or `-42`, nor `ann` in `annabelle`. */
function wholeWords(folded: string): RegExp {
  return new RegExp(`${boundary(folded, STARTS)}${RegExp.escape(folded)}${boundary(folded, ENDS)}`, 'u');
}

/** What may not be beside a value that matches the pattern. */
type Boundary = readonly [value: RegExp, beside: string];

function boundary(folded: string, boundaries: readonly Boundary[]): string {
  return boundaries.find(([value]) => value.test(folded))?.[1] ?? '';
}

/** Letters of scripts with spaces whose words are not joined to others; some endings do not make another word. */
const LETTER = '[a-zß-ʯͰ-ӿ]';
const ENDING = `(?:e?s|[Ͱ-ӿ]{1,2})(?!${LETTER}|\\d)`;
const STARTS: readonly Boundary[] = [
  [/^\d/, String.raw`(?<!\p{L}|\d|\d[.,]|(?:^|(?<!\d)\s|[(|])[-–][$€£¥]?)`],
  [new RegExp(`^${LETTER}`), `(?<!${LETTER}|\\d)`],
];
const ENDS: readonly Boundary[] = [
  [/\d$/, String.raw`(?!\d|[.,]\d)`],
  [new RegExp(`${LETTER}$`), `(?!(?!${ENDING})(?:${LETTER}|\\d))`],
];

/** Whether a sentence has a value, and no negation directly before it. */
function isAffirmed({ folded }: Sentence, written: RegExp): boolean {
  const at = folded.search(written);
  return at !== -1 && !NEGATIONS.isIn(LAST_WORDS.exec(folded.slice(Math.max(0, at - MAX_BEFORE), at))?.[0] ?? '');
}
/** The two words before a value, and how far they are looked for, in UTF-16 code units. */
const LAST_WORDS = /(?:\S+\s+)?\S+\s*$/;
const MAX_BEFORE = 30;

/** The sentences that contain a term, each once; no more than `max`. */
function* placesOf(term: string, text: SourceText, max = Number.POSITIVE_INFINITY): Generator<number> {
  if (term === '') return;
  let seen = 0;
  for (let at = text.folded.indexOf(term); at !== -1 && seen < max; at = text.folded.indexOf(term, at)) {
    const index = text.indexAt(at);
    yield index;
    seen++;
    at = Math.max(at + 1, text.end(index));
  }
}

/** Whether a value is a number, with or without a unit, or a date, which sources may write differently. */
function isMeasure({ kind }: JsonLeaf, { figures, dates, words }: Sentence): boolean {
  return kind === 'number' || (words.length === 0 && figures.length + dates.length > 0);
}

/** Whether a sentence has all dates and figures of a value that consists of them. */
function hasMeasure(sentence: Sentence, leaf: JsonLeaf, value: Sentence): boolean {
  return (
    isMeasure(leaf, value) &&
    value.dates.every((date) => sentence.dates.some((other) => sameDate(date, other))) &&
    value.figures.every((figure) => sentence.figures.some((other) => sameFigure(figure, other)))
  );
}

function hasValue(sentence: Sentence, { leaf, value, exact, written }: ValueSearch): boolean {
  if (leaf.kind === 'string') return isAffirmed(sentence, written) || hasMeasure(sentence, leaf, value);
  return (
    sentence.figures.some((other) => sameFigure(exact, other.unit ? { ...other, unit: undefined } : other)) ||
    sentence.dates.some(({ year }) => year === Number(leaf.text))
  );
}
