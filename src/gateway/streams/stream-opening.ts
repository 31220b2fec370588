import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { parseReadable } from '../../protocol/requests/json-spans.ts';
import { type AttemptFailure, brokenStream } from '../../upstream/provider-answer.ts';
import type { ProviderTarget } from '../../upstream/provider-target.ts';
import type { AttemptContext } from '../attempt-context.ts';
import { type Frame, frameAt, MAX_SPREAD, TOO_MANY_VALUES } from './frames.ts';
import { judge, type StreamKind } from './stream-kind.ts';

/** How a stream begins. */
export type Opening =
  /** Nothing yet, only what keeps connections alive, or payloads that say nothing. */
  | { is: 'waiting' }
  /** With content. `first`: the first payload, which may have come before. */
  | { is: 'begun'; first: JsonObject }
  | { is: 'failed'; failure: AttemptFailure };

/** Lines before the first content, comments and empty ones included: no provider keeps a connection alive so often. */
const MAX_LINES = 20_000;
const EMPTY = 'an empty answer';
const MEANING: Readonly<Partial<Record<Frame['is'], string>>> = {
  stray: 'the answer is no event stream',
  text: 'the stream begins with something else than JSON',
  malformed: 'the stream begins with malformed JSON',
  unreadable: TOO_MANY_VALUES,
};

/** Reads how a stream begins, frame by frame as they come; each is looked at once. */
export class StreamOpening {
  readonly #kind: StreamKind;
  readonly #target: ProviderTarget;
  #first: JsonObject | undefined;
  #lines = 0;
  /** How many of the bytes that are held were looked at. */
  #read = 0;
  /** Whether they are nothing but comments and empty lines. */
  onlyComments = true;

  constructor({ kind, target }: Pick<AttemptContext, 'kind' | 'target'>) {
    this.#kind = kind;
    this.#target = target;
  }

  /** How the stream begins. `lines`: all whole lines since the last `forget`, those of earlier calls included. */
  read(lines: Buffer): Opening {
    while (this.#read < lines.length) {
      const frame = frameAt(lines, this.#read);
      if (frame.is !== 'comment') this.onlyComments = false;
      if (frame.is === 'unfinished') {
        if (frame.end - frame.start > MAX_SPREAD) return failed('a frame is too long');
        break;
      }
      this.#read = frame.end;
      if (++this.#lines > MAX_LINES) return failed('the stream does not begin');
      const opening = this.#openingOf(frame);
      if (opening) return opening;
    }
    return { is: 'waiting' };
  }

  /** The stream begins with an event that is too long to be held until it is whole. */
  begin(): JsonObject {
    this.#first ??= {};
    return this.#first;
  }

  /** What was looked at is held no longer. */
  forget(): void {
    this.#read = 0;
    this.onlyComments = true;
  }

  #openingOf(frame: Frame): Opening | undefined {
    const meaning = MEANING[frame.is];
    if (meaning !== undefined) return failed(meaning);
    if (frame.is === 'error') return { is: 'failed', failure: this.#target.failureOfStreamError(frame.payload) };
    if (frame.is === 'done') return failed(this.#first ? EMPTY : 'the stream is empty');
    if (frame.is !== 'payload') return undefined;
    this.#first ??= frame.payload;
    const judged = judge(this.#kind, frame.payload);
    if (judged === 'failed') return { is: 'failed', failure: this.#target.failureOfStreamError(frame.payload) };
    return judged === 'begun' ? { is: 'begun', first: this.#first } : undefined;
  }

  /** What a stream means that ended before it began. `rest`: all that came. */
  failureOfUnopened(rest: string): AttemptFailure {
    if (this.#first) return brokenStream(EMPTY);
    const text = rest.trim();
    if (text.startsWith('<')) return brokenStream('an HTML page instead of a stream');
    const payload = text.startsWith('{') ? parseReadable(text) : undefined;
    if (isJsonObject(payload) && judge(this.#kind, payload) === 'failed') {
      return this.#target.failureOfStreamError(payload);
    }
    return brokenStream(text === '' ? 'the stream is empty' : 'the answer is no event stream');
  }
}

function failed(message: string): Opening {
  return { is: 'failed', failure: brokenStream(message) };
}
