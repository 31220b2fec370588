import { isJsonObject, type JsonObject, parseJson } from '../../base/json.ts';
import { abridgeJson, isWithinJsonLimits, parseLimitedJson } from '../../protocol/requests/json-spans.ts';

export const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const COLON = 0x3a;
const LETTER_D = 0x64;
const LETTER_E = 0x65;
const QUOTE = 0x22;
const BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const DATA = 'data:';
const ERROR_EVENT = /^event: *error$/;
/** The longest `event: error` line, in bytes. */
const MAX_ERROR_EVENT_LINE = 24;
const FIELD = /^(?:data|event|id|retry)(?::|$)/;

/** Long strings are dropped from frames above this size before they are parsed, in bytes. */
export const LONG_FRAME = 1024 * 1024;
/** The longest frame over several lines, in bytes: it is read again with each line that arrives. */
export const MAX_MULTILINE_FRAME = 128 * 1024;

/** The failure of an `unreadable` frame. */
export const TOO_MANY_VALUES = 'a frame holds too many values';

/** The most lines that are read of a frame from its end, or of an error event. */
const MAX_FRAME_LINES = 64;

/** The frame, or line, between `start` and `end`. */
export type Frame = Flaw | { is: 'comment' | 'field' | 'done' | 'text' | 'stray'; start: number; end: number };

/** A frame that may spoil a stream: it carries a payload, is malformed, or is not finished yet. */
export type Flaw =
  | { is: 'payload'; payload: JsonObject; start: number; end: number }
  /** An event that calls itself an error. `sent`: its data, if that is a JSON object. */
  | { is: 'error'; payload: JsonObject; sent?: JsonObject; start: number; end: number }
  /** `unreadable`: it has more values than any answer. */
  | { is: 'malformed' | 'unfinished' | 'unreadable'; start: number; end: number };

/**
 * Reads the frame that begins at `start`. An empty line counts as a comment. `text`: data other than a JSON object;
 * `stray`: a line that belongs to no event.
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
  if (data.endsWith('}')) return parsePayload(data, start, end);
  // The data may continue on further lines, up to an empty one.
  const close = endOfFrame(lines, start);
  if (close === -1) return { is: 'unfinished', start, end: lines.length };
  const dataLines = lines
    .toString('utf8', start, close)
    .split('\n')
    .filter((each) => each.startsWith(DATA));
  return parsePayload(dataLines.map((each) => each.slice(DATA.length)).join('\n'), start, close);
}

/** Reads an event named `error`, which ends with an empty line. */
function errorAt(lines: Buffer, { start, from }: { start: number; from: number }): Frame {
  let linesRead = 0;
  for (let at = from; at < lines.length; at = lineEnd(lines, at)) {
    if (++linesRead > MAX_FRAME_LINES) return { is: 'error', payload: errorOf(''), start, end: at };
    if (lines[at] === LETTER_D) {
      const frame = frameAt(lines, at);
      if (frame.is === 'unfinished') return { ...frame, start };
      if (frame.is === 'field') continue;
      const { end } = frame;
      if (frame.is !== 'payload') return { is: 'error', payload: errorOf(lines.toString('utf8', at, end)), start, end };
      const { payload: sent } = frame;
      return { is: 'error', payload: sent.error ? sent : { error: sent }, sent, start, end };
    }
    const end = lineEnd(lines, at);
    if (isBlankLine(lines, { start: at, end })) return { is: 'error', payload: errorOf(''), start, end };
  }
  return { is: 'unfinished', start, end: lines.length };
}

function errorOf(line: string): JsonObject {
  return { error: { message: line.slice(DATA.length).trim() } };
}

/** An error inside a list: Gemini sends those. */
function errorInList(data: string, place: { start: number; end: number }): Frame | undefined {
  const list = data.startsWith('[') ? parseLimitedJson(data) : undefined;
  const first = Array.isArray(list) ? list[0] : undefined;
  return isJsonObject(first) && first.error ? { is: 'error', payload: first, ...place } : undefined;
}

function parsePayload(data: string, start: number, end: number): Frame {
  const read = data.length > LONG_FRAME ? abridgeJson(Buffer.from(data)).toString('utf8') : data;
  if (!isWithinJsonLimits(read)) return { is: 'unreadable', start, end };
  const payload = parseJson(read);
  return isJsonObject(payload) ? { is: 'payload', payload, start, end } : { is: 'malformed', start, end };
}

