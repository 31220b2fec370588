import { pieceEnd } from '../run/live-steps.ts';

/**
 * Joins the continuation of a cut answer to what was delivered before, so that the reader sees one text without
 * repeats: a model that is told to go on often repeats its last words, or starts over, perhaps in other words.
 */
export class Continuation {
  /** What the reader has, or its end that the continuation repeats. */
  #before: string;
  #repeatsEnd = false;
  /** White space and dots before the held text; a repeat takes them along. */
  #lead = '';
  #held = '';
  /** How many leading characters the held text shares with what was delivered. */
  #common = 0;
  #decided: boolean;

  /** @param before what the reader has already; if it is '', everything passes through. */
  constructor(before: string) {
    this.#before = before;
    this.#decided = before === '';
  }

  /** Whether nothing is held back any more. */
  get isDecided(): boolean {
    return this.#decided;
  }

  /** New text, held back until repeats can be recognised. */
  push(delta: string): string {
    if (this.#decided) return delta;
    this.#held += delta;
    if (this.#held.length === delta.length) {
      const text = delta.replace(/^[\s.…]+/, '');
      this.#lead += delta.slice(0, delta.length - text.length);
      this.#held = text;
    }
    while (this.#common < this.#before.length && this.#held[this.#common] === this.#before[this.#common])
      this.#common++;
    return this.#held.length < this.#needed() ? '' : this.#decide();
  }

  /** What is still held back when the continuation ends. */
  end(): string {
    return this.#decided ? '' : this.#decide();
  }

  /** How many characters have to be held before `#decide` can tell what kind of continuation it is. */
  #needed(): number {
    const before = this.#before.length;
    const common = this.#common;
    if (this.#repeatsEnd && common < Math.min(before, this.#held.length)) return 0;
    if (before < MIN_OVERLAP && (common === before || common < this.#held.length)) return 0;
    if (common === before && common >= MIN_OVERLAP) return before;
    if (common >= REWRITTEN) return before + SEAM;
    return common === this.#held.length && common >= MIN_OVERLAP ? before : WINDOW;
  }

  #decide(): string {
    this.#decided = true;
    const { length } = this.#before;
    const common = this.#common;
    const whole = this.#lead + this.#held;
    // So short a start is repeated only by a model that started over.
    if (length < MIN_OVERLAP) return common === length && this.#lead === '' ? this.#held.slice(length) : whole;
    if (common >= Math.min(length, this.#held.length) && common >= MIN_OVERLAP) return this.#held.slice(length);
    if (this.#repeatsEnd) return whole;
    if (common >= REWRITTEN) return this.#held.slice(seam(this.#before, this.#held));
    for (const text of [whole, this.#held]) {
      const repeated = overlap(this.#before, text);
      if (repeated > 0) return text.slice(repeated);
    }
    const from = this.#held.length < WINDOW ? -1 : this.#before.lastIndexOf(this.#held.slice(0, WINDOW));
    return from === -1 ? whole : this.#compareWith(this.#before.slice(from));
  }

  /** Compares the held text with the end of what was delivered, which it starts to repeat. */
  #compareWith(end: string): string {
    this.#before = end;
    this.#repeatsEnd = true;
    this.#common = 0;
    this.#decided = false;
    return this.push('');
  }
}

/** How many characters of a continuation are compared with the end of the text. */
const WINDOW = 160;
/** A shorter repeat may be chance. */
const MIN_OVERLAP = 12;
/** A continuation that shares so many leading characters with the answer is the answer again, even if it differs later. */
const REWRITTEN = 60;
/** How far around the old end a rewritten text may be joined. */
const SEAM = 200;
/** How many characters at the old end are searched for there. */
const LAST_WORDS = 16;

/** Where a rewritten text goes on after `before`: after its last words, or else at the same length. */
function seam(before: string, after: string): number {
  const words = before.slice(-LAST_WORDS);
  const from = Math.max(0, before.length - SEAM);
  const at = words.length < LAST_WORDS ? -1 : after.indexOf(words, from);
  return at === -1 ? pieceEnd(after, before.length) : at + words.length;
}

/** How many characters at the start of `after` repeat the end of `before`. */
function overlap(before: string, after: string): number {
  for (let length = Math.min(before.length, after.length, WINDOW); length >= MIN_OVERLAP; length--) {
    if (before.endsWith(after.slice(0, length))) return length;
  }
  return 0;
}
