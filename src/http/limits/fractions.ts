import { LRUCache } from 'lru-cache';

/** A sum of floating-point numbers may miss a whole one by this much. */
const ROUNDING = 1e-6;
/** What is forgotten then is less than one point of whoever used the least of late. */
const MAX_BUDGETS = 20_000;

/**
 * Keeps what is less than a point until it is one: a thousand calls that cost a tenth of one each count as a hundred, not
 * as a thousand.
 */
export class Fractions {
  readonly #remainders = new LRUCache<string, number>({ max: MAX_BUDGETS });

  /** The whole points to count now, of `exact` further ones of a budget. */
  takeWhole(budget: string, exact: number): number {
    const all = exact + (this.#remainders.get(budget) ?? 0);
    const whole = Math.max(0, Math.floor(all + ROUNDING));
    this.#remainders.set(budget, Math.max(0, all - whole));
    return whole;
  }
}
