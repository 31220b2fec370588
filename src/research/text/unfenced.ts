const OPENED = { markdown: /^\s*```(?:markdown|md)[^\S\n]*\n/i, json: /^\s*```(?:json)?[^\S\n]*\n/i };
const MAY_OPEN = /^\s*(?:`{0,3}|```[a-z]{0,8}[^\S\n]*)$/i;
const CLOSED = /(?:^|\n)[^\S\n]*```\s*$/;
const MAY_CLOSE = /(?:^|\n)[^\S\n]*`{0,3}\s*$/;
/** A longer run of white space is no part of a fence, in UTF-16 code units. */
const LONGEST_FENCE = 200;

/**
 * Takes a text out of the fence around all of it, in which models put what they are asked for in Markdown or JSON: in code
 * nothing is cited, and clients parse the whole text.
 */
export class Unfenced {
  readonly #opened: RegExp;
  #state: 'start' | 'fenced' | 'plain' = 'start';
  #held = '';

  constructor(language: keyof typeof OPENED) {
    this.#opened = OPENED[language];
  }

  push(delta: string): string {
    if (this.#state === 'plain') return delta;
    this.#held += delta;
    if (this.#state === 'start') {
      if (this.#held.length < LONGEST_FENCE && MAY_OPEN.test(this.#held)) return '';
      this.#state = this.#opened.test(this.#held) ? 'fenced' : 'plain';
      this.#held = this.#held.replace(this.#opened, '');
    }
    if (this.#state === 'plain') return this.#give(this.#held.length);
    const before = Math.max(0, this.#held.length - LONGEST_FENCE);
    const at = this.#held.slice(before).search(MAY_CLOSE);
    return this.#give(at === -1 ? this.#held.length : before + at);
  }

  /** What was held back, without the closing fence. */
  end(): string {
    if (this.#state === 'fenced') this.#held = this.#held.replace(CLOSED, '');
    return this.#give(this.#held.length);
  }

  #give(length: number): string {
    const given = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    return given;
  }
}
