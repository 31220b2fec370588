import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { parseLimitedJson } from '../../protocol/requests/json-spans.ts';
import { type AttemptFailure, brokenStream } from '../../upstream/provider-answer.ts';
import type { ProviderTarget } from '../../upstream/provider-target.ts';
import { type AnswerKind, judgePayload } from '../answer-kind.ts';
import type { AttemptContext } from '../attempt-context.ts';
import { type Frame, frameAt, MAX_MULTILINE_FRAME, TOO_MANY_VALUES } from './frames.ts';

/** How a stream begins. */
export type Opening =
  /** So far there are only comments that keep the connection alive, or payloads without content. */
  | { is: 'waiting' }
  /** There is content. `first`: the first payload of the stream, with or without content. */
  | { is: 'started'; first: JsonObject }
  | { is: 'failed'; failure: AttemptFailure };

/** The most lines before the first content, with comments and empty ones: no provider keeps a connection alive so often. */
const MAX_LINES = 20_000;
const EMPTY = 'an empty answer';
const BAD_OPENING: Readonly<Partial<Record<Frame['is'], string>>> = {
  stray: 'the answer is no event stream',
  text: 'the stream begins with something else than JSON',
  malformed: 'the stream begins with malformed JSON',
  unreadable: TOO_MANY_VALUES,
};

/** Reads the frames at the beginning of a stream as they arrive, each of them once. */
export class StreamOpening {
  readonly #kind: AnswerKind;
  readonly #target: ProviderTarget;
  #first: JsonObject | undefined;
  #lines = 0;
  /** How many of the buffered bytes have been read. */
  bytesRead = 0;
  /** Whether those are only comments and empty lines. */
  onlyComments = true;

  constructor({ kind, target }: Pick<AttemptContext, 'kind' | 'target'>) {
    this.#kind = kind;
    this.#target = target;
  }

  /** How the stream begins. `lines`: all whole lines since the last `discardRead`, with those of earlier calls. */
  read(lines: Buffer): Opening {
    while (this.bytesRead < lines.length) {
      const frame = frameAt(lines, this.bytesRead);
      if (frame.is !== 'comment') this.onlyComments = false;
      if (frame.is === 'unfinished') {
        if (frame.end - frame.start > MAX_MULTILINE_FRAME) return failed('a frame is too long');
        break;
      }
      this.bytesRead = frame.end;
      if (++this.#lines > MAX_LINES) return failed('the stream does not begin');
      const opening = this.#openingOf(frame);
      if (opening) return opening;
    }
    return { is: 'waiting' };
  }

  /** Starts the stream although its first event is incomplete and too long to be buffered. Returns the first payload. */
  startWithLongEvent(): JsonObject {
    this.#first ??= {};
    return this.#first;
  }

  /** The caller no longer buffers the lines that were read. */
  discardRead(): void {
    this.bytesRead = 0;
    this.onlyComments = true;
  }

  #openingOf(frame: Frame): Opening | undefined {
    const problem = BAD_OPENING[frame.is];
    if (problem !== undefined) return failed(problem);
    if (frame.is === 'error') return { is: 'failed', failure: this.#target.failureOfStreamError(frame.payload) };
    if (frame.is === 'done') return failed(this.#first ? EMPTY : 'the stream is empty');
    if (frame.is !== 'payload') return undefined;
    this.#first ??= frame.payload;
    const judged = judgePayload(this.#kind, frame.payload);
    if (judged === 'failed') return { is: 'failed', failure: this.#target.failureOfStreamError(frame.payload) };
    if (judged === 'started') return { is: 'started', first: this.#first };
    return this.#kind.lastEvent?.is(frame.payload) ? failed(EMPTY) : undefined;
  }

  /** The failure of a stream that ended before any content. `rest`: everything that arrived. */
  failureOfUnopened(rest: string): AttemptFailure {
    if (this.#first) return brokenStream(EMPTY);
    const text = rest.trim();
    if (text.startsWith('<')) return brokenStream('an HTML page instead of a stream');
    const payload = text.startsWith('{') ? parseLimitedJson(text) : undefined;
    if (isJsonObject(payload) && judgePayload(this.#kind, payload) === 'failed') {
      return this.#target.failureOfStreamError(payload);
    }
    return brokenStream(text === '' ? 'the stream is empty' : 'the answer is no event stream');
  }
}

function failed(message: string): Opening {
  return { is: 'failed', failure: brokenStream(message) };
}
