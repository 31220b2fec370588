/** Characters at the end of a text that are looked at. */
const WINDOW = 2400;
/** How often a passage has to stand there in a row. */
const TIMES = 6;
/** Shorter repeats are rows of dashes, tables and the like. */
const MIN_LENGTH = 600;
/** How much new text comes between two looks, in UTF-16 code units. */
const STEP = 300;
/** A passage of fewer different characters may be the rows of a table or lines of code. */
const PLAIN_PASSAGE = 12;
/** Then it has to go on for this many looks: six thousand characters of the same are no table. */
const PLAIN_LOOKS = 20;

/** Notices a text that repeats one passage for ever, as models sometimes do for a million tokens. */
export class RepetitionWatch {
  #tail = '';
  /** What came since the last look. It is joined to the tail for a look only: joining copies all of it. */
  #unseen = '';
  #looks = 0;

  /** True once the text so far ends in endless repetition. */
  push(delta: string): boolean {
    let rest = delta;
    while (rest !== '') {
      const piece = rest.slice(0, STEP - this.#unseen.length);
      rest = rest.slice(piece.length);
      this.#unseen += piece;
      if (this.#unseen.length >= STEP && this.#look()) return true;
    }
    return false;
  }

  #look(): boolean {
    this.#tail = (this.#tail + this.#unseen).slice(-WINDOW);
    this.#unseen = '';
    const passage = repeatedPassage(this.#tail);
    if (passage === undefined) {
      this.#looks = 0;
      return false;
    }
    this.#looks++;
    return passage.size >= PLAIN_PASSAGE || this.#looks >= PLAIN_LOOKS;
  }
}

/** The end of a text that is looked for earlier in it: cheap, and most texts end there. */
const PROBE = 16;
/** The longest passage that can stand `TIMES` times in the window. */
const LONGEST = WINDOW / TIMES;

/** The different characters of the passage that stands `TIMES` times in a row at the end of `text`, or undefined. */
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
