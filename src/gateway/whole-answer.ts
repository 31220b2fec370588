import { isObject, type JsonValue, parseJson } from '../base/json.ts';
import { type AttemptFailure, brokenStream } from '../upstream/attempt-failure.ts';
import { isStreamError } from '../upstream/dialects/stream-errors.ts';
import { failureOfAnswer, failureOfStreamError } from '../upstream/failure-of-answer.ts';
import type { Scrubber } from '../upstream/secrets.ts';
import type { Asked, Receiver, ReceiverControl } from './ask-provider.ts';
import type { Answer, AnswerHead } from './exchange.ts';
import { lastReportedTokens, tokensIn } from './reported-usage.ts';

/** The longest answer that is kept in memory, and the longest error, in bytes. */
const MAX_ANSWER = 32 * 1024 * 1024;
const MAX_ERROR = 1024 * 1024;
/** Longer JSON is looked at from outside only, in bytes. */
const MAX_PARSED = 1024 * 1024;

/** Collects an answer and judges it when it is whole, so that until then another provider can be asked. */
export class WholeAnswer implements Receiver {
  readonly #head: AnswerHead;
  readonly #control: ReceiverControl;
  readonly #judge: (answer: Answer) => Asked;
  readonly #limit: number;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  constructor(head: AnswerHead, control: ReceiverControl, judge: (answer: Answer) => Asked) {
    this.#head = head;
    this.#control = control;
    this.#judge = judge;
    this.#limit = head.status < 300 ? MAX_ANSWER : MAX_ERROR;
  }

  data(chunk: Buffer): void {
    if (this.#length === 0) this.#control.started();
    this.#length += chunk.length;
    if (this.#length > this.#limit) {
      this.#control.finish(failed(`the answer is larger than ${this.#limit} bytes`));
    } else this.#chunks.push(chunk);
  }

  end(): Asked {
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    return this.#judge({ ...this.#head, body });
  }

  broken(failure: AttemptFailure): Asked {
    return { is: 'failed', failure };
  }
}

/** Judges an answer with a status other than 2xx. */
export function judgeError(answer: Answer, doorway: { scrubber: Scrubber }): Asked {
  const { status, headers, body } = answer;
  if (status < 400) return failed(`HTTP status ${status}: the provider sends us elsewhere`);
  const lookup = { get: (name: string) => headerText(headers[name]) };
  const text = body.toString('utf8');
  const failure = failureOfAnswer({ status, headers: lookup, text }, doorway.scrubber, Date.now());
  return { is: 'failed', failure, answer };
}

/** Judges a chat completion: there are providers that send errors, pages or nothing with status 200. */
export function judgeCompletion(answer: Answer, doorway: { scrubber: Scrubber }): Asked {
  const judged = judgeJson(answer);
  if (judged.is !== 'answered' || judged.parsed === undefined) return judged;
  const { parsed } = judged;
  if (!isObject(parsed)) return failed('the answer is no JSON object');
  if (isStreamError(parsed)) return { is: 'failed', failure: failureOfStreamError(parsed, doorway.scrubber) };
  return judged;
}

type Judged = (Asked & { is: 'failed' }) | (Asked & { is: 'answered'; parsed?: JsonValue | undefined });

/** Judges any other answer that should be JSON. `parsed` is absent where it is too long or compressed. */
export function judgeJson(answer: Answer): Judged {
  const { body, headers } = answer;
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') return { is: 'answered', answer, tokens: null };
  const text = body.toString('utf8');
  const parsed = body.length > MAX_PARSED ? undefined : parseJson(text);
  if (isObject(parsed)) return { is: 'answered', answer, tokens: tokensIn(parsed.usage), parsed };
  const trimmed = text.trim();
  if (trimmed === '') return failed('the answer is empty');
  if (trimmed.startsWith('<')) return failed('an HTML page instead of JSON');
  if (parsed === undefined && (body.length <= MAX_PARSED || !/^[[{].*[\]}]$/s.test(trimmed))) {
    return failed('the answer is malformed JSON');
  }
  return { is: 'answered', answer, tokens: lastReportedTokens(text), parsed };
}

function failed(message: string): Asked & { is: 'failed' } {
  return { is: 'failed', failure: brokenStream(message) };
}

function headerText(value: string | string[] | undefined): string | null {
  return value === undefined ? null : String(value);
}
