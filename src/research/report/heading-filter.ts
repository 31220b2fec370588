/**
 * The gateway writes the heading of a section, and takes out the one that the model repeats. It comes with the first
 * words of the section: one without text has no heading either.
 */
export class HeadingFilter {
  readonly #heading: string;
  /** What stands before the first words of the section. */
  readonly #head: string;
  #held: string | undefined;
  #hasShown: boolean;

  /** @param before what of the section is shown already: then nothing is taken out. */
  constructor(heading: string, { head, before }: { head: string; before: string }) {
    this.#heading = plain(heading);
    this.#head = head;
    this.#held = before === '' ? '' : undefined;
    this.#hasShown = before !== '';
  }

  /** Whether the section has any text but its heading. */
  get hasShown(): boolean {
    return this.#hasShown;
  }

  /** What of a piece of the section is shown. */
  push(text: string): string {
    if (this.#held === undefined) return this.#shown(text);
    this.#held += text;
    const [line = '', below, more] = this.#held.trimStart().split('\n', 3);
    if (below === undefined) return this.#mayBeHeading(line) ? '' : this.end();
    return this.#isHeading(line) && more === undefined && /^[\s=-]*$/.test(below) ? '' : this.end();
  }

  /** What is still held back. */
  end(): string {
    const held = (this.#held ?? '').trimStart();
    const [line = '', below = ''] = held.split('\n', 2);
    const underlined = /^ {0,3}(?:=+|-+)\s*$/.test(below) ? `${line}\n${below}`.length : line.length;
    const shown = this.#shown(this.#isHeading(line) ? held.slice(underlined) : held);
    // A model that said nothing else is asked again.
    this.#held = this.#hasShown ? undefined : '';
    return shown;
  }

  #isHeading(line: string): boolean {
    const said = plain(line);
    return said === this.#heading || withoutNumber(said) === this.#heading;
  }

  #mayBeHeading(line: string): boolean {
    const said = plain(line);
    return (
      /^(?:\p{L}{0,12} ?)?\d{0,3} ?\p{P}?$/u.test(said) ||
      this.#heading.startsWith(said) ||
      this.#heading.startsWith(withoutNumber(said))
    );
  }

  /** White space before the first words is left out. */
  #shown(text: string): string {
    if (this.#hasShown) return text;
    const rest = text.trimStart();
    if (rest === '') return '';
    this.#hasShown = true;
    return this.#head + rest;
  }
}

function plain(line: string): string {
  return withoutMarks(line).toLowerCase();
}

/** The words of a heading without a number before them: `2. On tea`, `Section 2: On tea`. */
function withoutNumber(line: string): string {
  return withoutMarks(line.replace(/^(?:\p{L}{1,12} )?\d{1,3}(?: ?[.):\p{Pd}])?\s/u, ''));
}

/** A line without the marks of headings and bold text at its ends. */
export function withoutMarks(line: string): string {
  let [start, end] = [0, line.length];
  while (start < end && HEADING_MARK.test(line[start] ?? '')) start++;
  while (end > start && HEADING_MARK.test(line[end - 1] ?? '')) end--;
  return line.slice(start, end);
}
const HEADING_MARK = /[\s#*_:]/;
