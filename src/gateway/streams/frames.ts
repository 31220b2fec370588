import { isJsonObject, type JsonObject, parseJson } from '../../base/json.ts';
import { abridged, isReadable, parseReadable } from '../../protocol/requests/json-spans.ts';

export const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
export const LETTER_D = 0x64;
const LETTER_E = 0x65;
const QUOTE = 0x22;
const BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const DATA = 'data:';
const ERROR_EVENT = /^event: *error$/;
/** The longest line that names an event an error, in bytes. */
const LONGEST_NAME = 24;
const FIELD = /^(?:data|event|id|retry)(?::|$)/;

/** Longer frames are read without their long strings, in bytes. */
export const LONG_FRAME = 1024 * 1024;
/** The longest frame over several lines, in bytes: it is looked at anew with each line that comes. */
export const MAX_SPREAD = 128 * 1024;

/** What is wrong with a frame that is not readable. */
export const TOO_MANY_VALUES = 'a frame holds too many values';

/** Lines of one frame that are looked at, where it is read from its end or is named an error. */
const MOST_FRAME_LINES = 64;

/** What stands in whole lines of a stream from `start` to `end`. */
export type Frame = Flaw | { is: 'comment' | 'field' | 'done' | 'text' | 'stray'; start: number; end: number };

/** A frame that may spoil a stream: it reports something, is malformed, or goes on in what follows. */
export type Flaw =
  | { is: 'payload'; payload: JsonObject; start: number; end: number }
  /** It says itself that it is an error. `said`: what stands there, if that is a JSON object. */
  | { is: 'error'; payload: JsonObject; said?: JsonObject; start: number; end: number }
  /** `unreadable`: it holds more values than an answer has. */
  | { is: 'malformed' | 'unfinished' | 'unreadable'; start: number; end: number };

/**
 * Reads the frame that begins with a line. An empty line is a comment; `text`: data that is no JSON object; `stray`: no
 * part of an event.
 */
export function frameAt(lines: Buffer, start: number): Frame {
  const end = lineEnd(lines, start);
  if (lines[start] === COLON) return { is: 'comment', start, end };
  const line = lines
    .toString('utf8', start, end)
    .replace(/^\uFEFF/, '')
    .trimEnd();
  if (line === '') return { is: 'comment', start, end };
  if (!FIELD.test(line)) return { is: 'stray', start, end };
  if (ERROR_EVENT.test(line)) return errorAt(lines, { start, from: end });
  const data = line.startsWith(DATA) ? line.slice(DATA.length).trim() : '';
  if (data === '') return { is: 'field', start, end };
  if (data === '[DONE]') return { is: 'done', start, end };
  if (!data.startsWith('{')) return errorInList(data, { start, end }) ?? { is: 'text', start, end };
  if (data.endsWith('}')) return parsed(data, start, end);
  // It may be spread over several lines; an empty one ends it.
  const close = endOfFrame(lines, start);
  if (close === -1) return { is: 'unfinished', start, end: lines.length };
  const spread = lines
    .toString('utf8', start, close)
    .split('\n')
    .filter((each) => each.startsWith(DATA));
  return parsed(spread.map((each) => each.slice(DATA.length)).join('\n'), start, close);
}

/** Whatever an event says that is named an error. It ends with an empty line. */
function errorAt(lines: Buffer, { start, from }: { start: number; from: number }): Frame {
  let looked = 0;
  for (let at = from; at < lines.length; at = lineEnd(lines, at)) {
    if (++looked > MOST_FRAME_LINES) return { is: 'error', payload: errorOf(''), start, end: at };
    if (lines[at] === LETTER_D) {
      const frame = frameAt(lines, at);
      if (frame.is === 'unfinished') return { ...frame, start };
      if (frame.is === 'field') continue;
      const { end } = frame;
      if (frame.is !== 'payload') return { is: 'error', payload: errorOf(lines.toString('utf8', at, end)), start, end };
      const { payload: said } = frame;
      return { is: 'error', payload: said.error ? said : { error: said }, said, start, end };
    }
    const end = lineEnd(lines, at);
    if (isBlankLine(lines, { start: at, end })) return { is: 'error', payload: errorOf(''), start, end };
  }
  return { is: 'unfinished', start, end: lines.length };
}

