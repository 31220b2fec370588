import { isObject, type JsonObject, parseJson } from '../../base/json.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const LETTER_D = 0x64;
const QUOTE = 0x22;
const BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const DATA = 'data:';

/** What is wrong in a piece of a stream. */
export type Flaw =
  /** A frame that tells of an error; it ends at `end`. */
  | { is: 'error'; payload: JsonObject; end: number }
  /** A frame that goes from `start` to `end` and is not JSON. */
  | { is: 'malformed'; start: number; end: number }
  /** A frame that starts at `start` and goes on in what follows. */
  | { is: 'unfinished'; start: number };

/** The end of `"error"`: a search that starts with a rarer letter takes a third of the time. */
const ERROR = 'rror"';
/** A choice that ends says why; one that goes on says null. */
const ENDS = ['_reason":"', '_reason": "'];
const TELLING = [ERROR, ...ENDS].map((word) => Buffer.from(word));
/** Choices end where a stream does: words of ends are looked for in so many of the last bytes of a piece. */
const LAST_BYTES = 4096;

/** How the first key of an error begins that needs no `error`: message, msg, detail, base_resp, code, status, success, error_... */
const SUSPICIOUS = new Set(
  ['me', 'ms', 'de', 'ba', 'co', 'st', 'su', 'er'].map((letters) => Buffer.from(letters).readUInt16BE()),
);

/**
 * Looks for what must not pass unnoticed in whole lines of an event stream. Frames are not parsed: their braces, their
 * first key and the word "error" are looked at, and only what is suspicious is read.
 */
export function findFlaw(lines: Buffer, isError: (payload: JsonObject) => boolean): Flaw | undefined {
  const rules = { isError, telling: new Telling(lines) };
  for (let start = 0; start < lines.length; ) {
    const end = lines.indexOf(LF, start);
    const next = end === -1 ? lines.length : end + 1;
    const looked = lines[start] === LETTER_D ? lookAtData(lines, { start, next }, rules) : next;
    if (typeof looked !== 'number') return looked;
    start = looked;
  }
  return undefined;
}

type Range = { start: number; next: number };
type Rules = { isError(payload: JsonObject): boolean; telling: Telling };

/** Where words stand that may tell of an error: each is looked for once, however many frames there are. */
class Telling {
  readonly #lines: Buffer;
  /** The next place of each word; -1 where no more come. */
  readonly #next: number[];

  constructor(lines: Buffer) {
    this.#lines = lines;
    const last = Math.max(0, lines.length - LAST_BYTES);
    this.#next = TELLING.map((word, index) => lines.indexOf(word, index === 0 ? 0 : last));
  }

  /** Whether one stands there. Places are asked for in order. */
  within(from: number, to: number): boolean {
    return TELLING.some((word, index) => {
      let next = this.#next[index] ?? -1;
      if (next !== -1 && next < from) {
        next = this.#lines.indexOf(word, from);
        this.#next[index] = next;
      }
      return next !== -1 && next < to;
    });
  }
}

/** What is wrong with a `data:` line, or where to go on. */
function lookAtData(lines: Buffer, line: Range, rules: Rules): Flaw | number {
  let from = line.start + DATA.length;
  while (lines[from] === SPACE) from++;
  if (lines[from] !== BRACE) return line.next;
  let to = line.next;
  while (to > from && isBlank(lines[to - 1])) to--;
  if (lines[to - 1] !== CLOSING_BRACE) return lookAtFrame(lines, line.start, rules);
  const isRead = !beginsInnocently(lines, from) || rules.telling.within(from, to);
  if (!isRead) return line.next;
  const payload = parseJson(lines.toString('utf8', from, to));
  if (payload === undefined) return { is: 'malformed', start: line.start, end: line.next };
  return isJsonObject(payload) && rules.isError(payload) ? { is: 'error', payload, end: line.next } : line.next;
}

function beginsInnocently(lines: Buffer, brace: number): boolean {
  return lines[brace + 1] === QUOTE && !SUSPICIOUS.has(((lines[brace + 2] ?? 0) << 8) | (lines[brace + 3] ?? 0));
}

/** A frame may be spread over several `data:` lines; an empty line ends it. */
function lookAtFrame(lines: Buffer, start: number, { isError }: Rules): Flaw | number {
  const end = endOfFrame(lines, start);
  if (end === -1) return { is: 'unfinished', start };
  const data = lines
    .toString('utf8', start, end)
    .split('\n')
    .filter((line) => line.startsWith(DATA))
    .map((line) => line.slice(DATA.length));
  const payload = parseJson(data.join('\n'));
  if (payload === undefined) return { is: 'malformed', start, end };
  return isJsonObject(payload) && isError(payload) ? { is: 'error', payload, end } : end;
}

/** Whether there is a frame of JSON, as far as its braces tell. */
export function holdsPayload(lines: Buffer): boolean {
  return /(?:^|\n)data: *\{/.test(lines.toString('latin1'));
}

function endOfFrame(lines: Buffer, start: number): number {
  const [plain, carriage] = [lines.indexOf('\n\n', start), lines.indexOf('\n\r\n', start)];
  return plain === -1 || carriage === -1 ? Math.max(plain, carriage) : Math.min(plain, carriage);
}

/** Whether a stream that ends with `text` says so: its last line is `data: [DONE]`. */
export function saysDone(text: string): boolean {
  return /(?:^|\n)data: *\[DONE\]\s*$/.test(text.slice(-64));
}

/** Lines of one frame, and lines in all, that are looked at where a stream ends. */
const MOST_FRAME_LINES = 64;
const MOST_LINES = 4096;

/** The payloads of the last events in a piece of a stream, the last first, at most `most` of them. */
export function lastPayloads(text: string, most: number): JsonObject[] {
  const payloads: JsonObject[] = [];
  /** Lines of a frame whose first one was not met yet. */
  let rest: string[] = [];
  let looked = 0;
  for (let end = text.length; end > 0 && payloads.length < most && looked < MOST_LINES; looked += 1) {
    const start = text.lastIndexOf('\n', end - 1) + 1;
    const line = text.slice(start, end).trimEnd();
    end = start - 1;
    if (line === '') rest = [];
    if (!line.startsWith(DATA)) continue;
    const data = line.slice(DATA.length).trim();
    rest = [data, ...rest.slice(0, MOST_FRAME_LINES)];
    const payload = data.startsWith('{') ? (parseJson(data) ?? parseJson(rest.join('\n'))) : undefined;
    if (!isJsonObject(payload)) continue;
    payloads.push(payload);
    rest = [];
  }
  return payloads;
}

/** Payloads as the frames of a stream. */
export function framesOf(payloads: readonly JsonObject[]): string {
  return payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join('');
}

export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}

function isBlank(byte: number | undefined): boolean {
  return byte === LF || byte === CR || byte === SPACE;
}
