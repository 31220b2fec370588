/** How much of a line's start decides whether it has more than list and quotation markers, in UTF-16 code units. */
const LONGEST_HEAD = 60;
/** Enough to recognise the start of a URL across two pieces. */
const TAIL = 8;

/** The state of the current line of a Markdown text, as far as it decides how renderers read what follows. */
export class LineState {
  #head = '';
  /** The end of the current run of characters without white space. */
  #tail = '';
  #isInAddress = false;

  /** Whether the line has only white space and list or quotation markers so far. */
  get isAtStart(): boolean {
    return this.#head.length <= LONGEST_HEAD && /^[\s>*+\-\d.)]*$/.test(this.#head);
  }

  /** Whether a back-tick here may be a part of a URL, or escaped. */
  get hidesCode(): boolean {
    return this.#isInAddress || this.#tail.endsWith('\\');
  }

  /** Advances over a piece of the text. */
  pass(text: string): void {
    const line = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'));
    this.#head = (line === -1 ? this.#head + text : text.slice(line + 1)).slice(0, LONGEST_HEAD + 1);
    const run = lastBreak(text);
    const tail = run === -1 ? this.#tail + text : text.slice(run + 1);
    if (run !== -1) this.#isInAddress = false;
    this.#isInAddress ||= tail.includes('://') || tail.includes('@') || tail.toLowerCase().includes('www.');
    this.#tail = tail.slice(-TAIL);
  }
}

/** The index of the last white space or `<`, which end a URL. Only ASCII: not all renderers end a URL at other white space. */
function lastBreak(text: string): number {
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const code = text.charCodeAt(at);
    if (code === 0x3c || code === 0x20 || (code >= 0x09 && code <= 0x0d)) return at;
  }
  return -1;
}
