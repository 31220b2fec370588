import { addUsage } from './decoding/usage.ts';
import { priced } from './price.ts';
import { noUsage, type RoutePrice, type TurnUsage } from './turn.ts';

/** How far a count and an estimate of the same text may lie apart: no tokeniser packs more, whatever a provider reports. */
const FACTOR = 10;
/** What one answer may have been thought with that nobody sees, in tokens: the longest outputs of models are half of it. */
const MOST_THOUGHT = 256 * 1024;
/** What a model may have read that is not in its request, in tokens: earlier turns, files, pages that its provider found. */
const MOST_READ = 10_000_000;

/** What a call sends. It costs a look at all of it, so it is asked only where a provider's count does not do. */
export interface MeteredRequest {
  /** The estimate of its tokens. */
  prompt(): number;
  /** How many answers were asked for; absent: one. */
  answers?(): number;
}

/**
 * What one call to a provider used. The rule for every road (docs/operating.md, "What is counted"): what the provider
 * reported; else an estimate of the prompt, once it was sent, and of what was delivered. A call that was answered with an
 * error status used nothing.
 */
export class CallMeter {
  readonly #price: RoutePrice | undefined;
  readonly #request: MeteredRequest;
  #promptTokens: number | undefined;
  #isSent = false;
  #isError = false;
  /** Tokens that were delivered so far, estimated, in fractions. */
  #delivered = 0;
  #reported: TurnUsage | undefined;
  #isWhole = false;
  #unseen = 0;

  constructor({ price }: { price?: RoutePrice | undefined }, request: MeteredRequest) {
    this.#price = price;
    this.#request = request;
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

  /** No fewer than so many tokens were delivered, estimated. */
  deliveredAtLeast(weight: number): void {
    this.#delivered = Math.max(this.#delivered, weight);
  }

  /** Tokens at most that are written though nobody is shown them: they count until the provider reports or the answer is over. */
  unseen(tokens: number): void {
    this.#unseen = tokens;
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
    const output = Math.ceil(Math.max(this.#delivered, this.#isWhole ? 0 : this.#unseen));
    const outputTokens = reported ? this.#believed(reported.outputTokens, output) : output;
    const inputTokens =
      reported && this.#canBeRead(reported.inputTokens) ? reported.inputTokens : this.#estimatedPrompt();
    const isEstimated = !reported || outputTokens !== reported.outputTokens || inputTokens !== reported.inputTokens;
    const told = reported ?? noUsage();
    // Parts are no more than the whole that they are of.
    const usage = {
      ...told,
      inputTokens,
      outputTokens,
      cachedTokens: Math.min(told.cachedTokens, inputTokens),
      reasoningTokens: Math.min(told.reasoningTokens, outputTokens),
      estimated: told.estimated || isEstimated,
    };
    return priced(usage, this.#price);
  }

  #believed(reported: number, delivered: number): number {
    const isEnough = this.#isWhole ? isCredible(reported, delivered) : reported >= delivered;
    return isEnough && this.#canBeWritten(reported, delivered) ? reported : delivered;
  }

  #canBeWritten(reported: number, delivered: number): boolean {
    const seen = FACTOR * delivered;
    return reported <= seen + MOST_THOUGHT || reported <= seen + MOST_THOUGHT * (this.#request.answers?.() ?? 1);
  }

  /** No request is empty: a provider that counts nothing has not counted. */
  #canBeRead(reported: number): boolean {
    return reported > 0 && (reported <= MOST_READ || reported <= MOST_READ + FACTOR * this.#estimatedPrompt());
  }

  #estimatedPrompt(): number {
    this.#promptTokens ??= this.#request.prompt();
    return this.#promptTokens;
  }
}

/** Whether no fewer tokens than these can have been reported of an answer that is estimated to have `delivered`. */
export function isCredible(reported: number, delivered: number): boolean {
  return reported >= delivered / FACTOR;
}

/** Whether so many tokens are no more than one answer may have, though nothing of it were seen. */
export function isCommon(reported: number): boolean {
  return reported <= MOST_THOUGHT;
}

/** What several calls used together. */
export function usageOf(meters: Iterable<CallMeter>): TurnUsage {
  return Iterator.from(meters).reduce((sum, { usage }) => addUsage(sum, usage), noUsage());
}
