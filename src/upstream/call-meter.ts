import { addUsage } from './decoding/usage.ts';
import { priced } from './price.ts';
import { noUsage, type RoutePrice, type TurnUsage } from './turn.ts';

/** So many characters of text for a token: no tokeniser packs more, whatever a provider reports. */
const LEAST_REPORTED = 1 / 10;

/**
 * What one call to a provider used. The rule for every road (docs/operating.md, "What is counted"): what the provider
 * reported; else an estimate of the prompt, once it was sent, and of what was delivered. A call that was answered with an
 * error status used nothing.
 */
export class CallMeter {
  readonly #price: RoutePrice | undefined;
  readonly #prompt: () => number;
  #promptTokens: number | undefined;
  #isSent = false;
  #isError = false;
  /** Tokens that were delivered so far, estimated, in fractions. */
  #delivered = 0;
  #reported: TurnUsage | undefined;
  #isWhole = false;

  /** `prompt`: the estimated tokens of the request; asked only where nobody reports them. */
  constructor({ price }: { price?: RoutePrice | undefined }, prompt: () => number) {
    this.#price = price;
    this.#prompt = prompt;
  }

  /** The request is on its way. */
  sent(): void {
    this.#isSent = true;
  }

  errorStatus(): void {
    this.#isError = true;
  }

  /** So many tokens more were delivered, estimated. */
  delivered(weight: number): void {
    this.#delivered += weight;
  }

  /** The answer came to its end: what was delivered is this, whatever was told before. */
  deliveredInAll(weight: number): void {
    this.#delivered = weight;
  }

  /** What the provider reported. `whole`: with the whole answer, so that it is no figure on the way. */
  reported(usage: TurnUsage, { whole }: { whole: boolean }): void {
    this.#reported = usage;
    this.#isWhole = whole;
  }

  /** What the call has used so far, at the price of its route. */
  get usage(): TurnUsage {
    const reported = this.#reported;
    if (!reported && (!this.#isSent || this.#isError)) return noUsage();
    const output = Math.ceil(this.#delivered);
    const outputTokens = reported ? this.#believed(reported.outputTokens, output) : output;
    // No request is empty: a provider that counts nothing has not counted.
    const inputTokens = reported?.inputTokens || this.#estimatedPrompt();
    const isEstimated = !reported || outputTokens !== reported.outputTokens || inputTokens !== reported.inputTokens;
    const usage = { ...(reported ?? noUsage()), inputTokens, outputTokens };
    return priced({ ...usage, estimated: usage.estimated || isEstimated }, this.#price);
  }

  #believed(reported: number, delivered: number): number {
    const isBelieved = this.#isWhole ? isCredible(reported, delivered) : reported >= delivered;
    return isBelieved ? reported : delivered;
  }

  #estimatedPrompt(): number {
    this.#promptTokens ??= this.#prompt();
    return this.#promptTokens;
  }
}

/** Whether so many tokens can have been reported of an answer that is estimated to have `delivered`. */
export function isCredible(reported: number, delivered: number): boolean {
  return reported >= delivered * LEAST_REPORTED;
}

/** What several calls used together. */
export function usageOf(meters: Iterable<CallMeter>): TurnUsage {
  let sum = noUsage();
  for (const { usage } of meters) sum = addUsage(sum, usage);
  return sum;
}
