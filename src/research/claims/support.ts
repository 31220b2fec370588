import { type Doubt, doubtsOfClause, likeness } from './clause-checks.ts';
import { copiedFrom, doubtsOfCopy } from './copies.ts';
import { affirmsDenied, isDenied } from './denials.ts';
import { ALL, NEGATIONS, UNIVERSAL } from './lexicon.ts';
import { missingNames } from './names.ts';
import { contextOf, type Passage, passagesFor, scoreOf, wholeOf } from './passages.ts';
import { isSwapped } from './swaps.ts';
import { isOfAnotherCell } from './table-cells.ts';
import type { Figure } from './text/figures.ts';
import { CJK } from './text/fold.ts';
import type { Clause, Sentence } from './text/parse-sentence.ts';
import { mayBeComputed } from './text/same-figure.ts';
import { SourceText } from './text/source-text.ts';
import { isOneOf } from './text/words.ts';
import { misquotes } from './verbatim.ts';

/** Whether a source supports a claim, judged by words, figures, dates and names, without a model. */

export interface SupportResult {
  support: 'quoted' | 'partial' | 'none';
  /** The range of the passage in the text of the source; undefined if the source does not mention the subject. */
  passage: { start: number; end: number } | undefined;
  doubts: readonly Doubt[];
  /** Whether the passage contains the words of the claim in sequence. */
  isCopied: boolean;
}

const NOTHING: SupportResult = { support: 'none', passage: undefined, doubts: ['words'], isCopied: false };

/** The share of a claim's words that a passage needs, by how many figures, dates and names they have in common. */
const WORD_SHARE = [0.3, 0.25, 0.2];
const WORD_SHARE_CJK = 0.2;
/** The coverage from which a claim may be a copy with a few words replaced. Below it the costly check is skipped. */
const MIN_COPIED = 0.5;
/** The coverage from which it may be a copy of whole sentences. Below 1, as a figure may be read differently in context. */
const MOSTLY_COPIED = 0.8;
/** A claim with this many words must share at least one of them with its passage. */
const MIN_WORDS = 2;
/** The coverage below which a passage is about something else. */
const RELATED_COVERAGE = 0.25;

/** Finds the passage of a source that supports a claim best, and what speaks against it. */
export function findSupport(claim: Sentence, source: SourceText): SupportResult {
  let best: Judgement | undefined;
  for (const passage of passagesFor(claim, source)) {
    const judged = judge(claim, passage, source);
    if (!best || judged.score > best.score) best = judged;
  }
  if (!best) return NOTHING;
  const { coverage, anchors } = best;
  const passage = { start: best.passage.start, end: best.passage.end };
  const copy = coverage >= MOSTLY_COPIED ? copiedFrom(claim, best.passage, source.parsedTitle) : undefined;
  if (copy === 'whole') return { support: 'quoted', passage, doubts: [], isCopied: true };
  const isCopied = copy !== undefined;
  const mayCopy = !isCopied && coverage >= MIN_COPIED;
  const inCopy = mayCopy ? doubtsOfCopy(claim, mainOf(claim, best.passage.sentences)) : [];
  const doubts = [...new Set([...best.doubts, ...inCopy, ...clauseDoubts(claim, best.passage)])];
  // The costliest checks come last, and only if there is no doubt yet.
  if (doubts.length === 0 && !isCopied) {
    const context = contextOf(best.passage, source);
    if (misquotes(claim, mainOf(claim, best.passage.sentences), source)) doubts.push('words');
    else if (isGeneralized(claim, [source.parsedTitle, ...context])) doubts.push('extent');
    else if (isSwapped(claim, context) || isOfAnotherCell(claim, best.passage, source)) doubts.push('swap');
  }
  if (doubts.length === 0) return { support: 'quoted', passage, doubts, isCopied };
  if (coverage < RELATED_COVERAGE && anchors === 0) return NOTHING;
  return { support: 'partial', passage, doubts, isCopied };
}

/**
 * How well the words that the model quoted support a claim. The model is trusted to recognise a paraphrase or a computed
 * figure, but not to contradict a figure, or a sentence that the claim copies with a few words replaced.
 */
export function supportOfQuote(claim: Sentence, words: string, source: SourceText): SupportResult['support'] {
  const named = SourceText.open({ title: source.title, text: words });
  const quoted = wholeOf(claim, named);
  if (!quoted) return 'quoted';
  const passages = passagesFor(claim, source);
  const isFound = (kind: 'figures' | 'dates', at: number) => [quoted, ...passages].some((passage) => passage[kind][at]);
  const sentences = [...quoted.sentences, ...passages.flatMap((passage) => passage.sentences)];
  const figures = sentences.flatMap((sentence) => sentence.figures);
  const dates = sentences.flatMap((sentence) => sentence.dates);
  const years = dates.flatMap(({ year }) => year ?? []);
  const hasRival = ({ unit }: Figure) =>
    quoted.sentences.some((each) => each.figures.some((other) => other.unit?.dimension === unit?.dimension));
  const lacks =
    claim.figures.some(
      (figure, at) => !isFound('figures', at) && hasRival(figure) && !mayBeComputed(figure, figures, years),
    ) ||
    claim.dates.some(({ year }, at) => !isFound('dates', at) && dates.length > 0 && !isYearFrom(year, dates, figures));
  const contradicts =
    copiedFrom(claim, quoted, named.parsedTitle) === undefined &&
    doubtsOfCopy(claim, mainOf(claim, quoted.sentences)).length > 0;
  return lacks || contradicts ? 'partial' : 'quoted';
}

