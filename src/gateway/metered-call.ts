import {
  answersText,
  type CallMeter,
  deliveredWeight,
  isCredible,
  type TurnUsage,
} from '../upstream/provider-answer.ts';
import type { AnswerHead, HeldAnswer } from '../upstream/provider-target.ts';
import type { AttemptResult } from './attempt-result.ts';

/** Bytes of an answer for each of its tokens, where its text cannot be read: plain, and compressed. */
const BYTES = 4;
const COMPRESSED_BYTES = 1.5;
/**
 * How much of a stream is searched for what was delivered, in bytes: its beginning, and then the beginning of one piece in so
 * many, which stand for the rest. All of it would cost a stream of bursts a third of its events a second
 * (`npm run bench -- pass-through`).
 */
const SEARCHED_FIRST = 8 * 1024;
const SEARCHED_LATER = 1024;
const SEARCHED_ONE_IN = 8;

/** One attempt at a provider with its meter: what it sends and what comes back is counted while it does. */
export class MeteredCall {
  readonly #meter: CallMeter;
  readonly #api: string;
  /** What of a stream was searched: bytes, and the tokens in them. */
  #searched = 0;
  #found = 0;
  #pieces = 0;

  constructor(meter: CallMeter, api: string) {
    this.#meter = meter;
    this.#api = api;
  }

  readonly sent = (): void => this.#meter.sent();

  /** The answer tells of an error by its status: providers do no work for it. */
  refused(): void {
    this.#meter.refused();
  }

  /** Whole events of a stream came. */
  events(bytes: Buffer): void {
    const searched = bytes.subarray(0, this.#share());
    const found = deliveredWeight(searched.toString('utf8'), { api: this.#api, streamed: true });
    this.#searched += searched.length;
    this.#found += found;
    const rest = bytes.length - searched.length;
    this.#meter.delivered(rest > 0 ? found + (rest * this.#found) / this.#searched : found);
  }

  /** How much of the next piece is searched, in bytes. */
  #share(): number {
    if (this.#searched < SEARCHED_FIRST) return SEARCHED_FIRST;
    return ++this.#pieces % SEARCHED_ONE_IN === 0 ? SEARCHED_LATER : 0;
  }

  /** A piece of an answer came that is not read piece by piece. */
  bytes(length: number, { headers }: Pick<AnswerHead, 'headers'>): void {
    if (answersText(this.#api)) this.#meter.delivered(length / (isCompressed(headers) ? COMPRESSED_BYTES : BYTES));
  }

  /** What came so far is about to be read again, or was no answer. */
  anew(): void {
    this.#meter.deliveredInAll(0);
  }

  /** The result of the attempt, once what it tells is counted. Rejects as `result` does: what came until then counts. */
  async result(result: Promise<AttemptResult>): Promise<AttemptResult> {
    const ended = await result;
    if (ended.is === 'answered') this.#answered(ended.answer, ended.usage);
    const whole = ended.is === 'answered' || (ended.is === 'delivered' && ended.failure === undefined);
    if (ended.usage) this.#meter.reported(ended.usage, { whole });
    return ended;
  }

  #answered({ body, headers }: HeldAnswer, usage: TurnUsage | null): void {
    if (isCompressed(headers)) this.bytes(body.length, { headers });
    // An answer cannot have more text than bytes: most that is reported needs no second look.
    else if (!usage || !isCredible(usage.outputTokens, body.length / BYTES))
      this.#meter.deliveredInAll(deliveredWeight(body.toString('utf8'), { api: this.#api, streamed: false }));
  }
}

function isCompressed(headers: AnswerHead['headers']): boolean {
  const encoding = headers['content-encoding'];
  return encoding !== undefined && encoding !== 'identity';
}
