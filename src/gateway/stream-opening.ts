import { type JsonObject, parseJson } from '../base/json.ts';
import { type AttemptFailure, brokenStream } from '../upstream/provider-answer.ts';
import { isJsonObject } from './event-lines.ts';

/** How a stream begins. */
export type StreamOpening =
  /** Nothing yet, or only what keeps connections alive. */
  | { is: 'waiting' }
  /** With a payload that is no error. */
  | { is: 'begun'; first: JsonObject }
  | { is: 'failed'; failure: AttemptFailure };

export interface OpeningRules {
  isError(payload: JsonObject): boolean;
  failureOf(payload: JsonObject): AttemptFailure;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const FIELD = /^(?:data|event|id|retry)(?::|$)/;

/** Lines before the first payload, comments and empty ones included: no provider keeps a connection alive so often. */
const MAX_LINES = 20_000;
/** A frame over many lines is tried anew with each: what may be read in vain, in characters. */
const MAX_TRIED = 2 * 1024 * 1024;

/** Reads how a stream begins, line by line as they come; each line is looked at once. */
export class OpeningReader {
  readonly #rules: OpeningRules;
  #data = '';
  #lines = 0;
  #tried = 0;
  /** How many of the bytes that are held were looked at. */
  #read = 0;

  constructor(rules: OpeningRules) {
    this.#rules = rules;
  }

  /** How the stream begins. `lines`: all whole lines since the last `forget`, those of earlier calls included. */
  read(lines: Buffer): StreamOpening {
    while (this.#read < lines.length) {
      const start = this.#read;
      const end = lines.indexOf(LF, start);
      if (end === -1) break;
      this.#read = end + 1;
      if (++this.#lines > MAX_LINES) return failed('the stream does not begin');
      if (lines[start] === COLON) continue;
      const isEmpty = end === start || (end === start + 1 && lines[start] === CR);
      const opening = isEmpty ? this.#frameEnd() : this.#line(textOf(lines, start, end));
      if (opening) return opening;
    }
    return { is: 'waiting' };
  }

  /** What was looked at is held no longer. */
  forget(): void {
    this.#read = 0;
  }

  #frameEnd(): StreamOpening | undefined {
    return this.#data === '' ? undefined : failed('the stream begins with malformed JSON');
  }

  #line(line: string): StreamOpening | undefined {
    if (line === '') return this.#frameEnd();
    if (line.startsWith(':')) return undefined;
    if (!FIELD.test(line)) return failed('the answer is no event stream');
    if (!line.startsWith('data:')) return undefined;
    this.#data += `${this.#data === '' ? '' : '\n'}${line.slice('data:'.length).trim()}`;
    if (this.#data === '') return undefined;
    this.#tried += this.#data.length;
    // The first try is free: a frame that is whole is read once.
    if (this.#tried > this.#data.length && this.#tried > MAX_TRIED) {
      return failed('the stream begins with malformed JSON');
    }
    return openingWith(this.#data, this.#rules);
  }
}

/** A line without its end. */
function textOf(lines: Buffer, start: number, end: number): string {
  return lines.toString('utf8', start, lines[end - 1] === CR ? end - 1 : end).replace(/^\uFEFF/, '');
}

function openingWith(data: string, rules: OpeningRules): StreamOpening | undefined {
  if (data === '[DONE]') return failed('the stream is empty');
  if (!data.startsWith('{')) return failed('the stream begins with something else than JSON');
  const payload = parseJson(data);
  if (!isJsonObject(payload)) return undefined;
  return rules.isError(payload) ? { is: 'failed', failure: rules.failureOf(payload) } : { is: 'begun', first: payload };
}

/** What a stream's answer means that ended before it began. `rest`: all that came. */
export function failureOfUnopened(rest: string, rules: OpeningRules): AttemptFailure {
  const text = rest.trim();
  if (text.startsWith('<')) return brokenStream('an HTML page instead of a stream');
  const payload = text.startsWith('{') ? parseJson(text) : undefined;
  if (isJsonObject(payload) && rules.isError(payload)) return rules.failureOf(payload);
  return brokenStream(text === '' ? 'the stream is empty' : 'the answer is no event stream');
}

function failed(message: string): StreamOpening {
  return { is: 'failed', failure: brokenStream(message) };
}
