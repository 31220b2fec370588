import { type JsonObject, parseJson } from '../../base/json.ts';
import { type AttemptFailure, brokenStream } from '../../upstream/provider-answer.ts';
import type { ProviderTarget } from '../../upstream/provider-target.ts';
import { isJsonObject } from './event-lines.ts';
import { judge, type StreamKind } from './stream-kind.ts';

/** How a stream begins. */
export type StreamOpening =
  /** Nothing yet, only what keeps connections alive, or payloads that say nothing. */
  | { is: 'waiting' }
  /** With content. `first`: the first payload, which may have come before. */
  | { is: 'begun'; first: JsonObject }
  | { is: 'failed'; failure: AttemptFailure };

export interface OpeningRules {
  kind: StreamKind;
  target: Pick<ProviderTarget, 'failureOfStreamError'>;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const FIELD = /^(?:data|event|id|retry)(?::|$)/;

/** Lines before the first content, comments and empty ones included: no provider keeps a connection alive so often. */
const MAX_LINES = 20_000;
/** The longest frame, in bytes: each is read, and a longer one takes too long. */
const MAX_FRAME = 1024 * 1024;
/** A frame over many lines is tried anew with each: what may be read in vain, in characters. */
const MAX_TRIED = 2 * 1024 * 1024;

/** Reads how a stream begins, line by line as they come; each line is looked at once. */
export class OpeningReader {
  readonly #rules: OpeningRules;
  #data = '';
  #first: JsonObject | undefined;
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
      if (end - start + this.#data.length > MAX_FRAME) return failed('a frame is too long');
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
    return this.#frame(this.#data);
  }

  #frame(data: string): StreamOpening | undefined {
    if (data === '[DONE]') return failed(this.#first ? EMPTY : 'the stream is empty');
    if (!data.startsWith('{')) return failed('the stream begins with something else than JSON');
    const payload = parseJson(data);
    if (!isJsonObject(payload)) return undefined;
    const { kind, target } = this.#rules;
    this.#first ??= payload;
    this.#data = '';
    this.#tried = 0;
    switch (judge(kind, payload)) {
      case 'failed':
        return { is: 'failed', failure: target.failureOfStreamError(payload) };
      case 'begun':
        return { is: 'begun', first: this.#first };
      case 'waiting':
        return undefined;
    }
  }

  /** What a stream means that ended before it began. `rest`: all that came. */
  failureOfUnopened(rest: string): AttemptFailure {
    if (this.#first) return brokenStream(EMPTY);
    const text = rest.trim();
    if (text.startsWith('<')) return brokenStream('an HTML page instead of a stream');
    const payload = text.startsWith('{') ? parseJson(text) : undefined;
    const { kind, target } = this.#rules;
    if (isJsonObject(payload) && judge(kind, payload) === 'failed') return target.failureOfStreamError(payload);
    return brokenStream(text === '' ? 'the stream is empty' : 'the answer is no event stream');
  }
}

const EMPTY = 'an empty answer';

/** A line without its end. */
function textOf(lines: Buffer, start: number, end: number): string {
  return lines.toString('utf8', start, lines[end - 1] === CR ? end - 1 : end).replace(/^\uFEFF/, '');
}

function failed(message: string): StreamOpening {
  return { is: 'failed', failure: brokenStream(message) };
}
