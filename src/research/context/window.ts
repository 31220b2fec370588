/** How much of a model's context a request may fill. */
export interface ContextWindow {
  /** Tokens that a request may hold, by the gateway's own estimate. */
  readonly room: number;
  /** Tokens that are left for the model to write behind a request of this estimated size. */
  roomToWrite(estimate: number): number;
  /** Learns from what a provider counted for a request that was estimated. */
  learn(estimate: number, counted: number): void;
  /** A provider said that a request of this estimated size did not fit. False where a smaller one is not to be had. */
  refused(estimate: number): boolean;
}

/** Kept free for what the estimate misses. */
const MARGIN = 0.06;
/** What is kept free for writing: the answer's length, but this part of the context at least and at most. */
const LEAST_TO_WRITE = 0.1;
const MOST_TO_WRITE = 0.3;
/** After a refusal requests stay below this part of what was refused. */
const STEP = 0.65;
/** Smaller requests hold nothing worth asking. */
const MIN_ROOM = 300;
/** A request that is hardly smaller than the one refused before: what cannot be left out fills the context. */
const HARDLY_SMALLER = 0.97;

/**
 * The window of a run: room for the answer is reserved before every turn. The gateway's estimates are corrected by
 * what the provider counts, and requests get smaller where a provider refuses one for its length, whatever length the
 * configuration promises.
 */
export function createContextWindow(options: { contextLength: number; answerTokens: number }): ContextWindow {
  const { contextLength } = options;
  const reserved = Math.min(
    Math.max(options.answerTokens, contextLength * LEAST_TO_WRITE),
    contextLength * MOST_TO_WRITE,
  );
  /** Tokens of the provider per estimated token. */
  let factor = 1;
  /** The smallest estimated size that was refused. */
  let tooLarge = Number.POSITIVE_INFINITY;
  return {
    get room() {
      return Math.floor(Math.min(((contextLength - reserved) * (1 - MARGIN)) / factor, tooLarge * STEP));
    },
    roomToWrite(estimate) {
      return Math.max(0, Math.floor(contextLength * (1 - MARGIN / 2) - estimate * factor));
    },
    learn(estimate, counted) {
      if (estimate < 500 || counted <= 0) return;
      factor = Math.min(3, Math.max(0.6, counted / estimate));
    },
    refused(estimate) {
      if (estimate > tooLarge * HARDLY_SMALLER || estimate * STEP < MIN_ROOM) return false;
      tooLarge = estimate;
      return true;
    },
  };
}
