import { type Budget, researchTokens, spentBudget } from './budget.ts';
import type { ResearchRequest } from './request.ts';
import type { ResearchState } from './state.ts';
import type { Forced } from './transcript.ts';

/** What a research phase may still use of its run's budget. */
export interface Allowance {
  /** Why no further research turn fits, or undefined. `elapsedMs`: working time of the run. */
  spent(elapsedMs: number): string | undefined;
  /**
   * The same for a turn that is about to be asked for: it counts from now until `release`. Waits for others that share the
   * budget if they may leave something. @throws the signal's reason
   */
  turn(elapsedMs: () => number, signal: AbortSignal): Promise<string | undefined>;
  /** Tokens that this turn may write whose request has so many. */
  outputFor(input: number): number;
  /** Sets aside what this turn may use at most, by estimate: others cannot use it. */
  hold(most: { tokens: number; cost: number }): void;
  /** To be called once the turn is counted or given up. */
  release(): void;
  /** The limit that is reached with `more` further tool calls, if any. */
  callLimit(more: number): Forced | undefined;
  /** Tokens that are left for research. */
  readonly tokens: number;
}

/** The bounds of a run and what it used. */
export interface BudgetedRun {
  budget: Budget;
  request: Pick<ResearchRequest, 'maxToolCalls'>;
  state: ResearchState;
}

/** All that is left of the budget: of a phase that has it alone. */
export function wholeBudget({ budget, request, state }: BudgetedRun): Allowance {
  const spent = (elapsedMs: number) => spentBudget(budget, { turns: state.turns, tokens: state.tokens, elapsedMs });
  return {
    spent,
    turn: async (elapsedMs) => spent(elapsedMs()),
    // Nobody else uses the budget: a turn may exceed what is left of its tokens.
    outputFor: () => Number.POSITIVE_INFINITY,
    hold() {},
    release() {},
    callLimit(more) {
      const { maxToolCalls } = request;
      if (maxToolCalls !== null && state.ownToolCalls + more >= maxToolCalls) return callsOfRequest(maxToolCalls);
      if (state.toolCalls + more >= budget.toolCalls) return callsOfBudget(budget.toolCalls);
      return undefined;
    },
    get tokens() {
      return researchTokens(budget) - state.tokens;
    },
  };
}

export function callsOfRequest(most: number): Forced {
  return { reason: 'max_tool_calls', why: `the limit of ${most} tool calls is reached` };
}

export function callsOfBudget(most: number): Forced {
  return { reason: 'budget', why: `the budget of ${most} tool calls is used` };
}
