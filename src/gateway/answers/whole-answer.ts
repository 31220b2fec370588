import type { Permit } from '../../base/fair-semaphore.ts';
import { isJsonObject, isObject, type JsonObject, type JsonValue, parseJson } from '../../base/json.ts';
import { abridgeJson, isWithinJsonLimits } from '../../protocol/requests/json-spans.ts';
import { type AttemptFailure, brokenStream } from '../../upstream/provider-answer.ts';
import {
  type AnswerHead,
  type BufferedAnswer,
  type ProviderTarget,
  withoutByteOrderMark,
} from '../../upstream/provider-target.ts';
import { type AnswerKind, judgePayload } from '../answer-kind.ts';
import type { AttemptResult, ResultControl, ResultReceiver } from '../attempt-result.ts';
import type { AttemptMeter } from '../call-account.ts';
import { BufferedBytes } from './buffered-bytes.ts';
import { lastReportedUsage, usageOfPayload } from './reported-usage.ts';

/** The longest answer that is buffered, and the longest error, in bytes. */
const MAX_ANSWER = 32 * 1024 * 1024;
const MAX_ERROR = 1024 * 1024;
/** The most that is parsed, in bytes. Long strings are cut first; JSON that is still longer is checked only from outside. */
const MAX_PARSED = 1024 * 1024;

