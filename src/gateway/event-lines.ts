import { isObject, type JsonObject, parseJson } from '../base/json.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const LETTER_D = 0x64;
const BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const DATA = 'data:';

/** A line `data: ...` of an event stream. */
export interface DataLine {
  /** Where the line starts, and where the one after it does. */
  start: number;
  next: number;
  text: string;
}

/** What is wrong in a piece of a stream. */
export type Flaw =
  /** A frame that tells of an error; it ends at `end`. */
  | { is: 'error'; payload: JsonObject; end: number }
  /** A frame that starts at `start` and is no JSON. */
  | { is: 'malformed'; start: number }
  /** A frame that starts at `start` and goes on in what follows. */
  | { is: 'unfinished'; start: number };

/**
 * Looks for what must not pass unnoticed in whole lines of an event stream. Frames are not parsed: their braces and
 * the word "error" are looked at, and only what is suspicious is read.
 */
export function findFlaw(lines: Buffer, isError: (payload: JsonObject) => boolean): Flaw | undefined {
  const mayTellOfError = lines.includes('error');
  for (let start = 0; start < lines.length; ) {
    const end = lines.indexOf(LF, start);
    const next = end === -1 ? lines.length : end + 1;
    if (lines[start] === LETTER_D) {
      const flaw = flawOfLine(lines, { start, next }, mayTellOfError ? isError : undefined);
      if (flaw) return flaw;
    }
    start = next;
  }
  return undefined;
}

type Range = { start: number; next: number };

function flawOfLine(lines: Buffer, line: Range, isError?: (payload: JsonObject) => boolean): Flaw | undefined {
  let from = line.start + DATA.length;
  while (lines[from] === SPACE) from++;
  if (lines[from] !== BRACE) return undefined;
  let to = line.next;
  while (to > from && isBlank(lines[to - 1])) to--;
  if (lines[to - 1] !== CLOSING_BRACE) return flawOfFrame(lines, line.start);
  if (!isError || !lines.subarray(from, to).includes('error')) return undefined;
  const payload = parseJson(lines.toString('utf8', from, to));
  return isJsonObject(payload) && isError(payload) ? { is: 'error', payload, end: line.next } : undefined;
}

/** A frame may be spread over several `data:` lines; an empty line ends it. */
function flawOfFrame(lines: Buffer, start: number): Flaw | undefined {
  const texts: string[] = [];
  for (const line of dataLines(lines.subarray(start))) {
    texts.push(line.text);
    if (parseJson(texts.join('\n')) !== undefined) return undefined;
  }
  const rest = lines.toString('utf8', start);
  return /\n\r?\n/.test(rest) ? { is: 'malformed', start } : { is: 'unfinished', start };
}

/** The `data:` lines of the first frame in `lines`, to the empty line that ends it. */
function* dataLines(lines: Buffer): Generator<DataLine> {
  for (let start = 0; start < lines.length; ) {
    const end = lines.indexOf(LF, start);
    const next = end === -1 ? lines.length : end + 1;
    const text = lines.toString('utf8', start, end === -1 ? next : end).trimEnd();
    if (text === '') return;
    if (text.startsWith(DATA)) yield { start, next, text: text.slice(DATA.length).trimStart() };
    start = next;
  }
}

/** The last events in a piece of a stream, at most `most` of them. */
export function lastEvents(text: string, most: number): { done: boolean; payloads: JsonObject[] } {
  const payloads: JsonObject[] = [];
  let done = false;
  let end = text.length;
  while (end > 0 && payloads.length < most) {
    const start = text.lastIndexOf('\n', end - 1) + 1;
    const line = text.slice(start, end).trimEnd();
    end = start - 1;
    if (!line.startsWith(DATA)) continue;
    const data = line.slice(DATA.length).trim();
    if (data === '[DONE]') done = true;
    const payload = data.startsWith('{') ? parseJson(data) : undefined;
    if (isJsonObject(payload)) payloads.push(payload);
  }
  return { done, payloads };
}

export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}

function isBlank(byte: number | undefined): boolean {
  return byte === LF || byte === CR || byte === SPACE;
}