/** The end of `"error"`: searching for a rarer first letter takes a third of the time. */
const ERROR_WORD = Buffer.from('rror"');
/** Finish reasons: a choice that goes on has null instead of a string. */
const FINISH_WORDS = ['_reason":"', '_reason": "'].map((word) => Buffer.from(word));
/** Finish reasons come at the end of a stream, so they are searched for in the last bytes of a piece only. */
const FINISH_WINDOW = 4096;

/** How the first key of an error without `error` starts: message, msg, detail, base_resp, code, status, success, error_... */
const ERROR_KEY_STARTS = new Set(
  ['me', 'ms', 'de', 'ba', 'co', 'st', 'su', 'er'].map((letters) => Buffer.from(letters).readUInt16BE()),
);

/**
 * Finds the first frame that must not be relayed unchecked in whole lines of a stream: an error, malformed JSON, or an
 * unfinished frame. To be fast it parses only frames that are suspicious by their braces, their first key, the word
 * "error" or a finish reason. `isError` gets each payload that is parsed.
 */
export function findFlaw(lines: Buffer, isError: (payload: JsonObject) => boolean): Flaw | undefined {
  let word = nextSuspiciousWord(lines, 0);
  for (let start = 0; start < lines.length; ) {
    // Every other line is empty, and searching for its end would dominate the cost.
    if (lines[start] === LF) {
      start++;
      continue;
    }
    const end = lineEnd(lines, start);
    if (word < start) word = nextSuspiciousWord(lines, start);
    const first = lines[start];
    if (first === LETTER_D ? !isSuspiciousData(lines, { start, end, word }) : !isSuspiciousField(first, end - start)) {
      start = end;
      continue;
    }
    const frame = frameAt(lines, start);
    if (frame.is === 'malformed' || frame.is === 'unfinished' || frame.is === 'unreadable') return frame;
    if (frame.is === 'error' || (frame.is === 'payload' && isError(frame.payload))) return frame;
    const bare = frame.is === 'stray' ? parseLimitedJson(lines.toString('utf8', start, end)) : undefined;
    if (isJsonObject(bare) && isError(bare)) return { is: 'error', payload: bare, start, end };
    start = frame.end;
  }
  return undefined;
}

/** The position of the next suspicious word. Each is searched for once, however many frames there are. */
function nextSuspiciousWord(lines: Buffer, from: number): number {
  const last = Math.max(from, lines.length - FINISH_WINDOW);
  const places = [lines.indexOf(ERROR_WORD, from), ...FINISH_WORDS.map((word) => lines.indexOf(word, last))];
  return Math.min(...places.map((place) => (place === -1 ? Number.POSITIVE_INFINITY : place)));
}

/** Whether a line other than `data:` may be an error: an event name, or bare JSON. */
function isSuspiciousField(first: number | undefined, length: number): boolean {
  return (first === LETTER_E && length <= MAX_ERROR_EVENT_LINE) || first === BRACE;
}

function isSuspiciousData(lines: Buffer, { start, end, word }: { start: number; end: number; word: number }): boolean {
  let from = start + DATA.length;
  while (lines[from] === SPACE) from++;
  if (lines[from] !== BRACE) return lines[from] === BRACKET && lines[from + 1] === BRACE;
  let to = end;
  while (to > from && isBlank(lines[to - 1])) to--;
  if (lines[to - 1] !== CLOSING_BRACE || lines[from + 1] !== QUOTE) return true;
  return word < end || ERROR_KEY_STARTS.has(((lines[from + 2] ?? 0) << 8) | (lines[from + 3] ?? 0));
}

/** The payloads of whole frames. */
export function* payloadsIn(lines: Buffer): Generator<JsonObject> {
  for (let start = 0; start < lines.length; ) {
    const frame = frameAt(lines, start);
    if (frame.is === 'payload') yield frame.payload;
    start = frame.end;
  }
}

