import type { TurnUsage } from './turn.ts';

/**
 * What was used, as providers counted, else estimated: the one account that limits, usage and metrics read. Tokens are
 * whole numbers; cached ones are among the input, reasoning among the output.
 */
export interface Used {
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** In `server.currency`, on routes with a price. */
  cost: number;
}

export function nothingUsed(): Used {
  return { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, cost: 0 };
}

/** What limits of tokens count. */
export function tokensOf({ inputTokens, outputTokens }: Used): number {
  return inputTokens + outputTokens;
}

export function usedOf({ inputTokens, cachedTokens, outputTokens, reasoningTokens, cost = 0 }: TurnUsage): Used {
  return { inputTokens, cachedTokens, outputTokens, reasoningTokens, cost };
}
