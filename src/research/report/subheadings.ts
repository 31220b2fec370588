import { CodeBlocks, LONGEST_FENCE } from '../answer/code-marks.ts';

/** The start of a line that may become a heading above `###`, and one that is. */
const MAY_BE_HEADING = /^ {0,3}#{0,2}$/;
const IS_HEADING = /^ {0,3}#{1,2}(?=\s)/;

/**
 * Puts the headings in a section's text below the gateway's own: `#` and `##` become `###`, piece by piece, except in code.
 * The start of a line is held back until it is decided.
 */
export class Subheadings {
  readonly #blocks = new CodeBlocks();
  /** The start of the current line, as long as it can be a fence. */
  #line = '';
  #held = '';

  /** @param before the part of the section that was sent already. */
  constructor(before: string) {
    this.push(before);
  }

  push(text: string): string {
    return text
      .split(/(?<=\n)/)
      .map((part) => this.#pass(part))
      .join('');
  }

  /** What is held back. */
  end(): string {
    const held = this.#held;
    this.#held = '';
    return held;
  }

  #pass(part: string): string {
    const wasOpen = MAY_BE_HEADING.test(this.#line);
    this.#line = (this.#line + part).slice(0, LONGEST_FENCE);
    let visible = this.#held + part;
    this.#held = '';
    if (wasOpen && this.#blocks.closing === undefined) {
      if (MAY_BE_HEADING.test(this.#line)) {
        this.#held = visible;
        visible = '';
      } else visible = visible.replace(IS_HEADING, '###');
    }
    if (part.endsWith('\n')) {
      this.#blocks.isCode(this.#line.trimEnd());
      this.#line = '';
    }
    return visible;
  }
}