/** Whether a year follows from another year and a number of years: `in 1994, 12 years after the war`. */
function isYearFrom(year: number | undefined, dates: Sentence['dates'], figures: Sentence['figures']): boolean {
  if (year === undefined) return false;
  return dates.some((date) =>
    figures.some(({ values: [years = 0] }) => date.year !== undefined && Math.abs(date.year - year) === years),
  );
}

/** Whether a claim generalizes to all what no sentence of its passage does. */
function isGeneralized({ folded }: Sentence, context: readonly Sentence[]): boolean {
  if (!UNIVERSAL.isIn(folded) || NEGATIONS.isIn(folded)) return false;
  return !context.some((sentence) => ALL.isIn(sentence.folded));
}

/** What a shared name adds to the score of a passage. */
const NAME_WEIGHT = 1.5;

interface Judgement {
  doubts: Doubt[];
  coverage: number;
  /** How many figures, dates and names claim and passage have in common. */
  anchors: number;
  score: number;
  passage: Passage;
}

function judge(claim: Sentence, passage: Passage, source: SourceText): Judgement {
  const { sentences, coverage } = passage;
  const names = missingNames(claim, { window: sentences, main: mainOf(claim, sentences), source });
  const anchors = passage.matched + names.found;
  const doubts: Doubt[] = [];
  if (passage.figures.includes(false)) doubts.push('figure');
  if (passage.dates.includes(false)) doubts.push('date');
  if (names.missing) doubts.push('name');
  if (coverage < minCoverage(claim, anchors) || sharesYearAlone(claim, passage)) doubts.push('words');
  const penalty = doubts.filter((doubt) => doubt === 'name' || doubt === 'words').length * 0.2;
  return { doubts, coverage, anchors, score: scoreOf(passage) + names.found * NAME_WEIGHT - penalty, passage };
}

/** Whether claim and passage share nothing but a year: the passage may then be about something else. */
function sharesYearAlone({ dates }: Sentence, { matched, wordMatches: words, dates: found }: Passage): boolean {
  const year = dates[found.indexOf(true)];
  return matched === 1 && words.found === 0 && words.of >= MIN_WORDS && year !== undefined && year.month === undefined;
}

/** The more figures, dates and names are shared, the fewer words have to be: the rest may be paraphrased. */
function minCoverage(claim: Sentence, anchors: number): number {
  if (CJK.test(claim.text)) return WORD_SHARE_CJK;
  return WORD_SHARE[Math.min(anchors, WORD_SHARE.length - 1)] ?? 0;
}

/** The sentence of a passage that has the figures of a claim, or most of its words. */
function mainOf(claim: Sentence, sentences: readonly Sentence[]): Sentence {
  if (sentences.length === 1 && sentences[0]) return sentences[0];
  let best: { sentence: Sentence; score: number } | undefined;
  for (const sentence of sentences) {
    const score = likeness(claim, sentence);
    if (!best || score > best.score) best = { sentence, score };
  }
  return best?.sentence ?? claim;
}

/** The doubts that arise from comparing each clause of the claim with the most similar clause of the passage. */
function clauseDoubts(claim: Sentence, { sentences }: Passage): Doubt[] {
  const doubts: Doubt[] = [];
  const all = sentences.flatMap((sentence) => {
    const around = likeness(claim, sentence) * CONTEXT_WEIGHT;
    return sentence.clauses.map((clause) => ({ clause, sentence, around }));
  });
  const matches = new Set<Sentence>();
  for (const clause of claim.clauses) {
    const own = mostSimilar(clause, all);
    if (!own) continue;
    matches.add(own.sentence);
    doubts.push(...doubtsOfClause({ clause, sentence: claim }, own));
  }
  const isAlike = shareOfWords(claim, sentences) >= MIN_COMMON_WORDS;
  if (isAlike && (isDenied(claim, [...matches]) || affirmsDenied(claim, [...matches]))) doubts.push('negation');
  return doubts;
}

/** The clause of a passage that is most like a clause of the claim; a similar sentence around it breaks ties. */
function mostSimilar<T extends { clause: Clause; around: number }>(claim: Clause, all: readonly T[]): T | undefined {
  let best: { candidate: T; score: number } | undefined;
  for (const candidate of all) {
    const similarity = likeness(claim, candidate.clause);
    const score = similarity + candidate.around;
    if (similarity > 0 && (!best || score > best.score)) best = { candidate, score };
  }
  return best?.candidate;
}
const CONTEXT_WEIGHT = 0.3;

/** The share of common words from which negations are compared: a paraphrase may negate in words that are not listed. */
const MIN_COMMON_WORDS = 0.65;

function shareOfWords(claim: Sentence, sentences: readonly Sentence[]): number {
  if (claim.words.length === 0) return 1;
  const words = sentences.flatMap((sentence) => sentence.words);
  return claim.words.filter((word) => isOneOf(word, words)).length / claim.words.length;
}
