import { isJsonObject, isObject, type JsonObject } from '../../base/json.ts';
import {
  AttemptFailure,
  brokenStream,
  EventStream,
  readFinishReason,
  readUsage,
  type TurnUsage,
} from '../../upstream/provider-answer.ts';
import type { AnswerHead } from '../../upstream/provider-target.ts';
import { streamHeaders } from '../answers/answer-headers.ts';
import type { ContinuedAnswer } from '../answers/continued-answer.ts';
import type { PassingContext } from '../attempt-context.ts';
import type { AttemptResult, ResultControl, ResultReceiver } from '../attempt-result.ts';
import { ClientWriter } from '../client-writer.ts';
import { framesOf } from './frames.ts';
import { judge, type StreamKind } from './stream-kind.ts';

/** The longest stream, in bytes. */
const MAX_STREAM = 256 * 1024 * 1024;
/** What is held at most until the first content is there, in bytes. */
const MAX_OPENING = 4 * 1024 * 1024;

/**
 * Passes the stream of one route on as a part of an answer that other routes may continue. Frames are read, unlike those
 * of a stream that is passed unchanged: what was delivered has to be known, and all of it is to look like one stream.
 */
export class ContinuedStream implements ResultReceiver {
  readonly #head: AnswerHead;
  readonly #control: ResultControl;
  readonly #context: PassingContext;
  readonly #answer: ContinuedAnswer;
  readonly #writer: ClientWriter;
  readonly #events = new EventStream();
  #size = 0;
  #hasBegun = false;
  /** What came before the first content. */
  #opening: JsonObject[] = [];
  #hasEnd = false;
  #usage: TurnUsage | null = null;
  /** Whether something was said behind it. */
  #midway = false;

  constructor(head: AnswerHead, control: ResultControl, context: PassingContext, answer: ContinuedAnswer) {
    this.#head = head;
    this.#control = control;
    this.#context = context;
    this.#answer = answer;
    this.#writer = new ClientWriter(context.client, control);
    answer.restart();
  }

  data(chunk: Buffer): void {
    this.#size += chunk.length;
    const failure = this.#read(() => {
      if (this.#size > MAX_STREAM) throw brokenStream('the answer does not end');
      return this.#events.feed(chunk);
    });
    if (failure) this.#control.finish(this.broken(failure));
  }

  end(): AttemptResult {
    const failure = this.#read(() => this.#events.end());
    if (failure) return this.broken(failure);
    if (!this.#hasBegun) return this.broken(brokenStream('an empty answer'));
    return this.broken(brokenStream('the stream ended before the answer did'));
  }

  /** A stream whose answer is whole needs no other route. */
  broken(failure: AttemptFailure): AttemptResult {
    if (this.#hasBegun && this.#hasEnd) {
      this.#writer.end('data: [DONE]\n\n');
      return { is: 'delivered', usage: this.#usage, midway: this.#midway };
    }
    return {
      is: 'failed',
      failure: this.#answer.canGoOn ? failure : failure.with({ advice: 'never' }),
      ...(this.#usage && { usage: this.#usage }),
    };
  }

  /** Writes what goes out for the payloads that came, and gives why the stream is broken, if it is. */
  #read(payloads: () => Record<string, unknown>[]): AttemptFailure | undefined {
    const chunks: JsonObject[] = [];
    try {
      for (const payload of payloads()) if (isJsonObject(payload)) chunks.push(...this.#chunksFor(payload));
    } catch (error) {
      if (error instanceof AttemptFailure) return error;
      throw error;
    } finally {
      if (chunks.length > 0) this.#write(framesOf(chunks));
    }
    return undefined;
  }

  /** @throws AttemptFailure */
  #chunksFor(payload: JsonObject): JsonObject[] {
    const { target, meter } = this.#context;
    const usage = readUsage(payload.usage);
    if (usage && (usage.outputTokens > 0 || !this.#usage)) this.#usage = usage;
    const judged = judge(this.#kind, payload);
    if (judged === 'failed') throw target.failureOfStreamError(payload);
    const weight = meter.events(Buffer.from(JSON.stringify(payload)));
    this.#midway = usage === undefined && (this.#midway || weight > 0);
    this.#hasEnd ||= readFinishReason(finishOf(payload)) !== undefined;
    if (!this.#hasBegun && judged === 'waiting') {
      if (this.#size > MAX_OPENING) throw brokenStream('the stream does not begin');
      this.#opening.push(payload);
      return [];
    }
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#control.started();
    }
    return [...this.#opening.splice(0), payload].flatMap((chunk) => this.#answer.accept(chunk));
  }

  /** What is to be continued may be whole already. */
  get #kind(): StreamKind {
    const { kind } = this.#context;
    return this.#answer.begun ? { ...kind, mayBeEmpty: () => true } : kind;
  }

  #write(text: string): void {
    const { onBegin, target } = this.#context;
    if (!this.#writer.hasHead) {
      onBegin();
      this.#writer.begin(200, streamHeaders(target.requestId(this.#head)));
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
