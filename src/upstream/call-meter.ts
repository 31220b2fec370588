import { addUsage } from './decoding/usage.ts';
import { priced } from './price.ts';
import { noUsage, type RoutePrice, type TurnUsage } from './turn.ts';

/** How many times larger a count may be than the estimate of the same text, or smaller: no tokeniser differs more. */
const MAX_RATIO = 10;
/** How much hidden reasoning one answer may have, in tokens: twice the longest outputs of models. */
const MAX_HIDDEN = 256 * 1024;
/** How much input beyond the request a provider may add, in tokens: earlier turns, files, pages that it found. */
const MAX_INPUT = 10_000_000;

/** The size of a call's request. Estimating reads all of it, so it is done only where a provider's count is missing. */
export interface MeteredRequest {
  /** An estimate of the prompt's tokens. */
  prompt(): number;
  /** How many answers were requested; absent: one. */
  answers?(): number;
}

/**
 * The usage of one call to a provider (docs/operating.md, "What is counted"): as the provider reported it; else an estimate
 * of the prompt, once it was sent, and of what was delivered. A call that was answered with an error status used nothing.
 */
export class CallMeter {
  readonly #price: RoutePrice | undefined;
  readonly #request: MeteredRequest;
  #promptTokens: number | undefined;
  #isSent = false;
  #isError = false;
  /** An estimate of the tokens delivered so far, in fractions. */
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

  answeredWithError(): void {
    this.#isError = true;
  }

  /** Adds to the estimate of the delivered tokens. */
  addDelivered(weight: number): void {
    this.#delivered += weight;
  }

  /** Replaces the estimate of the delivered tokens by one for the whole answer so far. */
  setDelivered(weight: number): void {
    this.#delivered = weight;
  }

  /** Raises the estimate of the delivered tokens to `weight`, if it is lower. */
  raiseDelivered(weight: number): void {
    this.#delivered = Math.max(this.#delivered, weight);
  }

  /** An upper bound of the tokens written unseen: counted until the provider reports usage with the whole answer. */
  setUnseen(tokens: number): void {
    this.#unseen = tokens;
  }

  /** What the provider reported. `whole`: with the whole answer, so that the figures are final. */
  reported(usage: TurnUsage, { whole }: { whole: boolean }): void {
    this.#reported = usage;
    this.#isWhole = whole;
  }

  /** What the call has used so far, at the price of its route. */
  get usage(): TurnUsage {
    const reported = this.#reported;
    if (!reported && (!this.#isSent || this.#isError)) return noUsage();
    const output = Math.ceil(Math.max(this.#delivered, this.#isWhole ? 0 : this.#unseen));
    const outputTokens = reported ? this.#credibleOutput(reported.outputTokens, output) : output;
    const inputTokens =
      reported && this.#isPossibleInput(reported.inputTokens) ? reported.inputTokens : this.#estimatedPrompt();
    const isEstimated = !reported || outputTokens !== reported.outputTokens || inputTokens !== reported.inputTokens;
    const base = reported ?? noUsage();
    // A part never exceeds its whole.
    const usage = {
      ...base,
      inputTokens,
      outputTokens,
      cachedTokens: Math.min(base.cachedTokens, inputTokens),
      reasoningTokens: Math.min(base.reasoningTokens, outputTokens),
      estimated: base.estimated || isEstimated,
    };
    return priced(usage, this.#price);
  }

  #credibleOutput(reported: number, delivered: number): number {
    const isEnough = this.#isWhole ? isCredible(reported, delivered) : reported >= delivered;
    return isEnough && this.#isPossibleOutput(reported, delivered) ? reported : delivered;
  }

  #isPossibleOutput(reported: number, delivered: number): boolean {
    const seen = MAX_RATIO * delivered;
    return reported <= seen + MAX_HIDDEN || reported <= seen + MAX_HIDDEN * (this.#request.answers?.() ?? 1);
  }

  /** No request is empty: a provider that counts nothing has not counted. */
  #isPossibleInput(reported: number): boolean {
    return reported > 0 && (reported <= MAX_INPUT || reported <= MAX_INPUT + MAX_RATIO * this.#estimatedPrompt());
  }

  #estimatedPrompt(): number {
    this.#promptTokens ??= this.#request.prompt();
    return this.#promptTokens;
  }
}

/** Whether a reported count is not too low for an answer that is estimated at `delivered` tokens. */
export function isCredible(reported: number, delivered: number): boolean {
  return reported >= delivered / MAX_RATIO;
}

/** Whether one answer may have this many tokens even if none of them was seen. */
export function isPlausible(reported: number): boolean {
  return reported <= MAX_HIDDEN;
}

/** What several calls used together. */
export function usageOf(meters: readonly CallMeter[]): TurnUsage {
  const usages = meters.map(({ usage }) => usage);
  return usages.length > 0 ? usages.reduce(addUsage) : noUsage();
}
