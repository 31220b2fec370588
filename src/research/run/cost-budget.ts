import { costOf, MILLION } from '../../upstream/price.ts';
import type { RoutePrice } from '../../upstream/turn.ts';
import type { ResearchState } from './state.ts';

/** The cost limit of a run, and the price that its steps are charged at (docs/research.md, "Money", `max_cost`). */
export interface CostLimit {
  /** In `server.currency`; Infinity if the cost has no limit. */
  readonly max: number;
  /** The highest price of the routes that a turn may take; undefined if one of them has none. */
  readonly price: RoutePrice | undefined;
}

/** Tokens of the shortest answer worth writing, reserved for it from the first turn on. */
const MIN_ANSWER_OUTPUT = 700;
/** Tokens that another research turn must be able to write. */
export const MIN_TURN_OUTPUT = 400;
/** A provider may count this many times as many tokens as the gateway estimates. */
const MISCOUNT = 1.15;
/** The share of the remaining budget that reading long pages may take. */
const READING_SHARE = 0.4;

/** The lowest cost of a run whose opening has `openingTokens` tokens: that of its answer alone. */
export function minCost(price: RoutePrice, openingTokens: number): number {
  return costOf(price, { input: openingTokens * MISCOUNT, output: MIN_OUTPUT });
}
const MIN_OUTPUT = 64;

const FREE: RoutePrice = { input: 0, output: 0 };

/** What a run may still spend. Every figure is Infinity if the cost has no limit. */
export class CostBudget {
  readonly #max: number;
  readonly #price: RoutePrice;
  readonly #state: Pick<ResearchState, 'totalCost'>;
  readonly #keepsAnswer: boolean;

  /** `keepsAnswer`: whether research turns have to leave enough for the answer. */
  constructor({ max, price }: CostLimit, state: Pick<ResearchState, 'totalCost'>, { keepsAnswer = true } = {}) {
    this.#keepsAnswer = keepsAnswer;
    this.#max = price ? max : Number.POSITIVE_INFINITY;
    this.#price = price ?? FREE;
    this.#state = state;
  }

  /** A part of this budget, of which `remaining` says what remains. It does not pay for the answer. */
  share(remaining: () => number): CostBudget {
    if (!this.isLimited) return this;
    const max = this.#max;
    const spent = {
      get totalCost() {
        return max - remaining();
      },
    };
    return new CostBudget({ max, price: this.#price }, spent, { keepsAnswer: false });
  }

  /** The highest cost of a turn with `input` tokens that may write `output` tokens. */
  costOf({ input, output }: { input: number; output: number }): number {
    return costOf(this.#price, { input: input * MISCOUNT, output });
  }

  get isLimited(): boolean {
    return this.#max !== Number.POSITIVE_INFINITY;
  }

  get remaining(): number {
    return Math.max(0, this.#max - this.#state.totalCost);
  }

  /** The cost of the shortest answer worth writing, when its request has `input` tokens. */
  #minAnswerCost(input: number): number {
    return costOf(this.#price, { input: input * MISCOUNT + MIN_TURN_OUTPUT, output: MIN_ANSWER_OUTPUT });
  }

  /** How many tokens a research turn with `input` tokens may write; undefined if it would cost too much. */
  maxTurnOutput(input: number): number | undefined {
    const reserved = this.#keepsAnswer ? this.#minAnswerCost(input) : 0;
    const output = this.#outputFor(this.remaining - reserved, input);
    return output >= MIN_TURN_OUTPUT ? output : undefined;
  }

  /** How many tokens an answer turn with `input` tokens may write; `pending`: cost that is not in the state yet, or not to be spent. */
  maxAnswerOutput(input: number, { pending = 0 }: { pending?: number } = {}): number {
    return this.#outputFor(this.remaining - pending, input);
  }

  /** How many tokens the request for the answer may have, so that enough is left to write it. */
  get maxAnswerInput(): number {
    if (this.#price.input === 0) return Number.POSITIVE_INFINITY;
    const left = this.remaining - costOf(this.#price, { input: 0, output: MIN_ANSWER_OUTPUT });
    return Math.max(0, (left * MILLION) / (this.#price.input * MISCOUNT));
  }

  /** What reading long pages may cost from here on. */
  get readingBudget(): number {
    return this.remaining * READING_SHARE;
  }

  #outputFor(left: number, input: number): number {
    const rest = left - costOf(this.#price, { input: input * MISCOUNT, output: 0 });
    if (rest <= 0) return 0;
    return this.#price.output === 0 ? Number.POSITIVE_INFINITY : Math.floor((rest * MILLION) / this.#price.output);
  }
}
