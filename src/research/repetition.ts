/** Characters at the end of a text that are looked at. */
const WINDOW = 2400;
/** How often a passage has to stand there in a row. */
const TIMES = 6;
/** Shorter repeats are rows of dashes, tables and the like. */
const MIN_LENGTH = 600;
/** How much new text comes between two looks, in UTF-16 code units. */
const STEP = 300;

/** Notices a text that repeats one passage for ever, as models sometimes do for a million tokens. */
export class RepetitionWatch {
  #tail = '';
  #unseen = 0;

  /** True once the text so far ends in endless repetition. */
  push(delta: string): boolean {
    this.#tail = (this.#tail + delta).slice(-WINDOW);
    this.#unseen += delta.length;
    if (this.#unseen < STEP) return false;
    this.#unseen = 0;
    return repeats(this.#tail);
  }
}

/** Whether the end of `text` is one passage, `TIMES` times in a row and with more in it than one or two characters. */
function repeats(text: string): boolean {
  const reversed = [...text].reverse();
  const borders = new Int32Array(reversed.length);
  for (let i = 1, k = 0; i < reversed.length; i++) {
    while (k > 0 && reversed[i] !== reversed[k]) k = borders[k - 1] ?? 0;
    if (reversed[i] === reversed[k]) k++;
    borders[i] = k;
    const length = i + 1;
    const period = length - k;
    if (length >= Math.max(MIN_LENGTH, period * TIMES) && new Set(reversed.slice(0, period)).size > 3) return true;
  }
  return false;
}
