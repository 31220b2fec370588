import { naturalEnd } from '../../base/text.ts';
import { estimateTokens } from '../../upstream/decoding/estimate.ts';

/** A piece may be this much shorter, to end at the end of a paragraph, a line, a sentence or a word. */
const SLACK = 0.25;
const MARKS = ['\n\n', '\n', '. ', '。', ' '];

/** Cuts a text into pieces of at most about `tokens` each. Joined, they are the text. */
export function cutPieces(text: string, tokens: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = lengthFor(text, { at, tokens });
    const end = naturalEnd(text, { from: at + length * (1 - SLACK), limit: at + length, marks: MARKS });
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}

/** How many characters from `at` on have about `tokens` tokens, estimated from the text itself. */
function lengthFor(text: string, { at, tokens }: { at: number; tokens: number }): number {
  let length = Math.max(16, Math.floor(tokens * 4));
  for (let cost = estimateTokens(text.slice(at, at + length)); cost > tokens && length > 16; ) {
    length = Math.max(16, Math.floor(Math.min(length * 0.95, (length * tokens) / cost)));
    cost = estimateTokens(text.slice(at, at + length));
  }
  return length;
}
