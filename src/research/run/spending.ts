import { type Usage, zeroUsage } from '../../protocol/response.ts';
import { addUsage } from '../../upstream/decoding/usage.ts';
import { priced } from '../../upstream/price.ts';
import { noUsage, type RoutePrice, type TurnUsage } from '../../upstream/turn.ts';
import type { SpentEntry } from './transcript.ts';

/** Decimals of a cost: sums of floating-point numbers end in noise. */
const DECIMALS = 10;

/** The currency, and the price of turns whose route is not known. */
export interface Pricing {
  currency: string;
  price: RoutePrice | undefined;
}

/** What a research run used, in tokens and money. */
export class Spending {
  usage: Usage = zeroUsage();
  /** What the run cost, on routes that have prices. */
  cost = 0;
  #currency: string | undefined;
  #price: RoutePrice | undefined;
  readonly #routePrice: () => RoutePrice | undefined;
  /** Estimated usage that came before the prices: it is charged once `setPricing` tells them. */
  readonly #awaitingPrice: TurnUsage[] = [];
  /** Tokens were spent on a route without a price, so no total is reported. */
  #hasUnpriced = false;
  /** What turns used since this process claimed the run, and the totals at that time. */
  #observed = noUsage();
  #observedQueries = 0;
  #baseline: { usage: Usage; cost: number } | undefined;

  /** `routePrice`: the price of the route that gave the last turn. */
  constructor(routePrice: () => RoutePrice | undefined) {
    this.#routePrice = routePrice;
  }

  /** Starts to count for another response. */
  reset(): void {
    this.usage = zeroUsage();
    this.cost = 0;
    this.#awaitingPrice.length = 0;
    this.#hasUnpriced = false;
  }

  /** Notes what a turn used, whether an entry will report it or not. */
  observe(usage: TurnUsage): void {
    this.#observeFrom();
    this.#observed = addUsage(this.#observed, usage);
  }

  /** Notes search queries that are about to be sent, likewise. */
  observeQueries(queries: number): void {
    this.#observeFrom();
    this.#observedQueries += queries;
  }

  #observeFrom(): void {
    this.#baseline ??= { usage: structuredClone(this.usage), cost: this.cost };
  }

  /**
   * An entry for usage that no other entry reports: that of turns and calls which a cancel or the end of the run cut off.
   * Undefined if there is none.
   */
  unreported(): SpentEntry | undefined {
    if (!this.#baseline) return undefined;
    const { usage, cost } = this.#baseline;
    const observed = this.#observed;
    const rest = (total: number, now: number, before: number) => Math.max(0, total - (now - before));
    const inputTokens = rest(observed.inputTokens, this.usage.input_tokens, usage.input_tokens);
    const outputTokens = rest(observed.outputTokens, this.usage.output_tokens, usage.output_tokens);
    const queries = rest(this.#observedQueries, this.usage.num_search_queries, usage.num_search_queries);
    if (inputTokens + outputTokens + queries === 0) return undefined;
    return {
      t: 'spent',
      usage: {
        inputTokens,
        cachedTokens: 0,
        outputTokens,
        reasoningTokens: 0,
        estimated: inputTokens + outputTokens > 0,
        ...(observed.cost !== undefined && { cost: rest(observed.cost, this.cost, cost) }),
        ...(observed.unpriced && { unpriced: true }),
      },
      ...(queries > 0 && { queries }),
    };
  }

  /** Sets the currency, and the price of turns whose route is not known. */
  setPricing({ currency, price }: Pricing): void {
    this.#currency = currency;
    this.#price = price;
    for (const usage of this.#awaitingPrice.splice(0)) this.#charge(usage);
    this.#updateCost();
  }

  #charge(spent: TurnUsage): void {
    const tokens = spent.inputTokens + spent.outputTokens;
    if (spent.cost !== undefined || spent.unpriced) {
      this.cost += spent.cost ?? 0;
      this.#hasUnpriced ||= spent.unpriced === true;
    } else if (!spent.estimated) this.#hasUnpriced ||= tokens > 0;
    else if (this.#currency === undefined) this.#awaitingPrice.push(spent);
    else {
      const cost = priced(spent, this.#routePrice() ?? this.#price).cost;
      this.#hasUnpriced ||= cost === undefined && tokens > 0;
      this.cost += cost ?? 0;
    }
  }

  #updateCost(): void {
    const { usage } = this;
    delete usage.cost;
    if (this.#hasUnpriced || this.#currency === undefined || usage.total_tokens === 0) return;
    usage.cost = { total: Number(this.cost.toFixed(DECIMALS)), currency: this.#currency };
  }

  /** Counts what a turn used. */
  spend(spent: TurnUsage): void {
    const { usage } = this;
    usage.input_tokens += spent.inputTokens;
    usage.input_tokens_details.cached_tokens += spent.cachedTokens;
    usage.input_tokens_details.cache_write_tokens += spent.cacheWriteTokens ?? 0;
    usage.output_tokens += spent.outputTokens;
    usage.output_tokens_details.reasoning_tokens += spent.reasoningTokens;
    usage.total_tokens = usage.input_tokens + usage.output_tokens;
    if (spent.estimated) usage.estimated = true;
    this.#charge(spent);
    this.#updateCost();
  }
}
