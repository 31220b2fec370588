import { type JsonValue, parseJson } from '../../base/json.ts';

/** A range of bytes from `start` up to but not including `end`. */
export interface Span {
  start: number;
  end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;

/**
 * Finds the values of a top-level field in a JSON object, in order: several if the name is repeated, also with escapes;
 * with `anyCase` also in other cases, which some providers treat as the same field (those in Go and .NET). A value can
 * then be replaced without parsing and serialising the rest, which keeps big integers intact. `json` must be valid, and
 * `name` in lower case.
 */
export function topLevelSpans(json: Buffer, name: string, { anyCase = false } = {}): Span[] {
  const spans: Span[] = [];
  eachMember(json, (key, value) => {
    if (isName(json, key, name, anyCase)) spans.push(value);
  });
  return spans;
}

/** As `topLevelSpans`, for several names in one scan. */
export function spansByName<N extends string>(json: Buffer, names: readonly N[]): Record<N, Span[]> {
  const spans = Object.fromEntries(names.map((name): [string, Span[]] => [name, []])) as Record<N, Span[]>;
  eachMember(json, (key, value) => {
    for (const name of names) if (isName(json, key, name)) spans[name].push(value);
  });
  return spans;
}

/** Removes a field from a JSON object and keeps every other value as it was written. `json` must be valid. */
export function withoutField(json: Buffer, name: string): Buffer {
  const members: string[] = [];
  eachMember(json, (key, value) => {
    if (!isName(json, key, name)) members.push(json.toString('utf8', key.start, value.end));
  });
  return Buffer.from(`{${members.join(',')}}`);
}

/** Calls back with the spans of each member of an object: its name, including the quotes, and its value. */
function eachMember(json: Buffer, onMember: (key: Span, value: Span) => void): void {
  let at = skipBlank(json, 0) + 1;
  for (;;) {
    const start = skipBlank(json, at);
    if (json[start] !== QUOTE) return;
    const end = endOfString(json, start);
    at = skipBlank(json, end);
    if (json[at] !== COLON) return;
    const valueStart = skipBlank(json, at + 1);
    const valueEnd = endOfValue(json, valueStart);
    onMember({ start, end }, { start: valueStart, end: valueEnd });
    at = skipBlank(json, valueEnd);
    if (json[at] !== COMMA) return;
    at++;
  }
}

/** Longer strings are cut when JSON is abridged, to `ABRIDGED_BYTES`; in bytes. */
const LONG_STRING = 4096;
const ABRIDGED_BYTES = 256;

/**
 * Cuts the long strings in JSON, so that parsing it costs only as much as its short values, whatever images or long
 * answers it contains. Malformed JSON stays malformed.
 */
export function abridgeJson(json: Buffer): Buffer {
  const pieces: Buffer[] = [];
  let from = 0;
  for (let at = 0; at < json.length; at++) {
    if (json[at] !== QUOTE) continue;
    const end = endOfString(json, at);
    if (end - at > LONG_STRING && json[end - 1] === QUOTE) {
      const beginning = json.subarray(at + 1, at + 1 + ABRIDGED_BYTES);
      // The cut may split an escape, which would be invalid JSON.
      pieces.push(json.subarray(from, at + 1), beginning.includes(BACKSLASH) ? Buffer.from('...') : beginning);
      from = end - 1;
    }
    at = end - 1;
  }
  return pieces.length === 0 ? json : Buffer.concat([...pieces, json.subarray(from)]);
}

/** What makes parsing JSON expensive, besides its length. */
export interface JsonShape {
  /** Nesting depth of arrays and objects. */
  depth: number;
  /** Number of arrays and objects. */
  containers: number;
  members: number;
  /** Number of commas: of array entries and object members after the first. */
  entries: number;
}

/** Measures the shape of valid JSON without parsing it; stops once a limit is exceeded. */
export function measureShape(json: Buffer, limit: JsonShape): JsonShape {
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

/** Whether the shape of valid JSON stays within a limit. */
export function fitsShape(json: Buffer, limit: JsonShape): boolean {
  const { depth, containers, members, entries } = measureShape(json, limit);
  return depth <= limit.depth && containers <= limit.containers && members <= limit.members && entries <= limit.entries;
}

/** The limits for JSON of other services. Beyond them parsing blocks the event loop for a tenth of a second or more. */
const READABLE: JsonShape = { depth: 100, containers: 50_000, members: 100_000, entries: 200_000 };
/** JSON up to this length is not checked; in bytes or UTF-16 code units. */
const ALWAYS_READABLE = 4096;

/** Whether JSON of another service is small and flat enough to be parsed, as every genuine answer is. */
export function isWithinJsonLimits(json: string | Buffer): boolean {
  if (json.length <= ALWAYS_READABLE || isFlat(json)) return true;
  return fitsShape(typeof json === 'string' ? Buffer.from(json) : json, READABLE);
}

/** Whether JSON has so few brackets, as a vector has, that it needs no scan: scanning takes twice as long as parsing it. */
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

/** Parses JSON of another service; undefined if it is malformed or exceeds the limits. */
export function parseLimitedJson(text: string): JsonValue | undefined {
  return isWithinJsonLimits(text) ? parseJson(text) : undefined;
}

/** Whether a key is `name`. `name` is ASCII and escapes only make it longer, so the length rules out most other keys. */
function isName(json: Buffer, { start, end }: Span, name: string, anyCase = false): boolean {
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

/** For this many bytes a loop is faster than a native search, which is slow to start. */
const LOOP_BYTES = 24;

/** The position after the closing quote of the string that starts at `start`. A distant quote is found natively. */
function endOfString(json: Buffer, start: number): number {
  for (let from = start + 1; ; ) {
    for (const near = from + LOOP_BYTES; from <= near && from < json.length; from++) {
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
