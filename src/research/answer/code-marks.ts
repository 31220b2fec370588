/** Finds where code starts and ends in a Markdown text. */

/** Longer spans, in UTF-16 code units, are not taken for code. */
const LONGEST_CODE = 1000;
/** How much of a line decides whether it opens or closes a code block. */
export const LONGEST_FENCE = 200;
/** What opens a code block; the group is its fence. */
export const OPENS_BLOCK = /^[^\S\n>]*(?:>[^\S\n>]*)*(?:[-*+][^\S\n]+|\d{1,9}[.)][^\S\n]+)?(`{3,}|~{3,})/;

/** What may close a block: a fence alone. */
export const CLOSES_BLOCK = /^[\s>]*(`{3,}|~{3,})\s*$/;

/** Tracks the code blocks of a Markdown text line by line. A block also ends with the list or quotation that contains it. */
export class CodeBlocks {
  #open: { mark: string; before: string } | undefined;

  /** Whether the next line belongs to a block, its fences included. */
  isCode(line: string): boolean {
    const start = line.slice(0, LONGEST_FENCE);
    if (this.#open && (start.trim() === '' || isWithin(this.#open.before, start))) {
      if (CLOSES_BLOCK.exec(start)?.[1]?.startsWith(this.#open.mark)) this.#open = undefined;
      return true;
    }
    const [opening = '', mark] = OPENS_BLOCK.exec(start) ?? [];
    const isOpened = mark !== undefined && !(mark[0] === '`' && start.includes('`', opening.length));
    this.#open = isOpened ? { mark, before: opening.slice(0, -mark.length) } : undefined;
    return isOpened;
  }

  /** The line that would close the open block; undefined if none is open. */
  get closing(): string | undefined {
    return this.#open && this.#open.before.replace(/[^\s>]/g, ' ') + this.#open.mark;
  }
}

/** Whether a line is in the list or quotation whose first line starts with `before`. */
function isWithin(before: string, line: string): boolean {
  if (before.includes('>')) return /^\s*>/.test(line);
  return line.length - line.trimStart().length >= before.length;
}

/** The line at `at` without its newline, or as much of it as decides whether it opens or closes a code block. */
export function lineAt(text: string, at: number): { text: string; ended: boolean } {
  const line = text.slice(at, at + LONGEST_FENCE + 1);
  const newline = line.indexOf('\n');
  return newline === -1
    ? { text: line.slice(0, LONGEST_FENCE), ended: false }
    : { text: line.slice(0, newline), ended: true };
}

export function endOfRun(text: string, at: number): number {
  let end = at;
  while (text[end] === '`') end++;
  return end;
}

/** Where the run that closes a code span ends; undefined if the paragraph has none near enough. */
export function closingRun(
  text: string,
  { opened, length, final }: { opened: number; length: number; final: boolean },
): number | 'more' | undefined {
  const limit = opened + LONGEST_CODE;
  const near = text.slice(0, limit);
  let from = opened;
  for (;;) {
    const at = near.indexOf('`', from);
    if (endsParagraph(text, from, at === -1 ? near.length : at)) return undefined;
    if (at === -1) return final || text.length >= limit ? undefined : 'more';
    from = endOfRun(text, at);
    if (from === text.length && !final) return 'more';
    if (from - at === length) return from;
  }
}

/** Whether a paragraph ends in a part of the text: at a blank line, or before a code block. */
function endsParagraph(text: string, from: number, until: number): boolean {
  const part = text.slice(from, until);
  for (let at = part.indexOf('\n'); at !== -1; at = part.indexOf('\n', at + 1)) {
    const line = lineAt(text, from + at + 1);
    if (line.text.trim() === '' ? line.ended : OPENS_BLOCK.test(line.text)) return true;
  }
  return false;
}
