import { Subheadings } from './subheadings.ts';

/**
 * Writes the heading of a section, removes the one that the model repeats, and puts the model's others below it. The
 * heading is sent with the first words of the section, so that a section without text has no heading either.
 */
export class HeadingFilter {
  readonly #heading: string;
  /** Precedes the first words of the section. */
  readonly #head: string;
  /** Text that may be the repeated heading; undefined once that is decided. */
  #buffered: string | undefined;
  #hasText: boolean;
  readonly #subheadings: Subheadings;

  /** @param before the part of the section that is sent already; if there is any, nothing is removed. */
  constructor(heading: string, { head, before }: { head: string; before: string }) {
    this.#heading = plain(heading);
    this.#head = head;
    this.#buffered = before === '' ? '' : undefined;
    this.#hasText = before !== '';
    this.#subheadings = new Subheadings(before);
  }

  /** Whether the section has any text besides its heading. */
  get hasText(): boolean {
    return this.#hasText;
  }

  /** The part of a piece that can be sent. */
  push(text: string): string {
    if (this.#buffered === undefined) return this.#withHeading(text);
    this.#buffered += text;
    const [line = '', below, more] = this.#buffered.trimStart().split('\n', 3);
    if (below === undefined) return this.#mayBeHeading(line) ? '' : this.#decide();
    return this.#isHeading(line) && more === undefined && /^[\s=-]*$/.test(below) ? '' : this.#decide();
  }

  /** The text that is still held back. */
  end(): string {
    return this.#decide() + this.#subheadings.end();
  }

  /** The beginning of the section without the repeated heading. */
  #decide(): string {
    const text = (this.#buffered ?? '').trimStart();
    const [line = '', below = ''] = text.split('\n', 2);
    const underlined = /^ {0,3}(?:=+|-+)\s*$/.test(below) ? `${line}\n${below}`.length : line.length;
    const visible = this.#withHeading(this.#isHeading(line) ? text.slice(underlined) : text);
    // If there is no other text, the model is asked again, and its next attempt is filtered, too.
    this.#buffered = this.#hasText ? undefined : '';
    return visible;
  }

  #isHeading(line: string): boolean {
    const words = plain(line);
    return words === this.#heading || withoutNumber(words) === this.#heading;
  }

  #mayBeHeading(line: string): boolean {
    const words = plain(line);
    return (
      /^(?:\p{L}{0,12} ?)?\d{0,3} ?\p{P}?$/u.test(words) ||
      this.#heading.startsWith(words) ||
      this.#heading.startsWith(withoutNumber(words))
    );
  }

  /** Adds the heading before the first words, and drops white space before them. */
  #withHeading(text: string): string {
    if (this.#hasText) return this.#subheadings.push(text);
    const rest = text.trimStart();
    if (rest === '') return '';
    this.#hasText = true;
    return this.#head + this.#subheadings.push(rest);
  }
}

function plain(line: string): string {
  return withoutMarks(line).toLowerCase();
}

/** A heading without its number: `2. On tea`, `Section 2: On tea`. */
function withoutNumber(line: string): string {
  return withoutMarks(line.replace(/^(?:\p{L}{1,12} )?\d{1,3}(?: ?[.):\p{Pd}])?\s/u, ''));
}

/** A line without the Markdown of headings and bold text at its ends. */
export function withoutMarks(line: string): string {
  let [start, end] = [0, line.length];
  while (start < end && HEADING_MARK.test(line[start] ?? '')) start++;
  while (end > start && HEADING_MARK.test(line[end - 1] ?? '')) end--;
  return line.slice(start, end);
}
const HEADING_MARK = /[\s#*_:]/;
