import { CodeBlocks, LONGEST_FENCE } from '../answer/code-marks.ts';

/** The start of a line that may become a heading above `###`, or make one of the line before it, and what is one. */
const MAY_BE_HEADING = /^ {0,3}(?:#{0,2}|(?:=+|-+)[ \t]*)$/;
const IS_HEADING = /^ {0,3}#{1,2}(?=\s)/;
const UNDERLINE = /^ {0,3}(?:(=+)|-+)[ \t]*(?=\r?\n?$)/;

/**
 * Puts the headings in a section's text below the gateway's own: `#` and `##` become `###`, piece by piece, except in code.
 * The start of a line is held back until it is decided. A line that would be underlined was sent by then, so it becomes text.
 */
export class Subheadings {
  readonly #blocks = new CodeBlocks();
  /** The start of the current line, as long as it can be a fence. */
  #line = '';
  #held = '';
  /** Whether the line before has text. */
  #isBelowText = false;

  /** @param before the part of the section that was sent already. */
  constructor(before: string) {
    this.push(before);
    this.#held = '';
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
    return this.#lowered(held);
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
      } else visible = this.#lowered(visible);
    }
    if (part.endsWith('\n')) {
      this.#isBelowText = this.#line.trim() !== '';
      this.#blocks.isCode(this.#line.trimEnd());
      this.#line = '';
    }
    return visible;
  }

  /** The start of a line as `###` if it is a heading; an underline becomes a rule, or nothing. */
  #lowered(line: string): string {
    if (!this.#isBelowText) return line.replace(IS_HEADING, '###');
    return line.replace(IS_HEADING, '###').replace(UNDERLINE, (rule, equals) => (equals ? '' : `\n${rule}`));
  }
}
