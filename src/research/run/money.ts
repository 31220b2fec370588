import { costOf, MILLION } from '../../upstream/price.ts';
import type { RoutePrice } from '../../upstream/turn.ts';
import type { ResearchState } from './state.ts';

/** What a run may cost, and what its next step costs at most (docs/research.md, "Money", `max_cost`). */
export interface Money {
  /** The most that the run may cost, in `server.currency`; Infinity where nothing bounds it. */
  readonly most: number;
  /** The highest price of the routes that a turn may take; undefined where one of them has none. */
  readonly price: RoutePrice | undefined;
}

/** Tokens of an answer that is worth its name, kept for it from the first turn on. */
const LEAST_ANSWER = 700;
/** Tokens that a further turn has to be able to write. */
export const LEAST_TURN = 400;
/** What a provider counts may be this much more than what is estimated. */
const MISCOUNT = 1.15;
/** The part of what is left that reading long pages may take. */
const READING_SHARE = 0.4;

/** The least that a run costs whose opening has so many tokens: its answer alone. */
export function leastCost(price: RoutePrice, openingTokens: number): number {
  return costOf(price, { input: openingTokens * MISCOUNT, output: LEAST_OUTPUT });
}
const LEAST_OUTPUT = 64;

const FREE: RoutePrice = { input: 0, output: 0 };

/** What a run may still spend. Every figure is Infinity where nothing bounds it. */
export class Purse {
  readonly #most: number;
  readonly #price: RoutePrice;
  readonly #state: Pick<ResearchState, 'costInAll'>;
  readonly #keepsAnswer: boolean;

  /** `keepsAnswer`: research turns leave enough for the answer; absent: they do. */
  constructor({ most, price }: Money, state: Pick<ResearchState, 'costInAll'>, { keepsAnswer = true } = {}) {
    this.#keepsAnswer = keepsAnswer;
    this.#most = price ? most : Number.POSITIVE_INFINITY;
    this.#price = price ?? FREE;
    this.#state = state;
  }

  /** A purse of which `left` says what is left, with the same price. The answer is paid from elsewhere. */
  part(left: () => number): Purse {
    if (!this.bounded) return this;
    const most = this.#most;
    const spent = {
      get costInAll() {
        return most - left();
      },
    };
    return new Purse({ most, price: this.#price }, spent, { keepsAnswer: false });
  }

  /** What a turn costs at most whose request has so many tokens, and that may write so many. */
  costOf({ input, output }: { input: number; output: number }): number {
    return costOf(this.#price, { input: input * MISCOUNT, output });
  }

  /** Whether the run's cost has a bound. */
  get bounded(): boolean {
    return this.#most !== Number.POSITIVE_INFINITY;
  }

  get left(): number {
    return Math.max(0, this.#most - this.#state.costInAll);
  }

  /** What the shortest answer worth writing costs, with a request of so many tokens. */
  #leastAnswer(input: number): number {
    return costOf(this.#price, { input: input * MISCOUNT + LEAST_TURN, output: LEAST_ANSWER });
  }

  /** Tokens that a research turn may write whose request has so many; undefined where it would cost too much. */
  turnTokens(input: number): number | undefined {
    const kept = this.#keepsAnswer ? this.#leastAnswer(input) : 0;
    const output = this.#outputFor(this.left - kept, input);
    return output >= LEAST_TURN ? output : undefined;
  }

  /** Tokens that the answer may have whose request has so many; `pending`: what was spent and is not counted yet. */
  answerTokens(input: number, { pending = 0 }: { pending?: number } = {}): number {
    return this.#outputFor(this.left - pending, input);
  }

  /** Tokens that the request for the answer may have, so that there is something left to write it. */
  get answerInput(): number {
    if (this.#price.input === 0) return Number.POSITIVE_INFINITY;
    const left = this.left - costOf(this.#price, { input: 0, output: LEAST_ANSWER });
    return Math.max(0, (left * MILLION) / (this.#price.input * MISCOUNT));
  }

  /** What reading long pages may cost now. */
  get forReading(): number {
    return this.left * READING_SHARE;
  }

  #outputFor(left: number, input: number): number {
    const rest = left - costOf(this.#price, { input: input * MISCOUNT, output: 0 });
    if (rest <= 0) return 0;
    return this.#price.output === 0 ? Number.POSITIVE_INFINITY : Math.floor((rest * MILLION) / this.#price.output);
  }
}
