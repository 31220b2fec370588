import { clausePairs, mainOf } from './likeness.ts';
import { type Passage, passageOf, passagesFor, scoreOf, shownPassages } from './passages.ts';
import { isCopyOf, isFalsified, isFromBeside } from './rules/copies.ts';
import { affirmsDenied, isDenied } from './rules/denials.ts';
import { isOpposed, isRuledOut } from './rules/directions.ts';
import { isGeneralized, isOnlyPlanned } from './rules/extent.ts';
import { isMisnamed } from './rules/full-names.ts';
import { RELATIVE } from './rules/lexicon.ts';
import { missingNames } from './rules/names.ts';
import { misquotes } from './rules/quotes.ts';
import { isCausedByAnother, isSaidByAnother } from './rules/roles.ts';
import { isSwapped } from './rules/swaps.ts';
import { isOfAnotherCell } from './rules/table-cells.ts';
import type { Figure } from './text/figures.ts';
import { CJK, foldText } from './text/fold.ts';
import type { Sentence } from './text/parse-sentence.ts';
import { isCount, mayBeComputed } from './text/same-figure.ts';
import { SourceText } from './text/source-text.ts';
import { isOneOf } from './text/words.ts';

/**
 * Whether a source supports a claim, judged by words, figures, dates and names, without a model. The order of judgement:
 *
 * 1. `passages.ts` finds the passages that share most with the claim. The best one counts.
 * 2. A passage that the claim copies as a whole supports it.
 * 3. What the passage lacks: figures, dates, names, most of the words (`lacks`).
 * 4. What it says otherwise, clause by clause: directions, plans, ranks, negations (`contradicts`).
 * 5. What it says of something else (`confuses`): replaced words in a copy, quotes, `all`, exchanged parts, rows of a table.
 *
 * Each rule is one function of `rules/`. What is doubted is `partial`, or `none` where the passage is about something else.
 */

export interface SupportResult {
  support: 'quoted' | 'partial' | 'none';
  /** The range of the passage in the text of the source; undefined if the source does not mention the subject. */
  passage: { start: number; end: number } | undefined;
  /** Whether the claim is one or more whole sentences of the passage, so that nobody has to look at it again. */
  isCopied: boolean;
}

const NOTHING: SupportResult = { support: 'none', passage: undefined, isCopied: false };

/** The share of a claim's words that a passage needs, by how many figures, dates and names they have in common. */
const WORD_SHARE = [0.3, 0.25, 0.2];
const WORD_SHARE_CJK = 0.2;
/** The coverage from which a claim may be a copy. Below 1, as a figure may be read differently in context. */
const MOSTLY_COPIED = 0.8;
/** The coverage below which a passage is about something else. */
const RELATED_COVERAGE = 0.25;

/** Finds the passage of a source that supports a claim best, and whether anything speaks against it. */
export function findSupport(claim: Sentence, source: SourceText): SupportResult {
  let best: Judged | undefined;
  for (const each of passagesFor(claim, source)) {
    const judged = judge(claim, each, source);
    if (!best || judged.score > best.score) best = judged;
  }
  if (!best) return NOTHING;
  const { passage, anchors } = best;
  const isCopied = passage.coverage >= MOSTLY_COPIED && isCopyOf(claim, passage);
  const isDoubted = !isCopied && (best.lacks || contradicts(claim, passage) || confuses(claim, passage, source));
  if (isDoubted && passage.coverage < RELATED_COVERAGE && anchors === 0) return NOTHING;
  const support = isDoubted ? 'partial' : 'quoted';
  return { support, passage: { start: passage.start, end: passage.end }, isCopied };
}

/** What a shared name adds to the score of a passage. */
const NAME_WEIGHT = 1.5;

interface Judged {
  passage: Passage;
  /** Whether it lacks figures, dates or names of the claim, or too many of its words. */
  lacks: boolean;
  /** How many figures, dates and names claim and passage have in common. */
  anchors: number;
  score: number;
}

function judge(claim: Sentence, passage: Passage, source: SourceText): Judged {
  const { sentences, coverage, figures, dates } = passage;
  const names = missingNames(claim, { window: sentences, main: mainOf(claim, sentences), source });
  const anchors = passage.matched + names.found;
  const lacksWords = coverage < minCoverage(claim, anchors);
  // A count of things that the passage names, where it counts nothing otherwise.
  const isCounted = (figure: Figure) => isCount(figure) && !sentences.some((each) => each.figures.some(isCount));
  const lacksFigures = claim.figures.some((figure, at) => !figures[at] && !isCounted(figure));
  const lacks = lacksFigures || dates.includes(false) || names.missing || lacksWords;
  return { passage, lacks, anchors, score: scoreOf(passage) + names.found * NAME_WEIGHT };
}

