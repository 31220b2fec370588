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
import { type AnswerKind, judgePayload } from '../answer-kind.ts';
import { streamHeaders } from '../answers/answer-headers.ts';
import type { ContinuedAnswer } from '../answers/continued-answer.ts';
import type { RelayContext } from '../attempt-context.ts';
import type { AttemptResult, ResultControl, ResultReceiver } from '../attempt-result.ts';
import { ClientWriter } from '../client-writer.ts';
import { framesOf } from './frames.ts';

/** The longest stream, in bytes. */
const MAX_STREAM = 256 * 1024 * 1024;
/** The most that is buffered before the first content, in bytes. */
const MAX_OPENING = 4 * 1024 * 1024;

/**
 * Relays the stream of one route as a part of an answer that other routes may continue. Unlike `RelayedStream` it parses
 * every frame: the next route needs the text so far, and the parts have to look like one stream.
 */
export class ContinuedStream implements ResultReceiver {
  readonly #head: AnswerHead;
  readonly #control: ResultControl;
  readonly #context: RelayContext;
  readonly #answer: ContinuedAnswer;
  readonly #writer: ClientWriter;
  readonly #events = new EventStream();
  #size = 0;
  #hasStarted = false;
  /** Payloads before the first content. */
  #opening: JsonObject[] = [];
  #hasEnd = false;
  #usage: TurnUsage | null = null;
  /** Whether content followed the usage. */
  #midway = false;

  constructor(head: AnswerHead, control: ResultControl, context: RelayContext, answer: ContinuedAnswer) {
    this.#head = head;
    this.#control = control;
    this.#context = context;
    this.#answer = answer;
    this.#writer = new ClientWriter(context.client, control);
    answer.startRoute();
  }

  data(chunk: Buffer): void {
    this.#size += chunk.length;
    const failure = this.#read(() => {
      if (this.#size > MAX_STREAM) throw brokenStream('the answer does not end');
      return this.#events.feed(chunk);
    });
    if (failure) this.#control.finish(this.broken(failure));
    else if (this.#events.done) this.#control.finish(this.end(), { endsSoon: true });
  }

  end(): AttemptResult {
    const failure = this.#read(() => this.#events.end());
    if (failure) return this.broken(failure);
    if (!this.#hasStarted) return this.broken(brokenStream('an empty answer'));
    return this.broken(brokenStream('the stream ended before the answer did'));
  }

  /** Ends the attempt. If the answer is complete, the break does not matter. */
  broken(failure: AttemptFailure): AttemptResult {
    if (this.#hasStarted && this.#hasEnd) {
      this.#writer.end('data: [DONE]\n\n');
      return { is: 'delivered', usage: this.#usage, midway: this.#midway };
    }
    return {
      is: 'failed',
      failure: this.#answer.canContinue ? failure : failure.with({ advice: 'never' }),
      ...(this.#usage && { usage: this.#usage }),
    };
  }

  /** Writes the chunks for the payloads that arrived. Returns the failure if the stream is broken. */
  #read(payloads: () => Iterable<Record<string, unknown>>): AttemptFailure | undefined {
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

  /** The chunks to send for a payload. @throws AttemptFailure for an error, or too much before the first content. */
  #chunksFor(payload: JsonObject): JsonObject[] {
    const { target, meter } = this.#context;
    const usage = readUsage(payload.usage);
    if (usage && (usage.outputTokens > 0 || !this.#usage)) this.#usage = usage;
    const judged = judgePayload(this.#kind, payload);
    if (judged === 'failed') throw target.failureOfStreamError(payload);
    const weight = meter.countEvents(Buffer.from(JSON.stringify(payload)));
    this.#midway = usage === undefined && (this.#midway || weight > 0);
    this.#hasEnd ||= readFinishReason(finishReasonOf(payload)) !== undefined;
    if (!this.#hasStarted && judged === 'waiting') {
      if (this.#size > MAX_OPENING) throw brokenStream('the stream does not begin');
      this.#opening.push(payload);
      return [];
    }
    if (!this.#hasStarted) {
      this.#hasStarted = true;
      this.#control.started();
    }
    return [...this.#opening.splice(0), payload].flatMap((chunk) => this.#answer.accept(chunk));
  }

  /** A continuation may be empty, because the answer may have been complete already. */
  get #kind(): AnswerKind {
    const { kind } = this.#context;
    return this.#answer.hasStarted ? { ...kind, mayBeEmpty: () => true } : kind;
  }

  #write(text: string): void {
    const { onBegin, target } = this.#context;
    if (!this.#writer.hasHead) {
      onBegin();
      this.#writer.sendHead(200, streamHeaders(target.requestId(this.#head)));
    }
    const bytes = Buffer.from(text);
    target.mask.maskBytes(bytes);
    this.#writer.write(bytes);
  }
}

function finishReasonOf({ choices }: JsonObject): unknown {
  const choice = Array.isArray(choices) ? choices[0] : undefined;
  return isObject(choice) ? choice.finish_reason : undefined;
}
