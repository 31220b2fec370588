/** How much of the end of a text is checked, in UTF-16 code units. */
const WINDOW = 2400;
/** How many times in a row a passage has to be there. */
const TIMES = 6;
/** Shorter repeats are lines of dashes, tables and the like. */
const MIN_LENGTH = 600;
/** How much new text comes between two checks, in UTF-16 code units. */
const STEP = 300;
/** A passage of fewer distinct characters may be table rows or lines of code. */
const PLAIN_PASSAGE = 12;
/** Such a passage has to be found in this many checks in a row: six thousand equal characters are no table. */
const PLAIN_CHECKS = 20;

/** Detects a text that repeats one passage without end, as models sometimes do for a million tokens. */
export class RepetitionWatch {
  #tail = '';
  /** Text since the last check. It is joined to the tail for a check only, as joining copies all of it. */
  #unchecked = '';
  #positiveChecks = 0;

  /** True once the text so far ends in endless repetition. */
  push(delta: string): boolean {
    let rest = delta;
    while (rest !== '') {
      const piece = rest.slice(0, STEP - this.#unchecked.length);
      rest = rest.slice(piece.length);
      this.#unchecked += piece;
      if (this.#unchecked.length >= STEP && this.#check()) return true;
    }
    return false;
  }

  #check(): boolean {
    this.#tail = (this.#tail + this.#unchecked).slice(-WINDOW);
    this.#unchecked = '';
    const passage = repeatedPassage(this.#tail);
    if (passage === undefined) {
      this.#positiveChecks = 0;
      return false;
    }
    this.#positiveChecks++;
    return passage.size >= PLAIN_PASSAGE || this.#positiveChecks >= PLAIN_CHECKS;
  }
}

/** The length of the suffix that is searched for earlier in the text: a cheap test that most texts fail. */
const PROBE = 16;
/** The longest passage that fits `TIMES` times into the window. */
const LONGEST = WINDOW / TIMES;

/** The distinct characters of the passage that is repeated `TIMES` times at the end of `text`, or undefined. */
function repeatedPassage(text: string): Set<string> | undefined {
  const probe = text.slice(-PROBE);
  let at = text.lastIndexOf(probe, text.length - PROBE - 1);
  for (; at !== -1; at = at === 0 ? -1 : text.lastIndexOf(probe, at - 1)) {
    const period = text.length - PROBE - at;
    if (period > LONGEST) return undefined;
    const length = Math.max(MIN_LENGTH, period * TIMES);
    if (length > text.length) continue;
    const end = text.slice(-length);
    if (end.slice(period) === end.slice(0, -period)) return new Set(end.slice(-period));
  }
  return undefined;
}
