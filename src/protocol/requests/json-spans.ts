import { type JsonValue, parseJson } from '../../base/json.ts';

/** A range of bytes: `start` included, `end` not. */
export interface Span {
  start: number;
  end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;

/**
 * Where the values of a top-level field stand in a JSON object, in order: more than one where the name is repeated,
 * also where it is written with escapes; with `anyCase`, also in other cases, which some providers take for the same
 * (those in Go and .NET). Lets a value be replaced without parsing and writing the rest again, so that big integers
 * survive. `json` must be valid JSON, and `name` in lower case.
 */
export function topLevelSpans(json: Buffer, name: string, { anyCase = false } = {}): Span[] {
  const spans: Span[] = [];
  eachMember(json, (start, end, from, to) => {
    if (isName(json, start, end, name, anyCase)) spans.push({ start: from, end: to });
  });
  return spans;
}

/** A JSON object without one of its fields, every other value as it was written. `json` must be valid JSON. */
export function withoutField(json: Buffer, name: string): Buffer {
  const kept: string[] = [];
  eachMember(json, (start, end, _, to) => {
    if (!isName(json, start, end, name)) kept.push(json.toString('utf8', start, to));
  });
  return Buffer.from(`{${kept.join(',')}}`);
}

/** Tells where each member of an object stands: its name with the quotes from `start` to `end`, its value from `from` to `to`. */
function eachMember(json: Buffer, tell: (start: number, end: number, from: number, to: number) => void): void {
  let at = skipBlank(json, 0) + 1;
  for (;;) {
    const start = skipBlank(json, at);
    if (json[start] !== QUOTE) return;
    const end = endOfString(json, start);
    at = skipBlank(json, end);
    if (json[at] !== COLON) return;
    const from = skipBlank(json, at + 1);
    const to = endOfValue(json, from);
    tell(start, end, from, to);
    at = skipBlank(json, to);
    if (json[at] !== COMMA) return;
    at++;
  }
}

/** Strings that are longer are cut by `abridged`, in bytes, and what is left of them. */
const LONG_STRING = 4096;
const LEFT = 256;

/**
 * A JSON text whose long strings are cut, so that what a picture or a long answer stands in can be read at the cost of
 * its short values. The text may be malformed: then so is what comes of it.
 */
export function abridged(json: Buffer): Buffer {
  const pieces: Buffer[] = [];
  let from = 0;
  for (let at = 0; at < json.length; at++) {
    if (json[at] !== QUOTE) continue;
    const end = endOfString(json, at);
    if (end - at > LONG_STRING && json[end - 1] === QUOTE) {
      const left = json.subarray(at + 1, at + 1 + LEFT);
      // Half an escape is none.
      pieces.push(json.subarray(from, at + 1), left.includes(BACKSLASH) ? Buffer.from('...') : left);
      from = end - 1;
    }
    at = end - 1;
  }
  return pieces.length === 0 ? json : Buffer.concat([...pieces, json.subarray(from)]);
}

/** What reading a JSON text costs besides its length. */
export interface JsonShape {
  /** How deeply arrays and objects are nested. */
  depth: number;
  /** Arrays and objects. */
  containers: number;
  /** Members of objects. */
  members: number;
  /** Entries of arrays and members of objects, counted by what parts them. */
  entries: number;
}

/** The shape of valid JSON, found without reading it; stops where the shape is past `limit`. */
export function shapeOf(json: Buffer, limit: JsonShape): JsonShape {
  const shape: JsonShape = { depth: 0, containers: 0, members: 0, entries: 0 };
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfString(json, at) - 1;
    else if (byte === COMMA) {
      if (++shape.entries > limit.entries) return shape;
    } else if (byte === COLON) {
      if (++shape.members > limit.members) return shape;
    } else if (isOpening(byte)) {
      shape.depth = Math.max(shape.depth, ++depth);
      if (++shape.containers > limit.containers || depth > limit.depth) return shape;
    } else if (isClosing(byte)) depth--;
  }
  return shape;
}

