/** How much of a model's context a request may fill. */
export interface ContextWindow {
  /** Tokens that the messages of a request may hold, by the gateway's own estimate. */
  readonly room: number;
  /** Learns from what a provider counted for a request that was estimated. */
  learn(estimated: number, counted: number): void;
  /** A provider said that a request did not fit. False where it cannot get any smaller. */
  shrink(): boolean;
}

/** Kept free for what the estimate misses. */
const MARGIN = 0.06;
/** The answer may take this part of the context at most, whatever the model could write. */
const MOST_FOR_ANSWER = 0.3;
const SHRINK = 0.7;
const MIN_SCALE = 0.15;

/**
 * The window of a run: room for the answer is reserved before every turn. The gateway's estimates are corrected by
 * what the provider counts, and the room shrinks where a provider refuses a request for its length.
 */
export function createContextWindow(options: { contextLength: number; answerTokens: number }): ContextWindow {
  const { contextLength } = options;
  const reserved = Math.min(options.answerTokens, contextLength * MOST_FOR_ANSWER);
  let scale = 1;
  /** Tokens of the provider per estimated token. */
  let factor = 1;
  return {
    get room() {
      return Math.floor((((contextLength - reserved) * (1 - MARGIN)) / factor) * scale);
    },
    learn(estimated, counted) {
      if (estimated < 500 || counted <= 0) return;
      factor = Math.min(3, Math.max(0.6, counted / estimated));
    },
    shrink() {
      if (scale * SHRINK < MIN_SCALE) return false;
      scale *= SHRINK;
      return true;
    },
  };
}
