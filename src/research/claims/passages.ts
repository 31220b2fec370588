import { type FoundDate, sameDate } from './text/dates.ts';
import type { Figure } from './text/figures.ts';
import { CJK } from './text/fold.ts';
import { isOrdinalIn } from './text/number-words.ts';
import type { Sentence } from './text/parse-sentence.ts';
import { isComputed, sameFigure } from './text/same-figure.ts';
import type { SourceText } from './text/source-text.ts';
import { isOneOf } from './text/words.ts';

/** Finds the passages of a source that share the most words, figures and dates with a claim. */

/** The longest passage, in UTF-16 code units. */
export const LONGEST_PASSAGE = 400;

/** Separates texts of one source that come from different results: no passage spans it. */
export const BORDER = '\n\n\f\n\n';

export interface Passage {
  start: number;
  end: number;
  sentences: readonly Sentence[];
  /** The numbers of its first and last sentence. */
  first: number;
  last: number;
  /** The share of the claim's words, figures and dates that are in it or in the title. */
  coverage: number;
  /** Which figures and dates of the claim are in it, and how many of them. */
  figures: readonly boolean[];
  dates: readonly boolean[];
  matched: number;
  /** How many words of the claim are in it or in the title. */
  words: number;
}

/** How many sentences of a source are candidates for one claim. */
const MAX_CANDIDATES = 3;
/** How many sentences before and after the best one are added, in the order of the attempts. */
const EXTENTS = [
  [1, 0],
  [0, 1],
  [1, 1],
  [2, 0],
  [0, 2],
  [2, 1],
  [3, 0],
  [1, 2],
  [0, 3],
] as const;
const MAX_PASSAGES = 8;

/** The passages that share most with a claim, best first. */
export function passagesFor(claim: Sentence, source: SourceText): Passage[] {
  const shared = new SharedSentences(claim, source);
  const likely = candidates(claim, source).map((index) => shared.passage(index, index));
  const alone = [...likely, ...shared.measuring(likely)].sort((a, b) => scoreOf(b) - scoreOf(a));
  const found = new Map(alone.map((passage) => [`${passage.first} ${passage.last}`, passage]));
  const [best] = alone;
  // A sentence that covers the whole claim does not get better with its neighbours.
  const index = best?.first ?? 0;
  for (const [before, after] of best && best.coverage < 1 ? EXTENTS : []) {
    const [first, last] = [index - before, index + after];
    if (first < 0 || last >= source.sentences || found.has(`${first} ${last}`)) continue;
    // A sentence at the edge that adds nothing would only make the passage longer.
    if ((before > 0 && !shared.mayAdd(first, index)) || (after > 0 && !shared.mayAdd(last, index))) continue;
    const [start, end] = [source.start(first), source.end(last)];
    if (end - start > LONGEST_PASSAGE || source.text.slice(start, end).includes(BORDER)) continue;
    found.set(`${first} ${last}`, shared.passage(first, last));
  }
  return [...found.values()]
    .filter(({ start, end }) => end - start <= LONGEST_PASSAGE)
    .sort((a, b) => scoreOf(b) - scoreOf(a))
    .slice(0, MAX_PASSAGES);
}

/** Some sentences of a source as a passage. */
export function passageOf(
  claim: Sentence,
  source: SourceText,
  { first, last }: Pick<Passage, 'first' | 'last'>,
): Passage {
  return new SharedSentences(claim, source).passage(first, last);
}

/** The lengths of the excerpts that a model gets for one claim, in UTF-16 code units: of the best place and another one. */
const EXCERPT_SIZES = [600, 300] as const;