/** How much is inspected of an answer that is relayed unjudged, in bytes. */
const INSPECTED_START = 64;
/** JSON, perhaps after a byte order mark. White space, comments and events before it are not the start of an answer. */
const BEGINS_AS_JSON = /^(?:\xef\xbb\xbf)?\s*[[{]/;
const BEGINS_WITH_ERROR = /^\s*\{\s*"error"\s*:\s*["{]\s*[^\s}]/;

/** Up to this size an answer is buffered without reserving memory, in bytes. */
const FREE_BYTES = 256 * 1024;
/** How much memory is reserved at a time, in bytes. */
const RESERVE_STEP = 256 * 1024;

export interface WholeAnswerOptions {
  judge(answer: BufferedAnswer): AttemptResult;
  memory: Permit;
  meter: Pick<AttemptMeter, 'countBytes' | 'setDelivered' | 'countWholeText'>;
  /** Takes over when memory is short, and relays the answer as it arrives. Absent when there is no client. */
  relay?: () => ResultReceiver;
  /** Longer answers are relayed, in bytes; absent: length alone is no reason. */
  maxLength?: number;
}

/**
 * Buffers an answer and judges it when it is complete, so that until then another provider can be called. A large answer
 * needs some of the shared memory; when there is none, it is relayed as it arrives, at the pace of its client.
 */
export class WholeAnswer implements ResultReceiver {
  readonly #head: AnswerHead;
  readonly #control: ResultControl;
  readonly #options: WholeAnswerOptions;
  readonly #limit: number;
  readonly #body = new BufferedBytes();
  #relayed: ResultReceiver | undefined;
  #reserved = FREE_BYTES;
  #hasStarted = false;

  constructor(head: AnswerHead, control: ResultControl, options: WholeAnswerOptions) {
    this.#head = head;
    this.#control = control;
    this.#options = options;
    this.#limit = head.status < 300 ? MAX_ANSWER : MAX_ERROR;
  }

  data(chunk: Buffer): void {
    if (this.#relayed) {
      this.#relayed.data(chunk);
      return;
    }
    if (!this.#hasStarted && BEGINS_AS_JSON.test(chunk.toString('latin1'))) {
      this.#hasStarted = true;
      this.#control.started();
    }
    this.#options.meter.countBytes(chunk.length);
    const length = this.#body.length + chunk.length;
    if (length > this.#limit) {
      this.#control.finish(failed(`the answer is larger than ${this.#limit} bytes`));
    } else if (this.#canBuffer(length)) this.#body.push(chunk);
    else this.#startRelay(chunk);
  }

  #canBuffer(length: number): boolean {
    const { maxLength, memory } = this.#options;
    if (maxLength !== undefined && length > maxLength) return false;
    while (length > this.#reserved) {
      if (!memory.tryGrow(RESERVE_STEP)) return false;
      this.#reserved += RESERVE_STEP;
    }
    return true;
  }

  #startRelay(chunk: Buffer): void {
    const { relay, meter } = this.#options;
    this.#body.push(chunk);
    const problem = problemOfStart(this.#body.bytes);
    if (!relay || problem !== undefined) {
      this.#control.finish(failed(problem ?? 'too many large answers at once'));
      return;
    }
    this.#relayed = relay();
    meter.setDelivered(0);
    this.#relayed.data(this.#body.take());
  }

  end(): AttemptResult {
    if (this.#relayed) return this.#relayed.end();
    const body = this.#body.take();
    const judged = this.#options.judge({ ...this.#head, body });
    // The text of a broken answer is charged all the same. Other answers count by the usage that they report.
    if (judged.is === 'failed' && this.#head.status < 300) this.#options.meter.countWholeText(body);
    else this.#options.meter.setDelivered(0);
    return judged;
  }

  /** A complete document is an answer even if its provider never ends the body. */
  broken(failure: AttemptFailure): AttemptResult {
    if (this.#relayed) return this.#relayed.broken(failure);
    if (failure.kind !== 'timeout' || this.#body.length === 0 || this.#head.status >= 300) {
      return { is: 'failed', failure };
    }
    const judged = this.end();
    return judged.is === 'answered' ? judged : { is: 'failed', failure };
  }
}

/** What is wrong with an answer that is relayed, which can be judged only by how it begins. */
function problemOfStart(body: Buffer): string | undefined {
  const text = body.toString('latin1');
  if (!BEGINS_AS_JSON.test(text)) return 'the answer is malformed JSON';
  return BEGINS_WITH_ERROR.test(text.slice(0, INSPECTED_START)) ? 'an error without end' : undefined;
}

/** Judges an answer with a status other than 2xx. */
export function judgeError(answer: BufferedAnswer, target: ProviderTarget): AttemptResult {
  const { status } = answer;
  if (status < 400) return failed(`HTTP status ${status}: the provider sends us elsewhere`);
  if (status > 599) return failed(`HTTP status ${status}, which is not valid`);
  return { is: 'failed', failure: target.failureOfAnswer(answer), answer };
}

/** Judges an answer with status 2xx: some providers send errors, HTML pages or nothing with status 200. */
export function judgeWhole(
  received: BufferedAnswer,
  { target, kind, api }: { target: ProviderTarget; kind: AnswerKind; api: string },
): AttemptResult {
  const judged = judgeJson(received, api);
  if (judged.is !== 'answered' || judged.parsed === undefined) return judged;
  // No API with known answers sends JSON other than an object.
  const payload = isJsonObject(judged.parsed) ? judged.parsed : {};
  switch (judgePayload(kind, payload)) {
    case 'failed': {
      const failure = target.failureOfStreamError(payload);
      const { answer, usage } = judged;
      return { is: 'failed', failure, ...(isForClient(failure) && { answer }), ...(usage && { usage }) };
    }
    case 'waiting':
      return { ...failed('an empty answer'), ...(judged.usage && { usage: judged.usage }) };
    case 'started':
      if (!isUnfinished(payload, api) || kind.mayBeEmpty()) return judged;
      return { ...failed('a response that is not over'), ...(judged.usage && { usage: judged.usage }) };
  }
}

/** Whether a response is still in progress, which only a background response may be. */
function isUnfinished({ status }: JsonObject, api: string): boolean {
  return api === 'responses' && (status === 'in_progress' || status === 'queued');
}

/** Whether the client gets to see an error inside an answer, because the model says so (`failover_off`). */
export function isForClient({ blames }: AttemptFailure): boolean {
  return blames === 'request';
}

type Verdict =
  | (AttemptResult & { is: 'failed' })
  | (AttemptResult & { is: 'answered'; parsed?: JsonValue | undefined });

/** Judges whether an answer is JSON. `parsed` has its long strings cut if it is long, and is absent if it is too long. */
export function judgeJson(received: BufferedAnswer, api: string): Verdict {
  const body = withoutByteOrderMark(received.body);
  const answer = body === received.body ? received : { ...received, body };
  const excerpt = body.length > MAX_PARSED ? abridgeJson(body) : body;
  const text = excerpt.toString('utf8');
  const isParsable = excerpt.length <= MAX_PARSED && isWithinJsonLimits(excerpt);
  const parsed = isParsable ? parseJson(text) : undefined;
  if (isObject(parsed)) return { is: 'answered', answer, usage: usageOfPayload(parsed, api), parsed };
  const trimmed = text.trim();
  if (trimmed === '') return failed('the answer is empty');
  if (trimmed.startsWith('<')) return failed('an HTML page instead of JSON');
  if (parsed === undefined && (isParsable || !/^[[{].*[\]}]$/s.test(trimmed))) {
    return failed('the answer is malformed JSON');
  }
  if (!isParsable && BEGINS_WITH_ERROR.test(text)) return failed('an error that is too large to be read');
  return { is: 'answered', answer, usage: lastReportedUsage(text, api), parsed };
}

function failed(message: string): AttemptResult & { is: 'failed' } {
  return { is: 'failed', failure: brokenStream(message) };
}
