import { type Span, topLevelSpans } from '../protocol/json-spans.ts';

/** A range of bytes and what stands there instead. */
export interface Replacement extends Span {
  text: string;
}

/** `body` with ranges that do not overlap replaced; every other byte stays as it came. */
export function replaceSpans(body: Buffer, replacements: readonly Replacement[]): Buffer {
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const { start, end, text } of [...replacements].sort((a, b) => a.start - b.start)) {
    pieces.push(body.subarray(at, start), Buffer.from(text));
    at = end;
  }
  pieces.push(body.subarray(at));
  return Buffer.concat(pieces);
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
