import { counted } from '../../base/text.ts';
import { type Budget, exhaustedBudget, researchTokens } from './budget.ts';
import type { ResearchRequest } from './request.ts';
import type { ResearchState } from './state.ts';
import type { ForcedEnd } from './transcript.ts';

/** What a research phase may still use of its run's budget. Lanes share one budget through it. */
export interface Allowance {
  /** Why no further research turn fits, or undefined. `elapsedMs`: working time of the run. */
  exhausted(elapsedMs: number): string | undefined;
  /**
   * The same check for a turn that starts now and counts until `release`. Waits while others that share the budget may
   * still leave some of it. @throws the signal's reason
   */
  acquireTurn(elapsedMs: () => number, signal: AbortSignal): Promise<string | undefined>;
  /** How many tokens a turn may write when its request has `input` tokens. */
  outputFor(input: number): number;
  /** Reserves the most that this turn may use, by estimate, so that others cannot use it. */
  reserve(max: { tokens: number; cost: number }): void;
  /** To be called once the turn is counted or given up. */
  release(): void;
  /** The limit that `more` further tool calls would reach, if any. */
  callLimit(more: number): ForcedEnd | undefined;
  readonly tokensLeft: number;
}

export interface BudgetedRun {
  budget: Budget;
  request: Pick<ResearchRequest, 'maxToolCalls'>;
  state: ResearchState;
}

/** The allowance of a phase that shares its budget with nobody: all that is left of it. */
export function undividedAllowance({ budget, request, state }: BudgetedRun): Allowance {
  const spent = (elapsedMs: number) => exhaustedBudget(budget, { turns: state.turns, tokens: state.tokens, elapsedMs });
  return {
    exhausted: spent,
    acquireTurn: async (elapsedMs) => spent(elapsedMs()),
    // Nobody else uses the budget: a turn may exceed what is left of its tokens.
    outputFor: () => Number.POSITIVE_INFINITY,
    reserve() {},
    release() {},
    callLimit(more) {
      const { maxToolCalls } = request;
      if (maxToolCalls !== null && state.ownToolCalls + more >= maxToolCalls) return requestCallLimit(maxToolCalls);
      if (state.toolCalls + more >= budget.toolCalls) return budgetCallLimit(budget.toolCalls);
      return undefined;
    },
    get tokensLeft() {
      return researchTokens(budget) - state.tokens;
    },
  };
}

export function requestCallLimit(max: number): ForcedEnd {
  return { reason: 'max_tool_calls', why: `the limit of ${counted(max, 'tool call')} is reached` };
}

export function budgetCallLimit(max: number): ForcedEnd {
  return { reason: 'budget', why: `the budget of ${counted(max, 'tool call')} is used` };
}
