import { isObject, parseJson } from '../base/json.ts';
import {
  answersText,
  BYTES_PER_TOKEN,
  CallMeter,
  deliveredWeight,
  formTokens,
  isCredible,
  isPlausible,
  promptTokens,
  requestedAnswers,
  type TurnUsage,
  totalsOf,
  type UsageTotals,
  usageOf,
} from '../upstream/provider-answer.ts';
import type { TargetRequest } from '../upstream/provider-target.ts';
import type { Route } from '../upstream/upstream.ts';
import type { AttemptResult } from './attempt-result.ts';

/**
 * How much of a stream is searched for delivered text, in bytes: its start, then the start of every eighth piece, which
 * stands for the rest. Searching everything would cost a bursty stream a third of its events per second
 * (`npm run bench -- pass-through`).
 */
const SEARCHED_AT_START = 8 * 1024;
const SEARCHED_PER_SAMPLE = 1024;
const SAMPLE_EVERY = 8;

/** Adds up what the attempts of one call used: where routes continue or overtake each other, several are charged. */
export class CallAccount {
  readonly #meters: AttemptMeter[] = [];
  readonly #unseen: number;

  /** `unseen`: max. tokens of an answer that goes on in the background; 0 for one that ends with its call. */
  constructor({ unseen = 0 } = {}) {
    this.#unseen = unseen;
  }

  attempt({ price }: Pick<Route, 'price'>, request: Pick<TargetRequest, 'api' | 'body'>): AttemptMeter {
    const meter = new AttemptMeter(price, request, this.#unseen);
    this.#meters.push(meter);
    return meter;
  }

  /** What all attempts have used so far. */
  get used(): UsageTotals {
    return totalsOf(usageOf(this.#meters));
  }
}

/** Meters one attempt in whatever form its answer arrives. */
export class AttemptMeter extends CallMeter {
  readonly #api: string;
  readonly #isBackground: boolean;
  #isAtStart = true;
  /** Bytes of the stream that were searched recently, and the tokens found in them. */
  #searchedBytes = 0;
  #foundTokens = 0;
  #pieces = 0;

  constructor(price: Route['price'], { api, body }: Pick<TargetRequest, 'api' | 'body'>, unseen: number) {
    const prompt = () => {
      const fields = fieldsOf(body);
      return fields ? promptTokens(fields) : formTokens(body?.length ?? 0);
    };
    super({ price }, { prompt, answers: () => requestedAnswers(api, fieldsOf(body) ?? {}) });
    this.#api = api;
    this.#isBackground = unseen > 0;
    this.setUnseen(unseen);
  }

  /** Counts whole events of a stream. Returns the estimated tokens in them. */
  countEvents(bytes: Buffer): number {
    const searched = bytes.subarray(0, this.#bytesToSearch());
    const found = deliveredWeight(searched.toString('utf8'), { api: this.#api, streamed: true });
    if (searched.length > 0) this.#updateDensity(searched.length, found);
    const rest = bytes.length - searched.length;
    const weight = rest > 0 ? found + (rest * this.#foundTokens) / this.#searchedBytes : found;
    this.addDelivered(weight);
    return weight;
  }

  /** The density of a stream changes: everything searched earlier weighs at most as much as one sample. */
  #updateDensity(bytes: number, found: number): void {
    const earlierWeight = this.#isAtStart ? 1 : Math.min(1, SEARCHED_PER_SAMPLE / this.#searchedBytes);
    this.#searchedBytes = this.#searchedBytes * earlierWeight + bytes;
    this.#foundTokens = this.#foundTokens * earlierWeight + found;
    this.#isAtStart &&= this.#searchedBytes < SEARCHED_AT_START;
  }

  /** How much of the next piece is searched, in bytes. */
  #bytesToSearch(): number {
    if (this.#isAtStart) return SEARCHED_AT_START;
    return ++this.#pieces % SAMPLE_EVERY === 0 ? SEARCHED_PER_SAMPLE : 0;
  }

  /** Counts a piece of an answer that is not read event by event. */
  countBytes(length: number): void {
    if (answersText(this.#api)) this.addDelivered(length / BYTES_PER_TOKEN);
  }

  /** Counts the usage in a result. Rejects as `result` does: what was delivered until then still counts. */
  countResult(result: Promise<AttemptResult>): Promise<AttemptResult> {
    return result.then((ended) => this.#count(ended));
  }

  #count(ended: AttemptResult): AttemptResult {
    if (ended.is === 'answered') this.#answered(ended.answer.body, ended.usage);
    // In the Responses API only the last event reports usage, also that of a failure.
    const isOver = this.#api === 'responses' || !('failure' in ended && ended.failure);
    const whole = isOver && !('midway' in ended && ended.midway);
    if (ended.usage) this.reported(ended.usage, { whole });
    if (this.#isBackground && isFinished(ended)) this.setUnseen(0);
    return ended;
  }

  /** An answer has no more text than bytes, so most reported counts can be trusted without reading it. */
  #answered(body: Buffer, usage: TurnUsage | null): void {
    const { outputTokens } = usage ?? { outputTokens: 0 };
    if (usage && isPlausible(outputTokens) && isCredible(outputTokens, body.length / BYTES_PER_TOKEN)) return;
    this.countWholeText(body);
  }

  /** Counts the text of a complete answer. */
  countWholeText(body: Buffer): void {
    this.setDelivered(deliveredWeight(body.toString('utf8'), { api: this.#api, streamed: false }));
  }
}

/** Whether an answer that was requested in the background is complete. */
function isFinished(ended: AttemptResult): boolean {
  if (ended.is !== 'answered') return ended.is === 'delivered' && ended.failure === undefined;
  const status = fieldsOf(ended.answer.body)?.status;
  return status !== 'queued' && status !== 'in_progress';
}

function fieldsOf(body: TargetRequest['body']): Record<string, unknown> | undefined {
  const request = body === null ? undefined : parseJson(body.toString());
  return isObject(request) ? request : undefined;
}