/** Whether any frame looks like JSON, by its opening brace. */
export function holdsPayload(lines: Buffer): boolean {
  return /(?:^|\n)data: *\{/.test(lines.toString('latin1'));
}

/** How far from the end of a stream its `[DONE]` may be, in bytes. */
export const DONE_WINDOW = 64;

/** Whether the last line is `data: [DONE]`. */
export function endsWithDoneText(text: string): boolean {
  return /(?:^|\n)data:\s*\[DONE\]$/.test(text.trimEnd().slice(-DONE_WINDOW));
}

/** As `endsWithDoneText`, for bytes: most are ruled out by their last byte. */
export function endsWithDone(lines: Buffer): boolean {
  let end = lines.length;
  while (isBlank(lines[end - 1])) end--;
  return (
    lines[end - 1] === CLOSING_BRACKET &&
    endsWithDoneText(lines.toString('latin1', Math.max(0, end - DONE_WINDOW), end))
  );
}

/** Lines without the line ends after them. */
export function withoutLineEnd(lines: Buffer): Buffer {
  let end = lines.length;
  while (end > 0 && isLineEnd(lines[end - 1])) end--;
  return lines.subarray(0, end);
}

/** Whether the last event, which may be unfinished, is a long one. */
export function endsWithLongEvent(bytes: Buffer): boolean {
  const { length } = withoutLineEnd(bytes);
  const start = bytes.subarray(0, length).lastIndexOf(LF) + 1;
  return length - start > LONG_FRAME && bytes.toString('latin1', start, start + DATA.length) === DATA;
}

/** The most lines that are read from the end of a stream. */
const MAX_TAIL_LINES = 4096;

/** The payloads of the last events in a piece of a stream, the last first, at most `max` of them. */
export function lastPayloads(text: string, max: number): JsonObject[] {
  return payloadsFromEnd(text)
    .take(max)
    .map(({ payload }) => payload)
    .toArray();
}

/**
 * The payloads in a piece of a stream, the last first, and where in `text` each ends. `matching`: parses only those whose
 * JSON matches this.
 */
export function* payloadsFromEnd(text: string, matching?: RegExp): Generator<{ payload: JsonObject; end: number }> {
  /** The lines of a frame whose first line has not been reached. */
  let rest: string[] = [];
  let frameEnd = text.length;
  let linesRead = 0;
  for (let end = text.length; end > 0 && linesRead < MAX_TAIL_LINES; linesRead += 1) {
    const start = text.lastIndexOf('\n', end - 1) + 1;
    const line = text.slice(start, end).trimEnd();
    if (line === '') rest = [];
    if (rest.length === 0) frameEnd = end;
    end = start - 1;
    if (!line.startsWith(DATA)) continue;
    const data = line.slice(DATA.length).trim();
    rest = [data, ...rest.slice(0, MAX_FRAME_LINES)];
    if (!data.startsWith('{')) continue;
    const payload =
      matching && !matching.test(rest.join('\n'))
        ? undefined
        : (parseLimitedJson(data) ?? parseLimitedJson(rest.join('\n')));
    if (!isJsonObject(payload)) continue;
    yield { payload, end: frameEnd };
    rest = [];
  }
}

/** Payloads as the frames of a stream. Anthropic's SDKs read an error only in an event of that name. */
export function framesOf(payloads: readonly JsonObject[]): string {
  const named = (payload: JsonObject) => (payload.type === 'error' ? 'event: error\n' : '');
  return payloads.map((payload) => `${named(payload)}data: ${JSON.stringify(payload)}\n\n`).join('');
}

/** Replaces carriage returns, which the standard allows as line ends, by line feeds. */
export function replaceReturns(lines: Buffer): void {
  for (let at = lines.indexOf(CR); at !== -1; at = lines.indexOf(CR, at + 1)) lines[at] = LF;
}

/** Whether a line of these ends with a carriage return alone. */
export function hasBareReturn(lines: Buffer): boolean {
  const at = lines.indexOf(CR);
  return at !== -1 && at + 1 < lines.length && lines[at + 1] !== LF;
}

/** The position after the line that begins at `start`. */
export function lineEnd(lines: Buffer, start: number): number {
  const end = lines.indexOf(LF, start);
  return end === -1 ? lines.length : end + 1;
}

function endOfFrame(lines: Buffer, start: number): number {
  const [plain, carriage] = [lines.indexOf('\n\n', start), lines.indexOf('\n\r\n', start)];
  return plain === -1 || carriage === -1 ? Math.max(plain, carriage) : Math.min(plain, carriage);
}

export function isBlankLine(lines: Buffer, { start, end }: { start: number; end: number }): boolean {
  for (let at = start; at < end; at++) if (!isBlank(lines[at])) return false;
  return true;
}

function isBlank(byte: number | undefined): boolean {
  return isLineEnd(byte) || byte === SPACE || byte === TAB;
}

export function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}
