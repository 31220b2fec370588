import { isObject } from './json.ts';
import { concatUnpooled } from './load/unpooled.ts';

/** How long a piece of text grows before the next one begins, in UTF-16 code units. */
const MAX_PIECE = 16 * 1024;
/** How deep arrays and objects are split: down to the messages of a request, and a response's output in an event. */
const SPLIT_DEPTH = 3;

/**
 * Encodes consecutive texts as UTF-8. They are not joined into one string first: V8 keeps large strings in a space of
 * their own and for longer, and the last event of a run contains every result of its tools.
 */
export function encodeTexts(texts: Iterable<string>): Buffer {
  const pieces: Buffer[] = [];
  let piece = '';
  for (const text of texts) {
    if (piece !== '' && piece.length + text.length > MAX_PIECE) {
      pieces.push(Buffer.from(piece));
      piece = '';
    }
    piece += text;
  }
  const last = Buffer.from(piece);
  return pieces.length === 0 ? last : concatUnpooled([...pieces, last]);
}

/** What `JSON.stringify` makes of half a character; a backslash before the same letters is doubled. */
const HALF_CHARACTER = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/** JSON with U+FFFD in place of halves of characters, as of texts that were cut: many parsers refuse those, Anthropic's too. */
export function wellFormedJson(json: string): string {
  return json.includes('\\ud') ? json.replace(HALF_CHARACTER, '$1\ufffd') : json;
}

/** Yields in parts what `JSON.stringify` makes of plain objects and arrays. */
export function* stringifyInParts(value: unknown, depth = SPLIT_DEPTH): Generator<string> {
  let separator = Array.isArray(value) ? '[' : '{';
  if (depth > 0 && Array.isArray(value) && value.length > 0) {
    for (const item of value) {
      yield separator;
      yield* stringifyInParts(item, depth - 1);
      separator = ',';
    }
    yield ']';
  } else if (depth > 0 && isObject(value) && Object.keys(value).length > 0) {
    for (const [name, part] of Object.entries(value)) {
      if (part === undefined) continue;
      yield `${separator}${JSON.stringify(name)}:`;
      yield* stringifyInParts(part, depth - 1);
      separator = ',';
    }
    yield separator === '{' ? '{}' : '}';
  } else yield JSON.stringify(value) ?? 'null';
}
