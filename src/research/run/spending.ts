import { type Usage, zeroUsage } from '../../protocol/response.ts';
import { addUsage } from '../../upstream/decoding/usage.ts';
import { priced } from '../../upstream/price.ts';
import { noUsage, type RoutePrice, type TurnUsage } from '../../upstream/turn.ts';
import type { SpentEntry } from './transcript.ts';

/** Decimals of a cost: sums of binary fractions end in noise. */
const DECIMALS = 10;

/** What money is counted in, and the price of turns whose route is not known. */
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
  /** Estimated tokens of turns whose route is not known: they cost what the first route costs. */
  readonly #unpriced: TurnUsage[] = [];
  /** Something was spent on a route without a price: the sum is not told. */
  #priceless = false;
  /** What turns used since this process took the run up, and what was told before that. */
  #seen = noUsage();
  #before: { usage: Usage; cost: number } | undefined;

  /** `routePrice`: the price of the route that gave the last turn. */
  constructor(routePrice: () => RoutePrice | undefined) {
    this.#routePrice = routePrice;
  }

  /** From here on what is used is another response's. */
  startOver(): void {
    this.usage = zeroUsage();
    this.cost = 0;
    this.#unpriced.length = 0;
    this.#priceless = false;
  }

  /** A turn used this much, whether an entry will tell of it or not. */
  saw(usage: TurnUsage): void {
    this.#before ??= { usage: structuredClone(this.usage), cost: this.cost };
    this.#seen = addUsage(this.#seen, usage);
  }

  /**
   * The entry for what turns used and no other entry tells: of turns that were left, by a cancel or an end that came from
   * elsewhere. Undefined if nothing is left.
   */
  untold(): SpentEntry | undefined {
    if (!this.#before) return undefined;
    const { usage, cost } = this.#before;
    const seen = this.#seen;
    const rest = (seenTokens: number, now: number, before: number) => Math.max(0, seenTokens - (now - before));
    const inputTokens = rest(seen.inputTokens, this.usage.input_tokens, usage.input_tokens);
    const outputTokens = rest(seen.outputTokens, this.usage.output_tokens, usage.output_tokens);
    if (inputTokens + outputTokens === 0) return undefined;
    return {
      t: 'spent',
      usage: {
        inputTokens,
        cachedTokens: 0,
        outputTokens,
        reasoningTokens: 0,
        estimated: true,
        ...(seen.cost !== undefined && { cost: rest(seen.cost, this.cost, cost) }),
        ...(seen.unpriced && { unpriced: true }),
      },
    };
  }

  /** Tells what money is counted in, and what a turn costs whose route is not known. */
  useMoney({ currency, price }: Pricing): void {
    this.#currency = currency;
    this.#price = price;
    for (const usage of this.#unpriced.splice(0)) this.#pay(usage);
    this.#tellCost();
  }

  #pay(spent: TurnUsage): void {
    const tokens = spent.inputTokens + spent.outputTokens;
    if (spent.cost !== undefined || spent.unpriced) {
      this.cost += spent.cost ?? 0;
      this.#priceless ||= spent.unpriced === true;
    } else if (!spent.estimated) this.#priceless ||= tokens > 0;
    else if (this.#currency === undefined) this.#unpriced.push(spent);
    else {
      const cost = priced(spent, this.#routePrice() ?? this.#price).cost;
      this.#priceless ||= cost === undefined && tokens > 0;
      this.cost += cost ?? 0;
    }
  }

  #tellCost(): void {
    const { usage } = this;
    delete usage.cost;
    if (this.#priceless || this.#currency === undefined || usage.total_tokens === 0) return;
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
    this.#pay(spent);
    this.#tellCost();
  }
}
