import type { IncompleteReason } from '../../protocol/response.ts';
import { leastTokens } from '../../upstream/decoding/estimate.ts';
import { RepetitionWatch } from '../guards/repetition.ts';
import { endOfPiece } from '../run/live-steps.ts';

/** Text is looked at in pieces of this length, however large the deltas are, in UTF-16 code units. */
const PIECE = 120;

/**
 * Ends an answer that its provider does not end: one that is longer than asked for, whatever counts its tokens, or that
 * repeats itself for ever.
 */
export class AnswerBound {
  readonly #limit: number;
  readonly #repetition = new RepetitionWatch();
  #tokens: number;
  /** The end of the text that is not counted yet. */
  #uncounted = '';
  /** Why the answer ends here. */
  cut: IncompleteReason | null = null;

  /** @param limit the most tokens of the whole answer. */
  constructor(before: string, limit: number) {
    this.#limit = limit;
    this.#tokens = leastTokens(before);
  }

  /** The part of `delta` that still belongs to the answer. */
  take(delta: string): string {
    let taken = 0;
    while (taken < delta.length && !this.cut) {
      const piece = delta.slice(taken, endOfPiece(delta, taken + PIECE));
      taken += piece.length;
      if (this.#repetition.push(piece)) this.cut = 'stuck';
      else if (this.#isTooLong(piece)) this.cut = 'max_output_tokens';
    }
    return delta.slice(0, taken);
  }

  #isTooLong(piece: string): boolean {
    this.#uncounted += piece;
    if (this.#uncounted.length < PIECE) return false;
    this.#tokens += leastTokens(this.#uncounted);
    this.#uncounted = '';
    return this.#tokens > this.#limit;
  }
}
