import type { ServerResponse } from 'node:http';
import { createParser } from 'eventsource-parser';
import { isObject, type JsonObject, parseJson } from '../../base/json.ts';
import {
  type AttemptFailure,
  brokenStream,
  readFinishReason,
  readUsage,
  type TurnUsage,
} from '../../upstream/provider-answer.ts';
import type { ProviderTarget } from '../../upstream/provider-target.ts';
import type { ContinuedAnswer } from '../answers/continued-answer.ts';
import type { AttemptResult, ResultControl, ResultReceiver } from '../attempt-result.ts';
import { ClientWriter } from '../client-writer.ts';
import type { MeteredCall } from '../metered-call.ts';
import { framesOf } from './event-lines.ts';
import { judge, type StreamKind } from './stream-kind.ts';

/** The longest frame that is accepted, and the longest stream, in characters. */
const MAX_FRAME = 8 * 1024 * 1024;
const MAX_STREAM = 256 * 1024 * 1024;
/** What is held at most until the first content is there, in characters. */
const MAX_OPENING = 4 * 1024 * 1024;
/** Malformed frames in a row and in all that are left out. */
const MAX_SKIPPED = 3;

export interface ContinuedStreamOptions {
  res: ServerResponse;
  /** The head of the answer. */
  headers: Readonly<Record<string, string>>;
  answer: ContinuedAnswer;
  kind: StreamKind;
  target: ProviderTarget;
  metered: Pick<MeteredCall, 'events'>;
  /** Called before the first bytes go out. */
  onBegin(): void;
}

/**
 * Passes the stream of one route on as a part of an answer that other routes may continue. Frames are read, unlike those
 * of a stream that is passed unchanged: what was delivered has to be known, and all of it is to look like one stream.
 */
export class ContinuedStream implements ResultReceiver {
  readonly #options: ContinuedStreamOptions;
  readonly #control: ResultControl;
  readonly #writer: ClientWriter;
  readonly #decoder = new TextDecoder();
  readonly #parser = createParser({
    maxBufferSize: MAX_FRAME,
    onEvent: ({ data }) => this.#frames.push(data),
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded') throw brokenStream('a frame is too long');
    },
  });
  #frames: string[] = [];
  #size = 0;
  #hasBegun = false;
  /** What came before the first content. */
  #opening: JsonObject[] = [];
  #skipped = 0;
  #isFlawed = false;
  #isDone = false;
  #hasEnd = false;
  #usage: TurnUsage | null = null;

  constructor(options: ContinuedStreamOptions, control: ResultControl) {
    this.#options = options;
    this.#control = control;
    this.#writer = new ClientWriter(options.res, control);
    options.answer.restart();
  }

  data(chunk: Buffer): void {
    const failure = this.#read(this.#decoder.decode(chunk, { stream: true }));
    if (failure) this.#control.finish(this.broken(failure));
  }

  end(): AttemptResult {
    const failure = this.#read(`${this.#decoder.decode()}\n\n`);
    if (failure) return this.broken(failure);
    if (!this.#hasBegun) return this.broken(brokenStream('an empty answer'));
    if (!this.#hasEnd || this.#isFlawed) return this.broken(brokenStream('the stream ended before the answer did'));
    this.#writer.end('data: [DONE]\n\n');
    return { is: 'delivered', usage: this.#usage };
  }

  /** A stream whose answer is whole needs no other route. */
  broken(failure: AttemptFailure): AttemptResult {
    if (this.#hasBegun && this.#hasEnd && !this.#isFlawed) {
      this.#writer.end('data: [DONE]\n\n');
      return { is: 'delivered', usage: this.#usage };
    }
    const { answer } = this.#options;
    return {
      is: 'failed',
      failure: answer.canGoOn ? failure : failure.with({ advice: 'never' }),
      ...(this.#usage && { usage: this.#usage }),
    };
  }

  #read(text: string): AttemptFailure | undefined {
    this.#size += text.length;
    if (this.#size > MAX_STREAM) return brokenStream('the answer does not end');
    this.#parser.feed(text);
    const frames = this.#frames;
    this.#frames = [];
    let written = '';
    let failure: AttemptFailure | undefined;
    for (const frame of frames) {
      const made = this.#frame(frame.trim());
      if (typeof made === 'string') written += made;
      else {
        failure = made;
        break;
      }
    }
    if (written !== '') this.#write(written);
    return failure;
  }

  /** What goes out for one frame, or why the stream is broken. */
  #frame(data: string): string | AttemptFailure {
    if (data === '' || this.#isDone) return '';
    if (data === '[DONE]') {
      this.#isDone = true;
      return '';
    }
    const payload = parseJson(data);
    if (!isPayload(payload)) return this.#skip();
    const { target, answer } = this.#options;
    const usage = readUsage(payload.usage);
    if (usage) this.#usage = usage;
    const judged = judge(this.#kind, payload);
    if (judged === 'failed') return target.failureOfStreamError(payload);
    this.#isFlawed = false;
    this.#options.metered.events(Buffer.from(data));
    if (readFinishReason(finishOf(payload)) !== undefined) this.#hasEnd = true;
    if (!this.#hasBegun && judged === 'waiting') {
      this.#opening.push(payload);
      return this.#size > MAX_OPENING ? brokenStream('the stream does not begin') : '';
    }
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#control.started();
    }
    return framesOf([...this.#opening.splice(0), payload].flatMap((chunk) => answer.accept(chunk)));
  }

  /** What is to be continued may be whole already. */
  get #kind(): StreamKind {
    const { kind, answer } = this.#options;
    return answer.begun ? { ...kind, mayBeEmpty: () => true } : kind;
  }

  #skip(): string | AttemptFailure {
    this.#skipped += 1;
    if (!this.#hasBegun || this.#isFlawed || this.#skipped > MAX_SKIPPED)
      return brokenStream('malformed JSON in the stream');
    this.#isFlawed = true;
    return '';
  }

  #write(text: string): void {
    const { headers, onBegin, target } = this.#options;
    if (!this.#writer.begun) {
      onBegin();
      this.#writer.begin(200, headers);
    }
    const bytes = Buffer.from(text);
    target.mask.apply(bytes);
    this.#writer.write(bytes);
  }
}

function finishOf({ choices }: JsonObject): unknown {
  const choice = Array.isArray(choices) ? choices[0] : undefined;
  return isObject(choice) ? choice.finish_reason : undefined;
}

function isPayload(value: unknown): value is JsonObject {
  return isObject(value);
}
