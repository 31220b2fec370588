import type { IncompleteReason } from '../../protocol/response.ts';
import { minTokens } from '../../upstream/decoding/estimate.ts';
import { RepetitionWatch } from '../guards/repetition.ts';
import { pieceEnd } from '../run/live-steps.ts';

/** Text is checked in pieces of this length, in UTF-16 code units, however large the deltas are. */
const PIECE = 120;

/**
 * Ends an answer that its provider does not end: one that exceeds its limit, by the gateway's own count of tokens, or
 * that repeats itself without end.
 */
export class AnswerBound {
  readonly #limit: number;
  readonly #repetition = new RepetitionWatch();
  #tokens: number;
  /** The tail of the text that is not counted yet. */
  #uncounted = '';
  /** Why the answer ends here; null while it goes on. */
  cut: IncompleteReason | null = null;

  /** @param before what is written already. @param limit tokens of the whole answer. */
  constructor(before: string, limit: number) {
    this.#limit = limit;
    this.#tokens = minTokens(before);
  }

  /** The part of `delta` that still belongs to the answer. */
  take(delta: string): string {
    let end = 0;
    while (end < delta.length && !this.cut) {
      const piece = delta.slice(end, pieceEnd(delta, end + PIECE));
      end += piece.length;
      if (this.#repetition.push(piece)) this.cut = 'stuck';
      else if (this.#isTooLong(piece)) this.cut = 'max_output_tokens';
    }
    return delta.slice(0, end);
  }

  #isTooLong(piece: string): boolean {
    this.#uncounted += piece;
    if (this.#uncounted.length < PIECE) return false;
    this.#tokens += minTokens(this.#uncounted);
    this.#uncounted = '';
    return this.#tokens > this.#limit;
  }
}