/** Whether valid JSON stays within a shape. */
export function fitsShape(json: Buffer, limit: JsonShape): boolean {
  const { depth, containers, members, entries } = shapeOf(json, limit);
  return depth <= limit.depth && containers <= limit.containers && members <= limit.members && entries <= limit.entries;
}

/** What is read of JSON that a service sends: beyond it reading takes a tenth of a second and more, and holds up everybody else. */
const READABLE: JsonShape = { depth: 100, containers: 50_000, members: 100_000, entries: 200_000 };
/** What is no longer needs no look, in bytes or UTF-16 code units. */
const ALWAYS_READABLE = 4096;

/** Whether the JSON of a service may be read: it holds no more values, and no deeper ones, than an answer has. */
export function isReadable(json: string | Buffer): boolean {
  if (json.length <= ALWAYS_READABLE || isFlat(json)) return true;
  return fitsShape(typeof json === 'string' ? Buffer.from(json) : json, READABLE);
}

/** Whether few brackets alone say that it is readable, such as a vector: a look at each of its bytes takes twice as long as reading it. */
function isFlat(json: string | Buffer): boolean {
  if (json.length > READABLE.entries) return false;
  let count = 0;
  for (const bracket of ['[', '{']) {
    for (let at = json.indexOf(bracket); at !== -1; at = json.indexOf(bracket, at + 1)) {
      if (++count > READABLE.depth) return false;
    }
  }
  return true;
}

/** Parsed JSON of a service; undefined if it is not JSON, or not readable. */
export function parseReadable(text: string): JsonValue | undefined {
  return isReadable(text) ? parseJson(text) : undefined;
}

/** `name` is ASCII: written with escapes it is only longer, so length alone rules most others out. */
function isName(json: Buffer, start: number, end: number, name: string, anyCase = false): boolean {
  const length = end - start - 2;
  if (length < name.length) return false;
  const isSame = (text: string) => (anyCase ? text.toLowerCase() : text) === name;
  if (length === name.length) return isSame(json.toString('latin1', start + 1, end - 1));
  const text = json.toString('utf8', start, end);
  return text.includes('\\') && isSame(JSON.parse(text));
}

function endOfValue(json: Buffer, start: number): number {
  if (json[start] === QUOTE) return endOfString(json, start);
  if (isOpening(json[start])) return endOfNested(json, start);
  let at = start;
  while (at < json.length && json[at] !== COMMA && !isClosing(json[at]) && !isBlank(json[at])) at++;
  return at;
}

function endOfNested(json: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfString(json, at) - 1;
    else if (isOpening(byte)) depth++;
    else if (isClosing(byte) && --depth === 0) return at + 1;
  }
  return json.length;
}

/** Up to so many bytes looking at each is faster than a native search, which begins slowly. */
const SHORT = 24;

/** Behind the closing quote of the string that starts at `start`. Where quotes are far from each other they are found natively. */
function endOfString(json: Buffer, start: number): number {
  for (let from = start + 1; ; ) {
    for (const near = from + SHORT; from <= near && from < json.length; from++) {
      if (json[from] === QUOTE) return from + 1;
      if (json[from] === BACKSLASH) from++;
    }
    const at = json.indexOf(QUOTE, from);
    if (at === -1) return json.length;
    if (!isEscaped(json, at, start)) return at + 1;
    from = at + 1;
  }
}

function isEscaped(json: Buffer, at: number, start: number): boolean {
  let first = at;
  while (first - 1 > start && json[first - 1] === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}

function skipBlank(json: Buffer, from: number): number {
  let at = from;
  while (isBlank(json[at])) at++;
  return at;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isOpening(byte: number | undefined): boolean {
  return byte === 0x7b || byte === 0x5b;
}

function isClosing(byte: number | undefined): boolean {
  return byte === 0x7d || byte === 0x5d;
}