/** The more figures, dates and names are shared, the fewer words have to be: the rest may be paraphrased. */
function minCoverage(claim: Sentence, anchors: number): number {
  if (CJK.test(claim.text)) return WORD_SHARE_CJK;
  return WORD_SHARE[Math.min(anchors, WORD_SHARE.length - 1)] ?? 0;
}

/** Whether clauses of a passage say the contrary of what the claim says, or less. */
function contradicts(claim: Sentence, { sentences }: Passage): boolean {
  const pairs = clausePairs(claim, sentences);
  const isOtherwise = pairs.some(
    ({ own, theirs }) => isOpposed(own, theirs) || isRuledOut(own, theirs) || isOnlyPlanned(claim, own, theirs),
  );
  if (isOtherwise || shareOfWords(claim, sentences) < MIN_COMMON_WORDS) return isOtherwise;
  const matches = [...new Set(pairs.map(({ theirs }) => theirs.sentence))];
  return isDenied(claim, matches) || affirmsDenied(claim, matches);
}

/** The share of common words from which negations are compared: a paraphrase may negate in words that are not listed. */
const MIN_COMMON_WORDS = 0.65;

function shareOfWords(claim: Sentence, sentences: readonly Sentence[]): number {
  if (claim.words.length === 0) return 1;
  const words = sentences.flatMap((sentence) => sentence.words);
  return claim.words.filter((word) => isOneOf(word, words)).length / claim.words.length;
}

/** Whether a passage has the parts of a claim, but says them of something else. */
function confuses(claim: Sentence, passage: Passage, source: SourceText): boolean {
  const { sentences } = passage;
  const main = mainOf(claim, sentences);
  return (
    isFalsified(claim, main) ||
    isFromBeside(claim, main, sentences) ||
    misquotes(claim, main, source) ||
    isMisnamed(claim, sentences, source) ||
    isGeneralized(claim, sentences) ||
    isSwapped(claim, sentences) ||
    isOfAnotherCell(claim, passage, source) ||
    isSaidByAnother(claim, passage, source) ||
    isCausedByAnother(claim, passage, source)
  );
}

/**
 * How well the words that the model quoted support a claim. The model is trusted to recognise a paraphrase or a computed
 * figure, but not to contradict a figure, or a sentence that the claim copies with a few words replaced.
 */
export function supportOfQuote(claim: Sentence, words: string, source: SourceText): SupportResult['support'] {
  const quote = SourceText.open({ title: source.title, text: words });
  if (quote.sentences === 0) return 'quoted';
  const quoted = passageOf(claim, quote, { first: 0, last: quote.sentences - 1 });
  const passages = shownPassages(claim, source).map(({ first, last }) => passageOf(claim, source, { first, last }));
  const isFound = (kind: 'figures' | 'dates', at: number) => [quoted, ...passages].some((passage) => passage[kind][at]);
  const sentences = [...quoted.sentences, ...passages.flatMap((passage) => passage.sentences)];
  const figures = sentences.flatMap((sentence) => sentence.figures);
  const dates = sentences.flatMap((sentence) => sentence.dates);
  const years = dates.flatMap(({ year }) => year ?? []);
  const hasRival = ({ unit }: Figure) =>
    quoted.sentences.some((each) => each.figures.some((other) => other.unit?.dimension === unit?.dimension));
  // `Three days later` and `last year` are dates that only a reader can tell.
  const isRelative = RELATIVE.isIn(foldText(words));
  const lacks =
    claim.figures.some(
      (figure, at) => !isFound('figures', at) && hasRival(figure) && !mayBeComputed(figure, figures, years),
    ) || claim.dates.some((_, at) => !isFound('dates', at) && dates.length > 0 && !isRelative);
  const isFalse =
    isFalsified(claim, mainOf(claim, quoted.sentences)) ||
    clausePairs(claim, quoted.sentences).some(({ own, theirs }) => isRuledOut(own, theirs));
  return lacks || isFalse ? 'partial' : 'quoted';
}
