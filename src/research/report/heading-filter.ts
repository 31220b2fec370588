/** The heading that a section begins with is written by the gateway: one that the model repeats is taken out. */
export class HeadingFilter {
  readonly #heading: string;
  #held: string | undefined;
  /** White space behind the heading belongs to it. */
  #trims = false;

  /** @param before what of the section is shown already: then nothing is taken out. */
  constructor(heading: string, before: string) {
    this.#heading = plain(heading);
    this.#held = before === '' ? '' : undefined;
  }

  /** What of a piece of the section is shown. */
  push(text: string): string {
    if (this.#held === undefined) return this.#shown(text);
    this.#held += text;
    const start = this.#held.trimStart();
    const said = plain(start);
    const mayBe = /^[\d.)]*$/.test(said) || this.#heading.startsWith(said);
    return start.includes('\n') || !mayBe ? this.end() : '';
  }

  /** What is still held back. */
  end(): string {
    const held = (this.#held ?? '').trimStart();
    this.#held = undefined;
    const [line = ''] = held.split('\n', 1);
    if (plain(line) !== this.#heading) return held;
    this.#trims = true;
    return this.#shown(held.slice(line.length));
  }

  #shown(text: string): string {
    if (!this.#trims) return text;
    const rest = text.trimStart();
    if (rest !== '') this.#trims = false;
    return rest;
  }
}

/** The words of a heading, without a number before them. */
function plain(line: string): string {
  return withoutMarks(withoutMarks(line).replace(/^\d{1,3}[.)]\s/, '')).toLowerCase();
}

/** A line without the marks of headings and bold text at its ends. */
export function withoutMarks(line: string): string {
  let [start, end] = [0, line.length];
  while (start < end && HEADING_MARK.test(line[start] ?? '')) start++;
  while (end > start && HEADING_MARK.test(line[end - 1] ?? '')) end--;
  return line.slice(start, end);
}
const HEADING_MARK = /[\s#*_:]/;
