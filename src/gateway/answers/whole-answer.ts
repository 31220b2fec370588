import type { Permit } from '../../base/fair-semaphore.ts';
import { isJsonObject, isObject, type JsonObject, type JsonValue, parseJson } from '../../base/json.ts';
import { abridged, isReadable } from '../../protocol/requests/json-spans.ts';
import { type AttemptFailure, brokenStream } from '../../upstream/provider-answer.ts';
import { type AnswerHead, type HeldAnswer, type ProviderTarget, withoutMark } from '../../upstream/provider-target.ts';
import type { AttemptResult, ResultControl, ResultReceiver } from '../attempt-result.ts';
import type { AttemptMeter } from '../call-account.ts';
import { judge, type StreamKind } from '../streams/stream-kind.ts';
import { HeldBytes } from './held-bytes.ts';
import { lastReportedUsage, usageOfPayload } from './reported-usage.ts';

/** The longest answer that is kept in memory, and the longest error, in bytes. */
const MAX_ANSWER = 32 * 1024 * 1024;
const MAX_ERROR = 1024 * 1024;
/** What is read of an answer at most, in bytes: of longer ones the long strings are cut. JSON of more, or of very many values, is looked at from outside only. */
const MAX_PARSED = 1024 * 1024;

/** What is looked at of an answer that is passed on unjudged, in bytes. */
const FIRST_WORDS = 64;
const BEGINS_WITH_ERROR = /^\s*\{\s*"error"\s*:\s*["{]\s*[^\s}]/;

/** Up to this length an answer is kept without asking, in bytes. */
const SMALL = 256 * 1024;
/** What is taken of the budget at once, in bytes. */
const STEP = 256 * 1024;

export interface WholeAnswerOptions {
  /** Judges the answer once it is whole. */
  judge(answer: HeldAnswer): AttemptResult;
  memory: Permit;
  meter: Pick<AttemptMeter, 'bytes' | 'deliveredInAll' | 'wholeText'>;
  /** Takes over where memory is short: the answer passes as it comes. Absent: there is nobody to pass it to. */
  relay?: () => ResultReceiver;
  /** Longer ones are relayed, in bytes; absent: none are for their length. */
  keep?: number;
}

/**
 * Collects an answer and judges it when it is whole, so that until then another provider can be asked. A large one
 * takes of the memory that all share; without it the answer is passed on as it comes, at the pace of its client.
 */
export class WholeAnswer implements ResultReceiver {
  readonly #head: AnswerHead;
  readonly #control: ResultControl;
  readonly #options: WholeAnswerOptions;
  readonly #limit: number;
  readonly #held = new HeldBytes();
  #relayed: ResultReceiver | undefined;
  #allowed = SMALL;

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
    if (this.#held.length === 0) this.#control.started();
    this.#options.meter.bytes(chunk.length);
    const length = this.#held.length + chunk.length;
    if (length > this.#limit) {
      this.#control.finish(failed(`the answer is larger than ${this.#limit} bytes`));
    } else if (this.#mayHold(length)) this.#held.push(chunk);
    else this.#passOn(chunk);
  }

  #mayHold(length: number): boolean {
    const { keep, memory } = this.#options;
    if (keep !== undefined && length > keep) return false;
    while (length > this.#allowed) {
      if (!memory.tryGrow(STEP)) return false;
      this.#allowed += STEP;
    }
    return true;
  }

  #passOn(chunk: Buffer): void {
    const relayed = this.#options.relay?.();
    if (!relayed || this.#beginsWithError()) {
      this.#control.finish(failed(relayed ? 'an error without end' : 'too many large answers at once'));
      return;
    }
    this.#relayed = relayed;
    this.#options.meter.deliveredInAll(0);
    relayed.data(this.#held.take());
    relayed.data(chunk);
  }

  /** What is passed on can be judged by its first words only. */
  #beginsWithError(): boolean {
    return BEGINS_WITH_ERROR.test(this.#held.bytes.toString('latin1', 0, FIRST_WORDS));
  }

  end(): AttemptResult {
    if (this.#relayed) return this.#relayed.end();
    const body = this.#held.take();
    const judged = this.#options.judge({ ...this.#head, body });
    // What a model wrote is paid though nobody can read it. Other answers are counted with what they report.
    if (judged.is === 'failed' && this.#head.status < 300) this.#options.meter.wholeText(body);
    else this.#options.meter.deliveredInAll(0);
    return judged;
  }

  /** A document that is whole is an answer, also where its provider never ends the body. */
  broken(failure: AttemptFailure): AttemptResult {
    if (this.#relayed) return this.#relayed.broken(failure);
    if (failure.kind !== 'timeout' || this.#held.length === 0 || this.#head.status >= 300) {
      return { is: 'failed', failure };
    }
    const judged = this.end();
    return judged.is === 'answered' ? judged : { is: 'failed', failure };
  }
}

/** Judges an answer with a status other than 2xx. */
export function judgeError(answer: HeldAnswer, target: ProviderTarget): AttemptResult {
  const { status } = answer;
  if (status < 400) return failed(`HTTP status ${status}: the provider sends us elsewhere`);
  if (status > 599) return failed(`HTTP status ${status}, which is not valid`);
  return { is: 'failed', failure: target.failureOfAnswer(answer), answer };
}

/** Judges an answer of an API: there are providers that send errors, pages or nothing with status 200. */
export function judgeWhole(
  answer: HeldAnswer,
  { target, kind, api }: { target: ProviderTarget; kind: StreamKind; api: string },
): AttemptResult {
  const judged = judgeJson(answer, api);
  if (judged.is !== 'answered' || judged.parsed === undefined) return judged;
  // JSON that is no object holds nothing that an API with known answers could show.
  const payload = isJsonObject(judged.parsed) ? judged.parsed : {};
  switch (judge(kind, payload)) {
    case 'failed': {
      const failure = target.failureOfStreamError(payload);
      const { answer: told, usage } = judged;
      return { is: 'failed', failure, ...(isClients(failure) && { answer: told }), ...(usage && { usage }) };
    }
    case 'waiting':
      return { ...failed('an empty answer'), ...(judged.usage && { usage: judged.usage }) };
    case 'begun':
      if (!isUnfinished(payload, api) || kind.mayBeEmpty()) return judged;
      return { ...failed('a response that is not over'), ...(judged.usage && { usage: judged.usage }) };
  }
}

/** Whether a response says that it goes on; one that was asked for in the background may. */
function isUnfinished({ status }: JsonObject, api: string): boolean {
  return api === 'responses' && (status === 'in_progress' || status === 'queued');
}

/** Whether an error inside an answer is for the client to see, because its model says so (`failover_off`). */
export function isClients({ blames }: AttemptFailure): boolean {
  return blames === 'request';
}

type Judged = (AttemptResult & { is: 'failed' }) | (AttemptResult & { is: 'answered'; parsed?: JsonValue | undefined });

/** Judges whether an answer is JSON. `parsed` is absent where it is too long, and has long strings cut where it is long. */
export function judgeJson(answered: HeldAnswer, api: string): Judged {
  const body = withoutMark(answered.body);
  const answer = body === answered.body ? answered : { ...answered, body };
  const read = body.length > MAX_PARSED ? abridged(body) : body;
  const text = read.toString('utf8');
  const isRead = read.length <= MAX_PARSED && isReadable(read);
  const parsed = isRead ? parseJson(text) : undefined;
  if (isObject(parsed)) return { is: 'answered', answer, usage: usageOfPayload(parsed, api), parsed };
  const trimmed = text.trim();
  if (trimmed === '') return failed('the answer is empty');
  if (trimmed.startsWith('<')) return failed('an HTML page instead of JSON');
  if (parsed === undefined && (isRead || !/^[[{].*[\]}]$/s.test(trimmed))) {
    return failed('the answer is malformed JSON');
  }
  if (!isRead && BEGINS_WITH_ERROR.test(text)) return failed('an error that is too large to be read');
  return { is: 'answered', answer, usage: lastReportedUsage(text, api), parsed };
}

function failed(message: string): AttemptResult & { is: 'failed' } {
  return { is: 'failed', failure: brokenStream(message) };
}
