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

/** One attempt at a provider with its meter: what it sends and what comes back is counted while it does. */
export class MeteredCall {
  readonly #meter: CallMeter;
  readonly #api: string;

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
  events(text: string): void {
    this.#meter.delivered(deliveredWeight(text, { api: this.#api, streamed: true }));
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
