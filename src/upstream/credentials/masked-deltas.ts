import { REDACTED } from '../../base/logger.ts';
import { isTelling, type SecretMask } from '../../base/secrets/secret-mask.ts';
import { type Delta, isSameKind } from '../decoding/decoded-turn.ts';

/** Masks secrets in the deltas of a turn. An end that may be the start of a secret is buffered until more arrives. */
export class MaskedDeltas {
  readonly #mask: SecretMask;
  #buffered: Delta | undefined;

  constructor(mask: SecretMask) {
    this.#mask = mask;
  }

  /** The deltas that may be emitted now. */
  push(deltas: readonly Delta[]): Delta[] {
    const emitted: Delta[] = [];
    for (const { delta, logprobs: _, ...kind } of deltas) {
      if (this.#buffered && (this.#buffered.type !== kind.type || !isSameKind(this.#buffered, kind)))
        emitted.push(...this.end());
      const text = this.#mask.maskText((this.#buffered?.delta ?? '') + delta, REDACTED);
      const safe = text.length - this.#mask.unfinishedText(text);
      this.#buffered = safe < text.length ? { ...kind, delta: text.slice(safe) } : undefined;
      if (safe > 0) emitted.push({ ...kind, delta: text.slice(0, safe) });
    }
    return emitted;
  }

  /** What is still buffered at the end, without the start of a secret that was cut there. */
  end(): Delta[] {
    const rest = this.#buffered;
    this.#buffered = undefined;
    return rest ? [{ ...rest, delta: isTelling(rest.delta) ? REDACTED : rest.delta }] : [];
  }
}