function errorOf(line: string): JsonObject {
  return { error: { message: line.slice(DATA.length).trim() } };
}

/** An error that comes as a list, as Gemini's do. */
function errorInList(data: string, place: { start: number; end: number }): Frame | undefined {
  const list = data.startsWith('[') ? parseReadable(data) : undefined;
  const first = Array.isArray(list) ? list[0] : undefined;
  return isJsonObject(first) && first.error ? { is: 'error', payload: first, ...place } : undefined;
}

function parsed(data: string, start: number, end: number): Frame {
  const read = data.length > LONG_FRAME ? abridged(Buffer.from(data)).toString('utf8') : data;
  if (!isReadable(read)) return { is: 'unreadable', start, end };
  const payload = parseJson(read);
  return isJsonObject(payload) ? { is: 'payload', payload, start, end } : { is: 'malformed', start, end };
}

/** The end of `"error"`: a search that starts with a rarer letter takes a third of the time. */
const ERROR = Buffer.from('rror"');
/** A choice that ends says why; one that goes on says null. */
const ENDS = ['_reason":"', '_reason": "'].map((word) => Buffer.from(word));
/** Choices end where a stream does: words of ends are looked for in so many of the last bytes of a piece. */
const LAST_BYTES = 4096;

/** How the first key of an error begins that needs no `error`: message, msg, detail, base_resp, code, status, success, error_... */
const SUSPICIOUS = new Set(
  ['me', 'ms', 'de', 'ba', 'co', 'st', 'su', 'er'].map((letters) => Buffer.from(letters).readUInt16BE()),
);

/**
 * Looks for what must not pass unnoticed in whole lines of an event stream: a frame that is an error or no JSON, or
 * is unfinished. Only what is suspicious by its braces, its first key or the word "error" is read; `isError` sees each
 * payload of those, the last of a choice among them.
 */
export function findFlaw(lines: Buffer, isError: (payload: JsonObject) => boolean): Flaw | undefined {
  let word = nextWord(lines, 0);
  for (let start = 0; start < lines.length; ) {
    // Every other line is empty: a search for its end would take longer than all else.
    if (lines[start] === LF) {
      start++;
      continue;
    }
    const end = lineEnd(lines, start);
    if (word < start) word = nextWord(lines, start);
    const first = lines[start];
    if (first === LETTER_D ? !isSuspicious(lines, { start, end, word }) : !isOdd(first, end - start)) {
      start = end;
      continue;
    }
    const frame = frameAt(lines, start);
    if (frame.is === 'malformed' || frame.is === 'unfinished' || frame.is === 'unreadable') return frame;
    if (frame.is === 'error' || (frame.is === 'payload' && isError(frame.payload))) return frame;
    const bare = frame.is === 'stray' ? parseReadable(lines.toString('utf8', start, end)) : undefined;
    if (isJsonObject(bare) && isError(bare)) return { is: 'error', payload: bare, start, end };
    start = frame.end;
  }
  return undefined;
}

/** Where the next word stands that may tell of an error: each is looked for once, however many frames there are. */
function nextWord(lines: Buffer, from: number): number {
  const last = Math.max(from, lines.length - LAST_BYTES);
  const places = [lines.indexOf(ERROR, from), ...ENDS.map((word) => lines.indexOf(word, last))];
  return Math.min(...places.map((place) => (place === -1 ? Number.POSITIVE_INFINITY : place)));
}

/** Whether a line without data may tell of an error: by the name of its event, or as bare JSON. */
function isOdd(first: number | undefined, length: number): boolean {
  return (first === LETTER_E && length <= LONGEST_NAME) || first === BRACE;
}

function isSuspicious(lines: Buffer, { start, end, word }: { start: number; end: number; word: number }): boolean {
  let from = start + DATA.length;
  while (lines[from] === SPACE) from++;
  if (lines[from] !== BRACE) return lines[from] === BRACKET && lines[from + 1] === BRACE;
  let to = end;
  while (to > from && isBlank(lines[to - 1])) to--;
  if (lines[to - 1] !== CLOSING_BRACE || lines[from + 1] !== QUOTE) return true;
  return word < end || SUSPICIOUS.has(((lines[from + 2] ?? 0) << 8) | (lines[from + 3] ?? 0));
}

