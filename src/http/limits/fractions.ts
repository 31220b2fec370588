import { boundedCache } from '../../base/bounded-cache.ts';

/** A floating-point sum may fall short of a whole number by this much. */
const ROUNDING = 1e-6;
/** Beyond this the least recently used budget is forgotten, which loses less than one point. */
const MAX_BUDGETS = 20_000;

/** Carries fractions of a point over: a thousand calls that cost a tenth of a point each count as a hundred points. */
export class Fractions {
  readonly #remainders = boundedCache<number>(MAX_BUDGETS);

  /** Adds `exact` points to a budget, and takes out the whole ones, which are to be counted now. */
  takeWhole(budget: string, exact: number): number {
    const sum = exact + (this.#remainders.get(budget) ?? 0);
    const whole = Math.max(0, Math.floor(sum + ROUNDING));
    this.#remainders.set(budget, Math.max(0, sum - whole));
    return whole;
  }
}
