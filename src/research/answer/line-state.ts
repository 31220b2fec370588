/** What of a line's beginning decides whether more than markers stand there, in UTF-16 code units. */
const LONGEST_HEAD = 60;
/** Enough to tell the beginning of an address that was cut in two. */
const TAIL = 8;

/** What stands before a place in a Markdown text and decides how others read what follows. */
export class LineState {
  /** The line so far, while it may be markers of lists and quotations only. */
  #head = '';
  /** The end of the run of characters without white space. */
  #tail = '';
  #isInAddress = false;

  /** Whether only white space and markers stand before it in its line. */
  get isAtStart(): boolean {
    return this.#head.length <= LONGEST_HEAD && /^[\s>*+\-\d.)]*$/.test(this.#head);
  }

  /** Whether a back-tick here may be a part of an address, or escaped. */
  get hidesCode(): boolean {
    return this.#isInAddress || this.#tail.endsWith('\\');
  }

  /** Takes what stands next. */
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

/** Where the last white space or `<` stands, which end an address. Not all readers end it at white space beyond ASCII. */
function lastBreak(text: string): number {
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const code = text.charCodeAt(at);
    if (code === 0x3c || code === 0x20 || (code >= 0x09 && code <= 0x0d)) return at;
  }
  return -1;
}
