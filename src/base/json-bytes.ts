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

/** Yields in parts what `JSON.stringify` makes of plain objects and arrays, after `before`. What is short is one part. */
export function* stringifyInParts(value: unknown, depth = SPLIT_DEPTH, before = ''): Generator<string> {
  if (depth === 0 || typeof value !== 'object' || value === null || charactersLeft(value, MAX_PIECE) > 0) {
    yield `${before}${JSON.stringify(value) ?? 'null'}`;
    return;
  }
  let separator = `${before}${Array.isArray(value) ? '[' : '{'}`;
  for (const [name, part] of Object.entries(value)) {
    if (part === undefined && !Array.isArray(value)) continue;
    yield* stringifyInParts(part, depth - 1, Array.isArray(value) ? separator : `${separator}${JSON.stringify(name)}:`);
    separator = ',';
  }
  yield Array.isArray(value) ? ']' : '}';
}

/** What the texts and numbers in a value leave of so many characters; stops once nothing is left. */
function charactersLeft(value: unknown, characters: number): number {
  if (typeof value === 'string') return characters - value.length;
  if (typeof value !== 'object' || value === null) return characters - 1;
  let left = characters - 1;
  for (const part of Object.values(value)) {
    left = charactersLeft(part, left);
    if (left <= 0) break;
  }
  return left;
}
