import { type Doubt, doubtsOfClause, likeness } from './clause-checks.ts';
import { copiedFrom, doubtsOfCopy } from './copies.ts';
import { isDenied } from './denials.ts';
import { ALL, NEGATIONS, UNIVERSAL } from './lexicon.ts';
import { missingNames } from './names.ts';
import { contextOf, type Passage, passagesFor, scoreOf, wholeOf } from './passages.ts';
import { isSwapped } from './swaps.ts';
import { isOfAnotherCell } from './table-cells.ts';
import type { Figure } from './text/figures.ts';
import { CJK } from './text/fold.ts';
import type { Clause, Parsed } from './text/parsed.ts';
import { mayBeComputed } from './text/same-figure.ts';
import { SourceText } from './text/source-text.ts';
import { isOneOf } from './text/words.ts';

/** Whether a source carries a claim, found by its words, figures, dates and names alone. */

export interface Carried {
  support: 'quoted' | 'partial' | 'none';
  /** The range of the passage in the text of the source; undefined where nothing there speaks of it. */
  passage: { start: number; end: number } | undefined;
  doubts: readonly Doubt[];
  /** Whether the passage has the words of the claim one behind the other. */
  isCopied: boolean;
}

const NOTHING: Carried = { support: 'none', passage: undefined, doubts: ['words'], isCopied: false };

/** The part of a claim's words that a passage has to say, by the figures, dates and names that stand in both. */
const MOSTLY = [0.3, 0.25, 0.2];
const MOSTLY_CJK = 0.2;
/** The part from which on a claim may be a copy but for a few words: asking costs more than the part. */
const MIN_COPIED = 0.5;
/** The part from which on it may be a copy of whole sentences. Less than all: a figure is read differently beside others. */
const MOSTLY_COPIED = 0.8;
/** A claim of so many words should have one of them in what carries it. */
const MIN_WORDS = 2;
/** The part below which it speaks of something else. */
const ABOUT = 0.25;

/** Holds a claim against one source. */
export function carries(claim: Parsed, source: SourceText): Carried {
  let best: Judged | undefined;
  for (const passage of passagesFor(claim, source)) {
    const judged = judge(claim, passage, source);
    if (!best || judged.score > best.score) best = judged;
  }
  if (!best) return NOTHING;
  const { coverage, anchors } = best;
  const passage = { start: best.passage.start, end: best.passage.end };
  const copied = coverage >= MOSTLY_COPIED ? copiedFrom(claim, best.passage, source.parsedTitle) : undefined;
  if (copied === 'whole') return { support: 'quoted', passage, doubts: [], isCopied: true };
  const isCopied = copied !== undefined;
  const mayCopy = !isCopied && coverage >= MIN_COPIED;
  const inCopy = mayCopy ? doubtsOfCopy(claim, mainOf(claim, best.passage.sentences)) : [];
  const doubts = [...new Set([...best.doubts, ...inCopy, ...clauseDoubts(claim, best.passage)])];
  // What costs most is looked at last, and only where nothing else is doubted.
  if (doubts.length === 0 && !isCopied) {
    const context = contextOf(best.passage, source);
    if (saysOfAll(claim, [source.parsedTitle, ...context])) doubts.push('extent');
    else if (isSwapped(claim, context) || isOfAnotherCell(claim, best.passage, source)) doubts.push('swap');
  }
  if (doubts.length === 0) return { support: 'quoted', passage, doubts, isCopied };
  if (coverage < ABOUT && anchors === 0) return NOTHING;
  return { support: 'partial', passage, doubts, isCopied };
}

/**
 * A claim against the words that the model named for it. It may know that other words say the same, and what figures of
 * the source make together; it does not change a figure, nor what a sentence says in the same words.
 */
export function supportOfNamed(claim: Parsed, words: string, source: SourceText): Carried['support'] {
  const named = SourceText.open({ title: source.title, text: words });
  const whole = wholeOf(claim, named);
  if (!whole) return 'quoted';
  const told = passagesFor(claim, source);
  const isTold = (kind: 'figures' | 'dates', at: number) => [whole, ...told].some((passage) => passage[kind][at]);
  const sentences = [...whole.sentences, ...told.flatMap((passage) => passage.sentences)];
  const figures = sentences.flatMap((sentence) => sentence.figures);
  const dates = sentences.flatMap((sentence) => sentence.dates);
  const years = dates.flatMap(({ year }) => year ?? []);
  const hasRival = ({ unit }: Figure) =>
    whole.sentences.some((each) => each.figures.some((other) => other.unit?.dimension === unit?.dimension));
  const lacks =
    claim.figures.some(
      (figure, at) => !isTold('figures', at) && hasRival(figure) && !mayBeComputed(figure, figures, years),
    ) ||
    claim.dates.some(({ year }, at) => !isTold('dates', at) && dates.length > 0 && !isYearFrom(year, dates, figures));
  const isOther =
    copiedFrom(claim, whole, named.parsedTitle) === undefined &&
    doubtsOfCopy(claim, mainOf(claim, whole.sentences)).length > 0;
  return lacks || isOther ? 'partial' : 'quoted';
}

