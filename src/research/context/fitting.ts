import { estimateTokens } from '../../upstream/decoding/estimate.ts';

/** The first lines that fit into `tokens` together. */
export function firstThatFit(lines: readonly string[], tokens: number): string[] {
  let left = tokens;
  const end = lines.findIndex((line) => {
    left -= estimateTokens(line) + 1;
    return left < 0;
  });
  return end === -1 ? [...lines] : lines.slice(0, end);
}

/** The last lines that fit into `tokens` together, in order. */
export function lastThatFit(lines: readonly string[], tokens: number): string[] {
  return firstThatFit(lines.toReversed(), tokens).reverse();
}
