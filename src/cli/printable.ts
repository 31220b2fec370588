import { toSingleLine } from '../base/text.ts';

/** Makes text from models and pages safe to print, and fits it to a terminal. */

/** Control characters except tab and newline, and characters that change the direction of text. */
const UNSAFE = /(?![\t\n])\p{Cc}|\p{Bidi_Control}/gu;

/** Text without escape sequences, so that a page cannot control the reader's terminal. */
export function printable(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(UNSAFE, '');
}

export function oneLine(text: string): string {
  return toSingleLine(printable(text));
}

const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u;

/** How many columns a text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of graphemes(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** A text shortened to `columns`, with an ellipsis if something was cut. */
export function fitTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let fitted = '';
  let width = 1;
  for (const { segment } of graphemes(text)) {
    width += widthOf(segment);
    if (width > columns) break;
    fitted += segment;
  }
  return `${fitted}…`;
}

function graphemes(text: string): Iterable<Intl.SegmentData> {
  return new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text);
}

/** `0:07`, `12:30`, `1:02:03`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (number: number) => String(number).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}
