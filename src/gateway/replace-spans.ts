import { type Span, topLevelSpans } from '../protocol/requests/json-spans.ts';

/** A range of bytes and what stands there instead. */
export interface Replacement extends Span {
  text: string;
}

/** `body` with ranges that do not overlap replaced; every other byte stays as it came. */
export function replaceSpans(body: Buffer, replacements: readonly Replacement[]): Buffer {
  const ordered = replacements.length < 2 ? replacements : [...replacements].sort((a, b) => a.start - b.start);
  let length = body.length;
  for (const { start, end, text } of ordered) length += Buffer.byteLength(text) - (end - start);
  const replaced = Buffer.allocUnsafe(length);
  let from = 0;
  let to = 0;
  for (const { start, end, text } of ordered) {
    to += body.copy(replaced, to, from, start);
    to += replaced.write(text, to);
    from = end;
  }
  body.copy(replaced, to, from);
  return replaced;
}

/**
 * What turns a chat request into one for a single answer: `stream` off, and `stream_options`, which providers refuse
 * without it, empty.
 */
export function unstreamed(body: Buffer): Replacement[] {
  return [
    ...topLevelSpans(body, 'stream').map((span) => ({ ...span, text: 'false' })),
    ...topLevelSpans(body, 'stream_options').map((span) => ({ ...span, text: 'null' })),
  ];
}
