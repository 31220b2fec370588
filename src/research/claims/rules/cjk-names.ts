import { CJK } from '../text/fold.ts';
import type { Sentence } from '../text/parse-sentence.ts';

/** Finds replaced names in scripts without spaces, where no capital tells a name. */

/** The share of a claim's character pairs that a passage must have for the rest to be a replacement. */
const MIN_COMMON_PAIRS = 0.65;

function shareOfPairsIn(folded: string, passage: string): number {
  let found = 0;
  for (let i = 0; i + 1 < folded.length; i++) if (passage.includes(folded.slice(i, i + 2))) found++;
  return found / Math.max(1, folded.length - 1);
}

/** How many characters on each side of a replacement have to be the same. */
const CONTEXT = 2;
const LONGEST_NAME = 8;

/** Whether a claim has characters that its passage lacks, between characters that it has, in place of others. */
export function isReplacedCjk(claim: Sentence, sentences: readonly Sentence[]): boolean {
  if (!CJK.test(claim.text)) return false;
  const passage = sentences.map((sentence) => `\n${sentence.folded.trim()}`).join('');
  const { folded } = claim;
  if (shareOfPairsIn(folded, passage) < MIN_COMMON_PAIRS) return false;
  for (const { start, end } of unknownRuns(claim, passage)) {
    if (claim.figures.some((figure) => start < figure.end && end > figure.start)) continue;
    const left = start === 0 ? '\n' : folded.slice(Math.max(0, start - CONTEXT), start);
    const rights = [0, 1, 2, 3].map((skip) => folded.slice(end + skip, end + skip + CONTEXT));
    if (left.length < CONTEXT && start > 0) continue;
    for (let at = passage.indexOf(left); left !== '' && at !== -1; at = passage.indexOf(left, at + 1)) {
      const from = at + left.length;
      const stop = firstAfter(passage, from, rights);
      const between = Number.isFinite(stop) ? passage.slice(from, stop) : '';
      if (isOther(folded.slice(start, end), between) && !/[。，、！？\d\s]/.test(between)) return true;
    }
  }
  return false;
}

/** Whether one run of characters is a different name than the other, rather than a paraphrase. */
function isOther(run: string, between: string): boolean {
  if (between.length < 2 || between.length > LONGEST_NAME) return false;
  const head = run.slice(0, -1);
  return run.length === between.length || ![...head].some((sign) => between.slice(0, -1).includes(sign));
}

/** The first place after `from` at which one of the contexts starts, or Infinity. */
function firstAfter(text: string, from: number, contexts: readonly string[]): number {
  const places = contexts.filter((each) => each.length === CONTEXT).map((each) => text.indexOf(each, from + 1));
  return Math.min(...places.filter((place) => place !== -1), Number.POSITIVE_INFINITY);
}

/** Runs of Han characters or Katakana in a claim that share no pair of characters with the passage. */
function unknownRuns({ folded }: Sentence, text: string): { start: number; end: number }[] {
  const runs: { start: number; end: number }[] = [];
  for (const { 0: run, index } of folded.matchAll(/[\u3400-\u9fff\u30a0-\u30ffー々]{2,}/g)) {
    let from: number | undefined;
    for (let i = 0; i <= run.length; i++) {
      const covered =
        i === run.length || text.includes(run.slice(i, i + 2)) || (i > 0 && text.includes(run.slice(i - 1, i + 1)));
      if (!covered) from ??= i;
      else if (from !== undefined) {
        if (i - from >= 2) runs.push({ start: index + from, end: index + i });
        from = undefined;
      }
    }
  }
  return runs;
}
