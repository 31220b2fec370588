/**
 * Joins the continuation of a cut answer to what was delivered before, so that the reader sees one text without a
 * repeat: a model asked to go on often repeats its last words, or starts the whole text again.
 */
export class Continuation {
  readonly #before: string;
  #held = '';
  #decided: boolean;

  /** @param before what the reader has already; with '' everything passes through. */
  constructor(before: string) {
    this.#before = before;
    this.#decided = before === '';
  }

  /** The part of `delta` that is new, held back until it can be told. */
  push(delta: string): string {
    if (this.#decided) return delta;
    this.#held += delta;
    const restart = this.#restarts();
    if (restart === 'perhaps' || (!restart && this.#held.length < WINDOW)) return '';
    return this.#decide();
  }

  /** What is still held back when the continuation ends. */
  end(): string {
    return this.#decided ? '' : this.#decide();
  }

  #decide(): string {
    this.#decided = true;
    if (this.#restarts() === true) return this.#held.slice(this.#before.length);
    return this.#held.slice(overlap(this.#before, this.#held));
  }

  /** Whether the held text writes the whole answer again: true once it has got past its old end. */
  #restarts(): boolean | 'perhaps' {
    const common = Math.min(this.#held.length, this.#before.length);
    if (common < MIN_OVERLAP || !this.#before.startsWith(this.#held.slice(0, common))) return false;
    return this.#held.length >= this.#before.length ? true : 'perhaps';
  }
}

/** Characters of a continuation that are looked at for repeated words. */
const WINDOW = 160;
/** A shorter repeat may be chance. */
const MIN_OVERLAP = 12;

/** How many characters at the start of `after` repeat the end of `before`. */
function overlap(before: string, after: string): number {
  for (let length = Math.min(before.length, after.length, WINDOW); length >= MIN_OVERLAP; length--) {
    if (before.endsWith(after.slice(0, length))) return length;
  }
  return 0;
}
