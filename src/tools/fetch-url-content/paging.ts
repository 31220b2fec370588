export interface TextPart {
  text: string;
  /** Where the next part starts; undefined at the end. */
  nextOffset: number | undefined;
}

/** The share of its size by which a part may be shorter, to end with a paragraph, a line or a word. */
const SLACK = 0.2;

/** The part of `text` from `offset` with about `size` UTF-16 code units. It cuts no character and, if possible, no word. */
export function partOf(text: string, offset: number, size: number): TextPart {
  const start = characterStart(text, offset);
  if (start + size >= text.length) return { text: text.slice(start), nextOffset: undefined };
  const limit = start + size;
  const end = naturalEnd(text, Math.floor(limit - size * SLACK), limit);
  return { text: text.slice(start, end), nextOffset: end };
}

function naturalEnd(text: string, from: number, limit: number): number {
  const window = text.slice(from, limit);
  for (const mark of ['\n\n', '\n', '. ', '。', ' ']) {
    const at = window.lastIndexOf(mark);
    if (at >= 0) return from + at + mark.length;
  }
  return characterStart(text, limit);
}

/** `at`, or the place before it if that is inside of a surrogate pair. */
export function characterStart(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text[at] ?? '') && /[\ud800-\udbff]/.test(text[at - 1] ?? '') ? at - 1 : at;
}
