import { estimateTokens } from '../../upstream/decoding/estimate.ts';

/** The first lines that fit into `tokens` together. */
export function firstThatFit(lines: Iterable<string>, tokens: number): string[] {
  const fitting: string[] = [];
  let left = tokens;
  for (const line of lines) {
    left -= estimateTokens(line) + 1;
    if (left < 0) break;
    fitting.push(line);
  }
  return fitting;
}

/** The last lines that fit into `tokens` together, in order. */
export function lastThatFit(lines: readonly string[], tokens: number): string[] {
  return firstThatFit(lines.toReversed(), tokens).reverse();
}