/** The payloads of whole frames. */
export function* payloadsIn(lines: Buffer): Generator<JsonObject> {
  for (let start = 0; start < lines.length; ) {
    const frame = frameAt(lines, start);
    if (frame.is === 'payload') yield frame.payload;
    start = frame.end;
  }
}

/** Whether this is a frame of JSON, by its braces. */
export function holdsPayload(lines: Buffer): boolean {
  return /(?:^|\n)data: *\{/.test(lines.toString('latin1'));
}

/** The bytes in which the `[DONE]` of a stream stands. */
const LAST_LINE = 64;

/** Whether a stream that ends with `text` says so: its last line is `data: [DONE]`. */
export function saysDone(text: string): boolean {
  return /(?:^|\n)data: *\[DONE\]\s*$/.test(text.slice(-LAST_LINE));
}

/** The same of whole lines: most are ruled out by their last byte. */
export function endsWithDone(lines: Buffer): boolean {
  let end = lines.length;
  while (isBlank(lines[end - 1])) end--;
  return lines[end - 1] === CLOSING_BRACKET && saysDone(lines.toString('latin1', Math.max(0, end - LAST_LINE), end));
}

/** Lines that are looked at where a stream ends. */
const MOST_LINES = 4096;

/** The payloads of the last events in a piece of a stream, the last first, at most `most` of them. */
export function lastPayloads(text: string, most: number): JsonObject[] {
  return payloadsFromEnd(text)
    .take(most)
    .map(({ payload }) => payload)
    .toArray();
}

/**
 * The payloads in a piece of a stream, the last first, and where in `text` each ends. `holding`: others than those whose JSON
 * matches this are not read.
 */
export function* payloadsFromEnd(text: string, holding?: RegExp): Generator<{ payload: JsonObject; end: number }> {
  /** Lines of a frame whose first one was not met yet. */
  let rest: string[] = [];
  let behind = text.length;
  let looked = 0;
  for (let end = text.length; end > 0 && looked < MOST_LINES; looked += 1) {
    const start = text.lastIndexOf('\n', end - 1) + 1;
    const line = text.slice(start, end).trimEnd();
    if (line === '') rest = [];
    if (rest.length === 0) behind = end;
    end = start - 1;
    if (!line.startsWith(DATA)) continue;
    const data = line.slice(DATA.length).trim();
    rest = [data, ...rest.slice(0, MOST_FRAME_LINES)];
    if (!data.startsWith('{')) continue;
    const payload =
      holding && !holding.test(rest.join('\n')) ? undefined : (parseReadable(data) ?? parseReadable(rest.join('\n')));
    if (!isJsonObject(payload)) continue;
    yield { payload, end: behind };
    rest = [];
  }
}

/** Payloads as the frames of a stream. */
export function framesOf(payloads: readonly JsonObject[]): string {
  return payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join('');
}

/** Lines that end with a carriage return alone, as the standard allows, get the end that all others have. */
export function endLines(lines: Buffer): void {
  for (let at = lines.indexOf(CR); at !== -1; at = lines.indexOf(CR, at + 1)) lines[at] = LF;
}

/** Whether a line of these ends with a carriage return alone. */
export function endsInReturns(lines: Buffer): boolean {
  const at = lines.indexOf(CR);
  return at !== -1 && at + 1 < lines.length && lines[at + 1] !== LF;
}

/** Behind the line that begins at `start`. */
export function lineEnd(lines: Buffer, start: number): number {
  const end = lines.indexOf(LF, start);
  return end === -1 ? lines.length : end + 1;
}

function endOfFrame(lines: Buffer, start: number): number {
  const [plain, carriage] = [lines.indexOf('\n\n', start), lines.indexOf('\n\r\n', start)];
  return plain === -1 || carriage === -1 ? Math.max(plain, carriage) : Math.min(plain, carriage);
}

function isBlankLine(lines: Buffer, { start, end }: { start: number; end: number }): boolean {
  for (let at = start; at < end; at++) if (!isBlank(lines[at])) return false;
  return true;
}

function isBlank(byte: number | undefined): boolean {
  return isLineEnd(byte) || byte === SPACE;
}

export function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}
