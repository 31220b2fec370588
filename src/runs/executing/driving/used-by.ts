import type { ResearchState } from '../../../research/run/state.ts';
import type { Used } from '../../../upstream/used.ts';

/** What a run has used so far, also where a part of it has no price. */
export function usedBy({ usage, cost }: Pick<ResearchState, 'usage' | 'cost'>): Used {
  return {
    inputTokens: usage.input_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
    outputTokens: usage.output_tokens,
    reasoningTokens: usage.output_tokens_details.reasoning_tokens,
    cost: cost > 0 ? cost : (usage.cost?.total ?? 0),
  };
}
