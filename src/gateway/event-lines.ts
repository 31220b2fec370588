import { isObject, type JsonObject, parseJson } from '../base/json.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const LETTER_D = 0x64;
const BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const DATA = 'data:';

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
  const check = lines.includes('error') ? isError : undefined;
  for (let start = 0; start < lines.length; ) {
    const end = lines.indexOf(LF, start);
    const next = end === -1 ? lines.length : end + 1;
    const looked = lines[start] === LETTER_D ? lookAtData(lines, { start, next }, check) : next;
    if (typeof looked !== 'number') return looked;
    start = looked;
  }
  return undefined;
}

type Range = { start: number; next: number };

/** What is wrong with a `data:` line, or where to go on. */
function lookAtData(lines: Buffer, line: Range, isError?: (payload: JsonObject) => boolean): Flaw | number {
  let from = line.start + DATA.length;
  while (lines[from] === SPACE) from++;
  if (lines[from] !== BRACE) return line.next;
  let to = line.next;
  while (to > from && isBlank(lines[to - 1])) to--;
  if (lines[to - 1] !== CLOSING_BRACE) return lookAtFrame(lines, line.start, isError);
  if (!isError || !lines.subarray(from, to).includes('error')) return line.next;
  const payload = parseJson(lines.toString('utf8', from, to));
  return isJsonObject(payload) && isError(payload) ? { is: 'error', payload, end: line.next } : line.next;
}

/** A frame may be spread over several `data:` lines; an empty line ends it. */
function lookAtFrame(lines: Buffer, start: number, isError?: (payload: JsonObject) => boolean): Flaw | number {
  const end = endOfFrame(lines, start);
  if (end === -1) return { is: 'unfinished', start };
  const data = lines
    .toString('utf8', start, end)
    .split('\n')
    .filter((line) => line.startsWith(DATA))
    .map((line) => line.slice(DATA.length));
  const payload = parseJson(data.join('\n'));
  if (payload === undefined) return { is: 'malformed', start };
  return isError && isJsonObject(payload) && isError(payload) ? { is: 'error', payload, end } : end;
}

function endOfFrame(lines: Buffer, start: number): number {
  const [plain, carriage] = [lines.indexOf('\n\n', start), lines.indexOf('\n\r\n', start)];
  return plain === -1 || carriage === -1 ? Math.max(plain, carriage) : Math.min(plain, carriage);
}

/** The last events in a piece of a stream, at most `most` of them. */
export function lastEvents(text: string, most: number): { done: boolean; payloads: JsonObject[] } {
  const payloads: JsonObject[] = [];
  let done = false;
  /** Lines of a frame whose first one was not met yet. */
  let rest: string[] = [];
  for (let end = text.length; end > 0 && payloads.length < most; ) {
    const start = text.lastIndexOf('\n', end - 1) + 1;
    const line = text.slice(start, end).trimEnd();
    end = start - 1;
    if (line === '') rest = [];
    if (!line.startsWith(DATA)) continue;
    const data = line.slice(DATA.length).trim();
    if (data === '[DONE]') {
      done = true;
      continue;
    }
    rest.unshift(data);
    const payload = data.startsWith('{') ? (parseJson(data) ?? parseJson(rest.join('\n'))) : undefined;
    if (!isJsonObject(payload)) continue;
    payloads.push(payload);
    rest = [];
  }
  return { done, payloads };
}

export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}

function isBlank(byte: number | undefined): boolean {
  return byte === LF || byte === CR || byte === SPACE;
}