/** The places of a source that share most with a claim, with enough context to be understood. */
export function shownPassages(
  claim: Sentence,
  source: SourceText,
): Pick<Passage, 'start' | 'end' | 'first' | 'last'>[] {
  const places: ReturnType<typeof shownPassages> = [];
  for (const { first, last } of passagesFor(claim, source)) {
    const maxLength = EXCERPT_SIZES[places.length];
    if (maxLength === undefined) break;
    if (!places.some((other) => first <= other.last && last >= other.first))
      places.push(widen({ first, last }, source, maxLength));
  }
  // A source in another language shares nothing with the claim, but its start tells what it is about.
  if (places.length === 0 && source.sentences > 0) places.push(widen({ first: 0, last: 0 }, source, EXCERPT_SIZES[0]));
  return places;
}

/** A passage with as many sentences around it as fit, added alternately after and before it. */
function widen(of: { first: number; last: number }, source: SourceText, maxLength: number) {
  let { first, last } = of;
  const fits = (from: number, to: number) => {
    if (from < 0 || to >= source.sentences || source.end(to) - source.start(from) > maxLength) return false;
    return !source.text.slice(source.start(from), source.end(to)).includes(BORDER);
  };
  for (let grows = true; grows; ) {
    grows = false;
    if (fits(first, last + 1)) [last, grows] = [last + 1, true];
    if (fits(first - 1, last)) [first, grows] = [first - 1, true];
  }
  return { start: source.start(first), end: source.end(last), first, last };
}

/** How well a passage covers a claim; shorter passages score better. */
export function scoreOf({ coverage, matched, start, end, figures, dates }: Passage): number {
  const lacks = Number(figures.includes(false)) + Number(dates.includes(false));
  return coverage * 2 + matched * 1.5 - lacks * 0.2 - ((end - start) / LONGEST_PASSAGE) * 0.3;
}

/** What each sentence of a source shares with one claim, cached because a sentence is part of many passages. */
class SharedSentences {
  readonly #claim: Sentence;
  readonly #source: SourceText;
  readonly #words: readonly Sentence['words'][number][];
  readonly #shared = new Map<number, { words: boolean[]; figures: boolean[]; dates: boolean[] }>();
  readonly #isInTitle: boolean[];
  /** For each figure of the claim, whether it is in the title, or part of a name. */
  readonly #isFigureElsewhere: boolean[];

