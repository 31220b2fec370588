import { type Doubt, doubtsOfClause, likeness } from './clause-checks.ts';
import { isDenied } from './denials.ts';
import { ALL, NEGATIONS, UNIVERSAL } from './lexicon.ts';
import { isAmong, marksOf, sameMark } from './marks.ts';
import { missingNames } from './names.ts';
import { contextOf, type Passage, passagesFor, scoreOf } from './passages.ts';
import { isSwapped } from './swaps.ts';
import { CJK } from './text/fold.ts';
import { isFunctionWord } from './text/language.ts';
import type { Clause, Parsed } from './text/parsed.ts';
import { SourceText } from './text/source-text.ts';
import { isOneOf } from './text/words.ts';

/** Whether a source carries a claim, found by its words, figures, dates and names alone. */

export interface Carried {
  support: 'quoted' | 'partial' | 'none';
  /** The range of the passage in the text of the source; undefined where nothing there speaks of it. */
  passage: { start: number; end: number } | undefined;
  doubts: readonly Doubt[];
  /** The part of what the claim says that one sentence says in the same order, from 0 to 1; few ask for it. */
  copied: () => number;
}

const NOTHING: Carried = { support: 'none', passage: undefined, doubts: ['words'], copied: () => 0 };

/** The part of a claim's words that a passage has to say, by the figures, dates and names that stand in both. */
const MOSTLY = [0.3, 0.25, 0.2];
const MOSTLY_CJK = 0.2;
/** The part below which it speaks of something else. */
const ABOUT = 0.25;

/** Holds a claim against one source. */
export function carries(claim: Parsed, source: SourceText): Carried {
  let best: Judged | undefined;
  const most = claim.words.filter(({ isName }) => isName).length * NAME_WORTH;
  for (const passage of passagesFor(claim, source)) {
    // The best come first: none of the others can be better.
    if (best && scoreOf(passage) + most <= best.score) break;
    const judged = judge(claim, passage, source);
    if (!best || judged.score > best.score) best = judged;
  }
  if (!best) return NOTHING;
  const { coverage, anchors } = best;
  const passage = { start: best.passage.start, end: best.passage.end };
  const doubts = [...new Set([...best.doubts, ...clauseDoubts(claim, best.passage)])];
  // What costs most is looked at last, and only where nothing else is doubted.
  if (doubts.length === 0) {
    const context = contextOf(best.passage, source);
    if (saysOfAll(claim, [source.parsedTitle, ...context])) doubts.push('extent');
    else if (isSwapped(claim, context)) doubts.push('swap');
  }
  const { sentences } = best.passage;
  const copied = () => Math.max(...sentences.map((sentence) => partCopied(claim, sentence, source)));
  if (doubts.length === 0) return { support: 'quoted', passage, doubts, copied };
  if (coverage < ABOUT && anchors === 0) return NOTHING;
  return { support: 'partial', passage, doubts, copied };
}

/** Whether a passage says what a claim says in the same words; of pairs of signs, that overlap, most. */
export function isPlain({ text }: Parsed, { copied }: Carried): boolean {
  return copied() >= (CJK.test(text) ? MOST_PAIRS : 1);
}
const MOST_PAIRS = 0.8;

/** Doubts that no other words explain: a figure or date that a passage does not have. */
const OF_FIGURES: ReadonlySet<Doubt> = new Set(['figure', 'date']);
/** Doubts that other words explain, `ruled out` for `did not plan`, but not where the words are the same. */
const OF_SENSE: ReadonlySet<Doubt> = new Set(['negation', 'direction']);

/** A claim against the words that the model named for it: it may know that other words say the same, no more. */
export function supportOfNamed(claim: Parsed, passage: string): Carried['support'] {
  const carried = carries(claim, SourceText.open({ title: '', text: passage }));
  const isOpen = (doubt: Doubt) => OF_FIGURES.has(doubt) || (OF_SENSE.has(doubt) && isPlain(claim, carried));
  return carried.doubts.some(isOpen) ? 'partial' : 'quoted';
}

/** Whether a claim says of all what no sentence of its passage says so. */
function saysOfAll({ spoken }: Parsed, context: readonly Parsed[]): boolean {
  if (!UNIVERSAL.isIn(spoken) || NEGATIONS.isIn(spoken)) return false;
  return !context.some((sentence) => ALL.isIn(sentence.spoken));
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
  const { sentences, coverage, lacksFigure, lacksDate } = passage;
  const names = missingNames(claim, { window: sentences, main: mainOf(claim, sentences), source });
  const anchors = passage.told + names.found;
  const doubts: Doubt[] = [];
  if (lacksFigure) doubts.push('figure');
  if (lacksDate) doubts.push('date');
  if (names.missing) doubts.push('name');
  if (coverage < leastOf(claim, anchors)) doubts.push('words');
  const more = doubts.filter((doubt) => doubt === 'name' || doubt === 'words').length;
  return { doubts, coverage, anchors, score: scoreOf(passage) + names.found * NAME_WORTH - more * 0.2, passage };
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
  const all = sentences.flatMap((sentence) => sentence.clauses.map((clause) => ({ clause, sentence })));
  const meant = new Set<Parsed>();
  for (const clause of claim.clauses) {
    const own = mostLike({ clause, sentence: claim }, all);
    if (!own) continue;
    meant.add(own.sentence);
    doubts.push(...doubtsOfClause({ clause, sentence: claim }, own));
  }
  if (partSaid(claim, sentences) >= REPEATED && isDenied(claim, [...meant])) doubts.push('negation');
  return doubts;
}

/** The clause of a passage that is most like one of a claim; of two, the one whose sentence is more like the claim's. */
function mostLike(
  claim: { clause: Clause; sentence: Parsed },
  all: readonly { clause: Clause; sentence: Parsed }[],
): { clause: Clause; sentence: Parsed } | undefined {
  let best: { of: { clause: Clause; sentence: Parsed }; score: number } | undefined;
  for (const of of all) {
    const near = likeness(claim.clause, of.clause);
    const score = near + likeness(claim.sentence, of.sentence) * AROUND_WORTH;
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

/** The part of what a claim says that a sentence says in the same order; what stands in the title is said, too. */
function partCopied(claim: Parsed, sentence: Parsed, source: SourceText): number {
  const own = marksOf([claim]);
  const theirs = marksOf([sentence]);
  const title = marksOf([source.parsedTitle]);
  let at = 0;
  let copied = 0;
  for (const mark of own) {
    const found = theirs.findIndex((other, index) => index >= at && sameMark(mark, other));
    if (found !== -1) at = found + 1;
    if (found !== -1 || isAmong(mark, title)) copied++;
  }
  // Small words say much: `always`, `only`, `must`.
  const words = [...sentence.spoken.words, ...source.parsedTitle.spoken.words];
  const small = CJK.test(claim.text) ? [] : claim.spoken.words.filter(isFunctionWord);
  const parts = own.length + small.length;
  return parts === 0 ? 1 : (copied + small.filter((word) => words.includes(word)).length) / parts;
}
