import { counted } from '../../base/text.ts';
import type { BudgetConfig, Effort, ResearchModelConfig } from '../../config/schema.ts';

export interface Budget {
  /** Research turns, not counting the answer turn. */
  turns: number;
  toolCalls: number;
  /** Input and output tokens of all turns. */
  tokens: number;
  minutes: number;
  parallelToolCalls: number;
  /** In `server.currency`; absent: no limit. */
  cost?: number | undefined;
}

const DEFAULTS: Readonly<Record<Effort, Budget>> = {
  low: { turns: 6, toolCalls: 16, tokens: 300_000, minutes: 5, parallelToolCalls: 4 },
  medium: { turns: 24, toolCalls: 80, tokens: 2_000_000, minutes: 20, parallelToolCalls: 6 },
  high: { turns: 80, toolCalls: 300, tokens: 10_000_000, minutes: 50, parallelToolCalls: 8 },
};

/** The budget of an effort: the model's configuration over the defaults, within the gateway's own time limit. */
export function budgetOf(model: ResearchModelConfig, effort: Effort, options: { maxMinutes: number }): Budget {
  const own: BudgetConfig = model.research.budgets[effort] ?? {};
  const base = DEFAULTS[effort];
  return {
    turns: own.turns ?? base.turns,
    toolCalls: own.tool_calls ?? base.toolCalls,
    tokens: own.tokens ?? base.tokens,
    minutes: Math.min(own.minutes ?? base.minutes, options.maxMinutes),
    parallelToolCalls: own.parallel_tool_calls ?? base.parallelToolCalls,
    ...(own.cost === undefined ? {} : { cost: own.cost }),
  };
}

/**
 * Why no further research turn fits, or undefined. The answer turn always fits: some minutes and tokens are reserved
 * for it, so that what was found is not lost.
 */
export function exhaustedBudget(
  budget: Budget,
  spent: { turns: number; tokens: number; elapsedMs: number },
): string | undefined {
  if (spent.turns >= budget.turns) return `the budget of ${counted(budget.turns, 'research turn')} is used`;
  if (spent.tokens >= researchTokens(budget)) return 'the token budget is used';
  if (spent.elapsedMs >= budget.minutes * 60_000 * RESEARCH_SHARE)
    return `the time budget of ${counted(budget.minutes, 'minute')} is used`;
  return undefined;
}

/** The tokens that research may use; the rest is the answer's. */
export function researchTokens(budget: Budget): number {
  return budget.tokens * RESEARCH_SHARE;
}

/** The share of tokens and minutes that research may use; the rest is the answer's. */
const RESEARCH_SHARE = 0.9;