  constructor(claim: Sentence, source: SourceText) {
    this.#claim = claim;
    this.#source = source;
    this.#words = [...new Map(claim.words.map((word) => [word.text, word])).values()];
    const { figures } = source.parsedTitle;
    this.#isFigureElsewhere = claim.figures.map(
      (figure) => figures.some((other) => sameFigure(figure, other)) || isLabel(figure, claim, source),
    );
    this.#isInTitle = this.#words.map((word) => isOneOf(word, source.parsedTitle.words));
  }

  passage(first: number, last: number): Passage {
    const source = this.#source;
    const all = Array.from({ length: last - first + 1 }, (_, i) => this.#sharedBy(first + i));
    const sentences = sentencesOf(source, first, last);
    const figures = this.#claim.figures.map(
      (figure, i) =>
        all.some((each) => each.figures[i]) ||
        this.#isFigureElsewhere[i] ||
        isSpan(figure, this.#claim, { sentences, source }) ||
        sentences.some((each) => isComputed(figure, each.figures)),
    );
    const dates = this.#claim.dates.map(
      (date, i) =>
        all.some((each) => each.dates[i]) ||
        source.parsedTitle.dates.some((other) => sameDate(date, other)) ||
        hasSplitDate(date, sentences, source),
    );
    const words = this.#words.filter((_, i) => this.#isInTitle[i] || all.some((each) => each.words[i])).length;
    const matched = [...figures, ...dates].filter(Boolean).length;
    const parts = this.#words.length + figures.length + dates.length;
    return {
      start: source.start(first),
      end: source.end(last),
      sentences,
      first,
      last,
      coverage: parts === 0 ? 1 : (words + matched) / parts,
      figures,
      dates,
      matched,
      words,
    };
  }

  /** Whether sentence `index` may share something with the claim that sentence `to` does not. A cheap test, without parsing. */
  mayAdd(index: number, to: number): boolean {
    const own = this.#sharedBy(to);
    if (CJK.test(this.#claim.text)) return true;
    const text = this.#source.folded.slice(this.#source.start(index), this.#source.end(index));
    if ((own.figures.includes(false) || own.dates.includes(false)) && /\d/.test(text)) return true;
    return this.#words.some(
      (word, i) => (word.isName || !(this.#isInTitle[i] || own.words[i])) && text.includes(word.text.slice(0, STEM)),
    );
  }

  /** The sentences near the likely ones that give a figure of the claim in other digits: `2,460 metres` for `2.5 km`. */
  measuring(found: readonly Passage[]): Passage[] {
    const lacking = this.#claim.figures.filter(
      (figure, at) => figure.unit && !found.some(({ figures }) => figures[at]),
    );
    const [best] = found;
    if (lacking.length === 0 || !best) return [];
    const passages: Passage[] = [];
    const last = Math.min(this.#source.sentences - 1, best.last + NEAR);
    for (let index = Math.max(0, best.first - NEAR); index <= last; index++) {
      if (!/\d/.test(this.#source.foldedSentence(index))) continue;
      const { figures } = this.#source.sentence(index);
      if (lacking.every((figure) => figures.some((other) => other.unit && sameFigure(figure, other))))
        passages.push(this.passage(index, index));
    }
    return passages.slice(0, MAX_CANDIDATES);
  }

  #sharedBy(index: number): { words: boolean[]; figures: boolean[]; dates: boolean[] } {
    const known = this.#shared.get(index);
    if (known) return known;
    const { words, figures, dates, folded } = this.#source.sentence(index);
    const shared = {
      words: this.#words.map((word) => isOneOf(word, words)),
      figures: this.#claim.figures.map(
        (figure) =>
          figures.some((other) => sameFigure(figure, other)) ||
          isYear(figure.values[0], dates) ||
          (!figure.unit && isOrdinalIn(folded, figure.values[0] ?? 0)),
      ),
      dates: this.#claim.dates.map((date) => dates.some((other) => sameDate(date, other))),
    };
    this.#shared.set(index, shared);
    return shared;
  }
}

/** How many sentences before and after the best one are searched for a figure in other digits. */
const NEAR = 4;
/** How many leading letters the forms of a word have in common, at least; see `sameWord`. */
const STEM = 3;

function sentencesOf(source: SourceText, first: number, last: number): Sentence[] {
  return Array.from({ length: last - first + 1 }, (_, i) => source.sentence(first + i));
}

/** Candidates need this share of the best sentence's score. */
const MIN_SHARED = 0.5;
/** How many places of a term are used in one source. */
const MAX_PLACES = 80;
/** How much text is searched for one claim, with a full pass over the source for each term, in UTF-16 code units. */
const MAX_READ = 8_000_000;

/** The sentences that share most with a claim. Rare words count more. */
function candidates(claim: Sentence, source: SourceText): number[] {
  const scores = new Map<number, number>();
  const { folded } = source;
  const weights = new Map<string, number>();
  for (const [term, weight] of termsOf(claim)) if (!weights.has(term)) weights.set(term, weight);
  const terms = [...weights];
  const maxTerms = Math.ceil(MAX_READ / (folded.length + 1));
  // The longest terms are the most distinctive.
  const chosen = terms.length <= maxTerms ? terms : terms.sort(([a], [b]) => b.length - a.length).slice(0, maxTerms);
  for (const [term, weight] of chosen) {
    const places = new Set<number>();
    let found = 0;
    for (let at = folded.indexOf(term); at !== -1 && found < MAX_PLACES; at = folded.indexOf(term, at + term.length)) {
      found++;
      places.add(source.indexAt(at));
    }
    const worth = weight / (1 + Math.log(found || 1));
    for (const place of places) scores.set(place, (scores.get(place) ?? 0) + worth);
  }
  // Numbers may be written differently in the source, so that no term matches.
  if (scores.size === 0 && claim.figures.length + claim.dates.length > 0) {
    return Array.from({ length: Math.min(MAX_CANDIDATES, source.sentences) }, (_, index) => index);
  }
  const minScore = Math.max(...scores.values()) * MIN_SHARED;
  return [...scores]
    .filter(([, score]) => score >= minScore)
    .sort(([a, scoreA], [b, scoreB]) => scoreB - scoreA || a - b)
    .slice(0, MAX_CANDIDATES)
    .map(([index]) => index);
}

function* termsOf({ words, figures, dates, folded }: Sentence): Generator<[term: string, weight: number]> {
  for (const { text, isName } of words) {
    if (CJK.test(text)) yield [text, 1];
    else if (text.length > 2) yield [text.slice(0, Math.max(4, Math.ceil(text.length * 0.65))), isName ? 1.5 : 1];
  }
  for (const { start, end } of [...figures, ...dates]) {
    for (const digits of folded.slice(start, end).match(/\d+/g) ?? []) yield [digits, digits.length > 1 ? 1.5 : 0.5];
  }
}

function isYear(value: number | undefined, dates: readonly FoundDate[]): boolean {
  return dates.some(
    ({ year, day }) => value !== undefined && (year === value || (year === undefined && day === value)),
  );
}

/** Whether a number is part of a name, such as `COVID-19`, that the source has with this number or not at all. */
function isLabel({ label, start, end }: Figure, { folded }: Sentence, source: SourceText): boolean {
  if (label === undefined) return false;
  return source.says(label + folded.slice(start, end)) || !source.says(label);
}

const OF_AGE = /(?<!\p{L})(?:aged?(?: of)?|alter von|age de|edad de|eta di|a los|mit) $/u;

/** Whether a time is the span between two dates of a passage: `born in 1934, she came in 1960` at the age of 26. */
function isSpan(
  figure: Figure,
  { folded }: Sentence,
  { sentences, source }: { sentences: readonly Sentence[]; source: SourceText },
): boolean {
  const { start, values, steps, unit } = figure;
  if (unit ? unit.dimension !== 'time' : !OF_AGE.test(folded.slice(Math.max(0, start - 16), start))) return false;
  const days = (unit?.factor ?? YEAR) / DAY;
  const [span, step] = [(values[0] ?? 0) * days, (steps[0] ?? 1) * days];
  const tolerance = figure.precision() === 'exact' ? step / 2 : Math.max(step, span / 10);
  const dates = [source.parsedTitle, ...sentences].flatMap((each) => each.dates.flatMap((date) => daysOf(date) ?? []));
  return dates.some((from) =>
    dates.some((to) => {
      const [least, most] = [to.first - from.last, to.last - from.first];
      // Two years tell no number of days.
      return least > 0 && most - least <= MAX_VAGUE * days && span >= least - tolerance && span <= most + tolerance;
    }),
  );
}
/** In seconds, as the factors of units. */
const DAY = 86_400;
const YEAR = 31_557_600;
/** How many units of a span are left open at most by dates of which only the year or the month is known. */
const MAX_VAGUE = 2.1;

/** The first and the last day that a date may be, counted from 1970; undefined if its year is not known. */
function daysOf({ year, month, day }: FoundDate): { first: number; last: number } | undefined {
  if (year === undefined) return undefined;
  const first = Date.UTC(year, (month ?? 1) - 1, day ?? 1);
  const last = day === undefined ? Date.UTC(year, month ?? 12, 0) : first;
  return { first: first / (DAY * 1000), last: last / (DAY * 1000) };
}

/** Whether a date is in the passage in two parts, such as the day in a sentence and its year elsewhere. */
function hasSplitDate(date: FoundDate, sentences: readonly Sentence[], source: SourceText): boolean {
  const { year, month, day } = date;
  if (year === undefined) return false;
  if (month === undefined) {
    return sentences.some(({ figures }) => figures.some(({ values }) => values.includes(year)));
  }
  const hasDay = sentences.some(({ dates }) =>
    dates.some(
      (other) => other.year === undefined && other.month === month && (day === undefined || other.day === day),
    ),
  );
  return hasDay && source.says(String(year));
}
