import { isObject } from './json.ts';

/** How long a piece of text gets before the next one begins, in UTF-16 code units. */
const PIECE = 16 * 1024;
/** How deep lists and objects are taken apart: to the messages of a request, and the output of a response in an event. */
const DEPTH = 3;

/**
 * The bytes of texts in a row. They are not joined to one text first: V8 keeps large texts in a space of their own and for
 * longer, and the last event of a run holds all that its tools said.
 */
export function joinedBytes(texts: Iterable<string>): Buffer {
  const pieces: string[] = [];
  let piece = '';
  for (const text of texts) {
    if (piece !== '' && piece.length + text.length > PIECE) {
      pieces.push(piece);
      piece = '';
    }
    piece += text;
  }
  if (pieces.length === 0) return Buffer.from(piece);
  pieces.push(piece);
  const bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, each) => sum + Buffer.byteLength(each), 0));
  pieces.reduce((at, each) => at + bytes.write(each, at), 0);
  return bytes;
}

/** The text that `JSON.stringify` makes of plain objects and lists, in parts. */
export function* jsonTexts(value: unknown, depth = DEPTH): Generator<string> {
  let before = Array.isArray(value) ? '[' : '{';
  if (depth > 0 && Array.isArray(value) && value.length > 0) {
    for (const item of value) {
      yield before;
      yield* jsonTexts(item, depth - 1);
      before = ',';
    }
    yield ']';
  } else if (depth > 0 && isObject(value) && Object.keys(value).length > 0) {
    for (const [name, part] of Object.entries(value)) {
      if (part === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* jsonTexts(part, depth - 1);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  } else yield JSON.stringify(value) ?? 'null';
}
