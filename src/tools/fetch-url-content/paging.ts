import { characterStart, naturalEnd } from '../../base/text.ts';

export interface TextPart {
  text: string;
  /** Where the next part starts; undefined at the end. */
  nextOffset: number | undefined;
}

/** The share of its size by which a part may be shorter, to end with a paragraph, a line or a word. */
const SLACK = 0.2;
const MARKS = ['\n\n', '\n', '. ', '。', ' '];

/** The part of `text` from `offset` with about `size` UTF-16 code units. It cuts no character and, if possible, no word. */
export function partOf(text: string, offset: number, size: number): TextPart {
  const start = characterStart(text, offset);
  if (start + size >= text.length) return { text: text.slice(start), nextOffset: undefined };
  const limit = start + size;
  const end = naturalEnd(text, { from: Math.floor(limit - size * SLACK), limit, marks: MARKS });
  return { text: text.slice(start, end), nextOffset: end };
}
