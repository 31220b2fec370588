/**
 * Joins the continuation of a cut answer to what was delivered before, so that the reader sees one text without a
 * repeat: a model asked to go on often repeats its last words, or starts the whole text again, perhaps in other words.
 */
export class Continuation {
  readonly #before: string;
  #held = '';
  /** How far the held text is the same as what was delivered. */
  #common = 0;
  #decided: boolean;

  /** @param before what the reader has already; with '' everything passes through. */
  constructor(before: string) {
    this.#before = before;
    this.#decided = before === '';
  }

  /** Whether nothing is held back any more. */
  get isDecided(): boolean {
    return this.#decided;
  }

  /** The part of `delta` that is new, held back until it can be told. */
  push(delta: string): string {
    if (this.#decided) return delta;
    this.#held += delta;
    while (this.#common < this.#before.length && this.#held[this.#common] === this.#before[this.#common])
      this.#common++;
    return this.#held.length < this.#needed() ? '' : this.#decide();
  }

  /** What is still held back when the continuation ends. */
  end(): string {
    return this.#decided ? '' : this.#decide();
  }

  /** How much has to be held to tell what the continuation is. */
  #needed(): number {
    const before = this.#before.length;
    const common = this.#common;
    if (before < MIN_OVERLAP && (common === before || common < this.#held.length)) return 0;
    if (common === before && common >= MIN_OVERLAP) return before;
    if (common >= REWRITTEN) return before + SEAM;
    return common === this.#held.length && common >= MIN_OVERLAP ? before : WINDOW;
  }

  #decide(): string {
    this.#decided = true;
    const { length } = this.#before;
    const common = this.#common;
    // Too little for a repeat by chance to matter: the model began again.
    if (length < MIN_OVERLAP) return common === length ? this.#held.slice(length) : this.#held;
    if (common >= Math.min(length, this.#held.length) && common >= MIN_OVERLAP) return this.#held.slice(length);
    if (common >= REWRITTEN) return this.#held.slice(seam(this.#before, this.#held));
    return this.#held.slice(overlap(this.#before, this.#held));
  }
}

/** Characters of a continuation that are looked at for repeated words. */
const WINDOW = 160;
/** A shorter repeat may be chance. */
const MIN_OVERLAP = 12;
/** A continuation that begins like the answer for so long is the answer again, also where its words change later. */
const REWRITTEN = 60;
/** Where the words changed: how far around the old end the new text is joined. */
const SEAM = 200;
/** The words at the old end that are looked for there. */
const LAST_WORDS = 16;

/** Where a text that was written again in other words goes on behind `before`: behind its last words, or as far in. */
function seam(before: string, after: string): number {
  const words = before.slice(-LAST_WORDS);
  const from = Math.max(0, before.length - SEAM);
  const at = words.length < LAST_WORDS ? -1 : after.indexOf(words, from);
  return at === -1 ? before.length : at + words.length;
}

/** How many characters at the start of `after` repeat the end of `before`. */
function overlap(before: string, after: string): number {
  for (let length = Math.min(before.length, after.length, WINDOW); length >= MIN_OVERLAP; length--) {
    if (before.endsWith(after.slice(0, length))) return length;
  }
  return 0;
}
