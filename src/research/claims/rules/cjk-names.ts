import { CJK } from '../text/fold.ts';
import type { Sentence } from '../text/parse-sentence.ts';

/** The share of a claim's character pairs that a passage must have for the rest to be a replacement. */
const MIN_COMMON_PAIRS = 0.75;

/** Whether a claim in a script without spaces, where no capital tells a name, has a word that its passage lacks. */
export function isReplacedCjk({ text, folded, figures }: Sentence, sentences: readonly Sentence[]): boolean {
  if (!CJK.test(text)) return false;
  const passage = sentences.map((sentence) => `\n${sentence.folded.trim()}`).join('');
  const isFigure = (start: number, end: number) => figures.some((each) => start < each.end && end > each.start);
  return (
    shareOfPairsIn(folded, passage) >= MIN_COMMON_PAIRS &&
    unknownRuns(folded, passage).some(({ start, end }) => !isFigure(start, end))
  );
}

function shareOfPairsIn(folded: string, passage: string): number {
  let found = 0;
  for (let i = 0; i + 1 < folded.length; i++) if (passage.includes(folded.slice(i, i + 2))) found++;
  return found / Math.max(1, folded.length - 1);
}

/** Runs of Han characters or Katakana that share no pair of characters with a passage. */
function unknownRuns(folded: string, passage: string): { start: number; end: number }[] {
  const runs: { start: number; end: number }[] = [];
  for (const { 0: run, index } of folded.matchAll(/[\u3400-\u9fff\u30a0-\u30ffー々]{2,}/g)) {
    let from: number | undefined;
    for (let i = 0; i <= run.length; i++) {
      const isKnown =
        i === run.length ||
        passage.includes(run.slice(i, i + 2)) ||
        (i > 0 && passage.includes(run.slice(i - 1, i + 1)));
      if (!isKnown) from ??= i;
      else if (from !== undefined) {
        if (i - from >= 2) runs.push({ start: index + from, end: index + i });
        from = undefined;
      }
    }
  }
  return runs;
}
