import { REDACTED } from '../../base/logger.ts';
import type { SecretMask } from '../../base/secrets/secret-mask.ts';
import { type Delta, isSameKind } from '../decoding/decoded-turn.ts';

/** Deltas of a turn without secrets: an end that may be the start of one is held until more is there. */
export class MaskedDeltas {
  readonly #mask: SecretMask;
  #held: Delta | undefined;

  constructor(mask: SecretMask) {
    this.#mask = mask;
  }

  /** What may be shown now. */
  push(deltas: readonly Delta[]): Delta[] {
    const shown: Delta[] = [];
    for (const { delta, logprobs: _, ...kind } of deltas) {
      if (this.#held && (this.#held.type !== kind.type || !isSameKind(this.#held, kind))) shown.push(...this.end());
      const text = this.#mask.text((this.#held?.delta ?? '') + delta, REDACTED);
      const safe = text.length - this.#mask.unfinishedText(text);
      this.#held = safe < text.length ? { ...kind, delta: text.slice(safe) } : undefined;
      if (safe > 0) shown.push({ ...kind, delta: text.slice(0, safe) });
    }
    return shown;
  }

  /** What is left at the end. */
  end(): Delta[] {
    const left = this.#held ? [this.#held] : [];
    this.#held = undefined;
    return left;
  }
}
