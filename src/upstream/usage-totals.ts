import type { TurnUsage } from './turn.ts';

/**
 * The totals that limits, usage and metrics read: as providers counted, else estimated. Tokens are whole numbers; input
 * includes cached tokens, output includes reasoning. `cost`: in `server.currency`, on routes with a price.
 */
export type UsageTotals = Pick<TurnUsage, 'inputTokens' | 'cachedTokens' | 'outputTokens' | 'reasoningTokens'> & {
  cost: number;
};

export function emptyTotals(): UsageTotals {
  return { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, cost: 0 };
}

/** The tokens that count against a token limit. */
export function totalTokens({ inputTokens, outputTokens }: UsageTotals): number {
  return inputTokens + outputTokens;
}

export function totalsOf({
  inputTokens,
  cachedTokens,
  outputTokens,
  reasoningTokens,
  cost = 0,
}: TurnUsage): UsageTotals {
  return { inputTokens, cachedTokens, outputTokens, reasoningTokens, cost };
}