/** Whether a year lies so many years before or behind another one: `in 1994, 12 years after the war`. */
function isYearFrom(year: number | undefined, dates: Parsed['dates'], figures: Parsed['figures']): boolean {
  if (year === undefined) return false;
  return dates.some((date) =>
    figures.some(({ values: [years = 0] }) => date.year !== undefined && Math.abs(date.year - year) === years),
  );
}

/** Whether a claim says of all what no sentence of its passage says so. */
function saysOfAll({ folded }: Parsed, context: readonly Parsed[]): boolean {
  if (!UNIVERSAL.isIn(folded) || NEGATIONS.isIn(folded)) return false;
  return !context.some((sentence) => ALL.isIn(sentence.folded));
}

/** What a name that stands in both adds to the score of a passage. */
const NAME_WORTH = 1.5;

interface Judged {
  doubts: Doubt[];
  coverage: number;
  /** Figures, dates and names that stand in both. */
  anchors: number;
  score: number;
  passage: Passage;
}

function judge(claim: Parsed, passage: Passage, source: SourceText): Judged {
  const { sentences, coverage } = passage;
  const names = missingNames(claim, { window: sentences, main: mainOf(claim, sentences), source });
  const anchors = passage.told + names.found;
  const doubts: Doubt[] = [];
  if (passage.figures.includes(false)) doubts.push('figure');
  if (passage.dates.includes(false)) doubts.push('date');
  if (names.missing) doubts.push('name');
  if (coverage < leastOf(claim, anchors) || sharesYearAlone(claim, passage)) doubts.push('words');
  const more = doubts.filter((doubt) => doubt === 'name' || doubt === 'words').length;
  return { doubts, coverage, anchors, score: scoreOf(passage) + names.found * NAME_WORTH - more * 0.2, passage };
}

/** Whether nothing of a claim but a year stands in a passage: everything else there may be of something else. */
function sharesYearAlone({ dates }: Parsed, { told, said, dates: found }: Passage): boolean {
  const year = dates[found.indexOf(true)];
  return told === 1 && said.words === 0 && said.of >= MIN_WORDS && year !== undefined && year.month === undefined;
}

/** The less of the words has to stand there, the more figures, dates and names do: the rest is said in other words. */
function leastOf(claim: Parsed, anchors: number): number {
  if (CJK.test(claim.text)) return MOSTLY_CJK;
  return MOSTLY[Math.min(anchors, MOSTLY.length - 1)] ?? 0;
}

/** The sentence of a passage that holds the figures of a claim, or most of its words. */
function mainOf(claim: Parsed, sentences: readonly Parsed[]): Parsed {
  if (sentences.length === 1 && sentences[0]) return sentences[0];
  let best: { sentence: Parsed; score: number } | undefined;
  for (const sentence of sentences) {
    const score = likeness(claim, sentence);
    if (!best || score > best.score) best = { sentence, score };
  }
  return best?.sentence ?? claim;
}

/** Each part of the claim against the part of the passage that is most like it. */
function clauseDoubts(claim: Parsed, { sentences }: Passage): Doubt[] {
  const doubts: Doubt[] = [];
  const all = sentences.flatMap((sentence) => {
    const around = likeness(claim, sentence) * AROUND_WORTH;
    return sentence.clauses.map((clause) => ({ clause, sentence, around }));
  });
  const meant = new Set<Parsed>();
  for (const clause of claim.clauses) {
    const own = mostLike(clause, all);
    if (!own) continue;
    meant.add(own.sentence);
    doubts.push(...doubtsOfClause({ clause, sentence: claim }, own));
  }
  if (partSaid(claim, sentences) >= REPEATED && isDenied(claim, [...meant])) doubts.push('negation');
  return doubts;
}

/** The clause of a passage that is most like one of a claim; of two, the one whose sentence is more like the claim's. */
function mostLike<T extends { clause: Clause; around: number }>(claim: Clause, all: readonly T[]): T | undefined {
  let best: { of: T; score: number } | undefined;
  for (const of of all) {
    const near = likeness(claim, of.clause);
    const score = near + of.around;
    if (near > 0 && (!best || score > best.score)) best = { of, score };
  }
  return best?.of;
}
const AROUND_WORTH = 0.3;

/** The part of its words from which on a claim repeats its passage: what says the same in other words denies otherwise. */
const REPEATED = 0.65;

function partSaid(claim: Parsed, sentences: readonly Parsed[]): number {
  if (claim.words.length === 0) return 1;
  const words = sentences.flatMap((sentence) => sentence.words);
  return claim.words.filter((word) => isOneOf(word, words)).length / claim.words.length;
}
