import { Readable } from 'node:stream';
import type { JsonObject } from '../../base/json.ts';

/** How long a piece gets before the next one begins, in UTF-16 code units: large strings are kept for longer by V8. */
const PIECE = 32 * 1024;

/**
 * A JSON object in pieces of text, to be sent once. What is sent is let go: the request of a long research is half a
 * megabyte, and would else be held twice, as a string and as bytes, until its answer is read.
 */
export class JsonPieces {
  readonly #pieces: string[] = [];

  constructor(body: JsonObject) {
    let piece = '';
    for (const part of partsOf(body)) {
      piece += part;
      if (piece.length < PIECE) continue;
      this.#pieces.push(piece);
      piece = '';
    }
    this.#pieces.push(piece);
  }

  /** Body and headers as the HTTP client takes them: what is short goes as it is. */
  sent(headers: Readonly<Record<string, string>>): { headers: Record<string, string>; body: string | Readable } {
    const [first = '', ...more] = this.#pieces;
    if (more.length === 0) return { headers, body: first };
    const bytes = this.#pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
    return { headers: { ...headers, 'content-length': String(bytes) }, body: Readable.from(this.#taken()) };
  }

  *#taken(): Generator<string> {
    for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) yield piece;
  }
}

/** The text of `JSON.stringify`, cut between the items of the object's lists, such as messages. */
function* partsOf(body: JsonObject): Generator<string> {
  let before = '{';
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) yield (index === 0 ? '[' : ',') + JSON.stringify(item);
      yield value.length === 0 ? '[]' : ']';
    } else yield JSON.stringify(value);
  }
  yield before === '{' ? '{}' : '}';
}
