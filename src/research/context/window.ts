/** How much of a model's context a request may fill. */
export interface ContextWindow {
  /** Tokens that a request may hold, by the gateway's own estimate. */
  readonly room: number;
  /** Tokens up to which requests of a run only grow; beyond, room is made. Never above `room`. */
  readonly threshold: number;
  /** Tokens that are left for the model to write behind a request of this estimated size. */
  roomToWrite(estimate: number): number;
  /** Tokens of the provider that a request of this estimated size is likely to have. */
  counted(estimate: number): number;
  /** The estimated size of a request that has so many tokens of the provider. */
  estimated(counted: number): number;
  /** Learns from what a provider counted for a request that was estimated. */
  learn(estimate: number, counted: number): void;
  /**
   * A provider said that a request of this estimated size did not fit, which let the model write so many tokens. False
   * where a smaller one is not to be had.
   */
  refused(estimate: number, asked?: number): boolean;
}

/** Kept free for what the estimate misses. */
const MARGIN = 0.06;
/** Kept free of what a model may write, more as long as no provider has counted a request. */
const WRITING_MARGIN = 0.03;
const UNKNOWN_MARGIN = 0.3;
/** How slowly the worst of the ratios is forgotten. */
const FORGETS = 0.98;
/** What is kept free for writing: the answer's length, but this part of the context at least and at most. */
const MIN_TO_WRITE = 0.1;
const MAX_TO_WRITE = 0.3;
/** After a refusal requests stay below this part of what was refused. */
const STEP = 0.65;
/** Smaller requests hold nothing worth asking. */
const MIN_ROOM = 300;
/** A request that is hardly smaller than the one refused before: what cannot be left out fills the context. */
const HARDLY_SMALLER = 0.97;
/** Requests may grow to so many tokens of the provider, whatever share of the context that is. */
const MIN_THRESHOLD = 24_000;

/**
 * The window of a run: room for the answer is reserved before every turn. The gateway's estimates are corrected by
 * what the provider counts, and requests get smaller where a provider refuses one for its length, whatever length the
 * configuration promises. `compactAt`: the part of the context up to which requests only grow.
 */
export function createContextWindow(options: {
  contextLength: number;
  answerTokens: number;
  compactAt: number;
}): ContextWindow {
  const { contextLength, compactAt } = options;
  const reserved = Math.min(Math.max(options.answerTokens, contextLength * MIN_TO_WRITE), contextLength * MAX_TO_WRITE);
  /** Tokens of the provider per estimated token. */
  let factor = 1;
  let worst = 1;
  let learned = false;
  /** The most that a model may write, once a provider refused a request that asked for much. */
  let mostToWrite = Number.POSITIVE_INFINITY;
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
      return Math.max(0, Math.floor(Math.min(mostToWrite, contextLength * (1 - WRITING_MARGIN) - counted)));
    },
    counted: (estimate) => Math.ceil(estimate * factor),
    estimated: (counted) => Math.floor(counted / factor),
    learn(estimate, counted) {
      if (estimate < 500 || counted <= 0) return;
      learned = true;
      factor = Math.min(3, Math.max(0.6, counted / estimate));
      worst = Math.max(factor, worst * FORGETS);
    },
    refused(estimate, asked = 0) {
      if (asked > reserved && mostToWrite > reserved) {
        mostToWrite = reserved;
        return true;
      }
      if (estimate > tooLarge * HARDLY_SMALLER || estimate * STEP < MIN_ROOM) return false;
      tooLarge = estimate;
      return true;
    },
  };
}
