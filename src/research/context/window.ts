/** How much of a model's context a request may fill. */
export interface ContextWindow {
  /** Tokens that a request may have, by the gateway's own estimate. */
  readonly room: number;
  /** Estimated tokens from which the context is compacted. Never above `room`. */
  readonly threshold: number;
  /** Tokens that are left for the model's output after a request of this estimated size. */
  roomToWrite(estimate: number): number;
  /**
   * Converts an estimate into the tokens that the provider may count. A low count of small requests says little about larger
   * ones: some providers count tools for nothing, and pages in full.
   */
  counted(estimate: number): number;
  /** The inverse of `counted`. */
  estimated(counted: number): number;
  /** Learns from what a provider counted for a request. */
  learn(estimate: number, counted: number): void;
  /**
   * A provider refused a request of this estimated size, with this output limit in tokens, as too long. Returns false if a
   * smaller request is not possible.
   */
  refused(estimate: number, outputLimit?: number): boolean;
}

/** The margin of requests, for errors of the estimate. */
const MARGIN = 0.06;
/** The margin of the output, which is larger until a provider has counted a request. */
const WRITING_MARGIN = 0.03;
const UNKNOWN_MARGIN = 0.3;
/** How slowly the worst ratio decays. */
const DECAY = 0.98;
/** The share of the context that is reserved for output: as much as the answer needs, within these limits. */
const MIN_TO_WRITE = 0.1;
const MAX_TO_WRITE = 0.3;
/** After a refusal, requests stay below this share of the refused size. */
const STEP = 0.65;
/** Smaller requests are not worth sending. */
const MIN_ROOM = 300;
/** If a refused request is hardly smaller than the one before, what cannot be left out fills the context. */
const HARDLY_SMALLER = 0.97;
/** Requests may grow to this many of the provider's tokens, whatever share of the context that is. */
const MIN_THRESHOLD = 24_000;

/**
 * The context window of a run. Room for the answer is reserved before every turn. The gateway's estimates are corrected by
 * what the provider counts, and requests get smaller after a provider refused one as too long, whatever length the
 * configuration promises. `compactAt`: the share of the context from which it is compacted.
 */
export function createContextWindow(options: {
  contextLength: number;
  answerTokens: number;
  compactAt: number;
}): ContextWindow {
  const { contextLength, compactAt } = options;
  const reserved = Math.min(Math.max(options.answerTokens, contextLength * MIN_TO_WRITE), contextLength * MAX_TO_WRITE);
  /** The provider's tokens per estimated token. */
  let factor = 1;
  let worst = 1;
  let learned = false;
  /** The output limit, once a provider refused a request with a higher one. */
  let maxOutput = Number.POSITIVE_INFINITY;
  /** The smallest estimated size that was refused. */
  let tooLarge = Number.POSITIVE_INFINITY;
  return {
    get room() {
      return Math.floor(Math.min(((contextLength - reserved) * (1 - MARGIN)) / factor, tooLarge * STEP));
    },
    get threshold() {
      return Math.min(this.room, Math.floor(Math.max(MIN_THRESHOLD, contextLength * compactAt) / factor));
    },
    roomToWrite(estimate) {
      const counted = estimate * worst * (learned ? 1 : 1 + UNKNOWN_MARGIN);
      return Math.max(0, Math.floor(Math.min(maxOutput, contextLength * (1 - WRITING_MARGIN) - counted)));
    },
    counted: (estimate) => Math.ceil(estimate * worst),
    estimated: (counted) => Math.floor(counted / worst),
    learn(estimate, counted) {
      if (estimate < 500 || counted <= 0) return;
      learned = true;
      factor = Math.min(3, Math.max(0.6, counted / estimate));
      worst = Math.max(factor, worst * DECAY);
    },
    refused(estimate, outputLimit = 0) {
      if (outputLimit > reserved && maxOutput > reserved) {
        maxOutput = reserved;
        return true;
      }
      if (estimate > tooLarge * HARDLY_SMALLER || estimate * STEP < MIN_ROOM) return false;
      tooLarge = estimate;
      return true;
    },
  };
}
