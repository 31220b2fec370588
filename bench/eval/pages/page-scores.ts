import type { Truth } from './page-sets.ts';

/** How well one text matches what is known of its page. */
export interface PageScore {
  /** Right, too much, missing: shares of one page for whole texts, counts for pieces. */
  right: number;
  extra: number;
  missing: number;
}

export interface SetScore {
  precision: number;
  recall: number;
  f1: number;
}

const SHINGLE = 4;

/**
 * Scores a text as the sets themselves do: four-word shingles, each page counting alike (article-extraction-benchmark),
 * or pieces that are there or are not (trafilatura).
 */
export function scorePage(truth: Truth, text: string): PageScore {
  if (truth.kind === 'pieces') {
    const given = squeeze(text);
    const right = truth.wanted.filter((piece) => given.includes(squeeze(piece))).length;
    const extra = truth.unwanted.filter((piece) => given.includes(squeeze(piece))).length;
    return { right, extra, missing: truth.wanted.length - right };
  }
  const expected = shingles(truth.text);
  const given = shingles(text);
  let right = 0;
  let extra = 0;
  let missing = 0;
  for (const key of new Set([...expected.keys(), ...given.keys()])) {
    const wanted = expected.get(key) ?? 0;
    const found = given.get(key) ?? 0;
    right += Math.min(wanted, found);
    extra += Math.max(0, found - wanted);
    missing += Math.max(0, wanted - found);
  }
  const sum = right + extra + missing || 1;
  return { right: right / sum, extra: extra / sum, missing: missing / sum };
}

/** Whole texts: the mean of the pages' precisions and recalls. Pieces: all counts together. */
export function scoreSet(truths: readonly Truth[], scores: readonly PageScore[]): SetScore {
  const isText = truths[0]?.kind === 'text';
  if (isText) {
    const precision = mean(
      scores.filter(({ right, extra }) => right + extra > 0).map((s) => s.right / (s.right + s.extra)),
    );
    const recall = mean(
      scores.filter(({ right, missing }) => right + missing > 0).map((s) => s.right / (s.right + s.missing)),
    );
    return { precision, recall, f1: harmonic(precision, recall) };
  }
  const sum = (part: keyof PageScore) => scores.reduce((total, score) => total + score[part], 0);
  const precision = sum('right') / (sum('right') + sum('extra') || 1);
  const recall = sum('right') / (sum('right') + sum('missing') || 1);
  return { precision, recall, f1: harmonic(precision, recall) };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / (values.length || 1);
}

function harmonic(a: number, b: number): number {
  return a + b === 0 ? 0 : (2 * a * b) / (a + b);
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function shingles(text: string): Map<string, number> {
  const words = text.match(/[\p{L}\p{N}\p{M}_]+/gu) ?? [];
  const counts = new Map<string, number>();
  for (let at = 0; at < Math.max(1, words.length - SHINGLE + 1); at++) {
    const shingle = words.slice(at, at + SHINGLE).join(' ');
    if (shingle !== '') counts.set(shingle, (counts.get(shingle) ?? 0) + 1);
  }
  return counts;
}
