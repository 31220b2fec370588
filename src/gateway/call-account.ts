import { isObject, parseJson } from '../base/json.ts';
import {
  answersText,
  askedAnswers,
  BYTES_A_TOKEN,
  CallMeter,
  deliveredWeight,
  formTokens,
  isCommon,
  isCredible,
  promptTokens,
  type TurnUsage,
  type Used,
  usageOf,
  usedOf,
} from '../upstream/provider-answer.ts';
import type { TargetRequest } from '../upstream/provider-target.ts';
import type { Route } from '../upstream/upstream.ts';
import type { AttemptResult } from './attempt-result.ts';

/**
 * How much of a stream is searched for what was delivered, in bytes: its beginning, and then the beginning of one piece in so
 * many, which stand for the rest. All of it would cost a stream of bursts a third of its events a second
 * (`npm run bench -- pass-through`).
 */
const SEARCHED_FIRST = 8 * 1024;
const SEARCHED_LATER = 1024;
const SEARCHED_ONE_IN = 8;

/** Adds up what the attempts of one call used: several are paid where routes continue or overtake each other. */
export class CallAccount {
  readonly #meters: AttemptMeter[] = [];
  readonly #unseen: number;

  /** `unseen`: tokens that an answer may have which goes on in the background; 0 where it ends with its call. */
  constructor({ unseen = 0 } = {}) {
    this.#unseen = unseen;
  }

  /** A route is asked. */
  attempt({ price }: Pick<Route, 'price'>, request: Pick<TargetRequest, 'api' | 'body'>): AttemptMeter {
    const meter = new AttemptMeter(price, request, this.#unseen);
    this.#meters.push(meter);
    return meter;
  }

  /** What was used so far. */
  get used(): Used {
    return usedOf(usageOf(this.#meters));
  }
}

/** The meter of one attempt, which counts an answer in the form in which it passes. */
export class AttemptMeter extends CallMeter {
  readonly #api: string;
  readonly #isBackground: boolean;
  #isBeginning = true;
  /** What was searched lately of a stream: bytes, and the tokens in them. */
  #searched = 0;
  #found = 0;
  #pieces = 0;

  constructor(price: Route['price'], { api, body }: Pick<TargetRequest, 'api' | 'body'>, unseen: number) {
    super(
      { price },
      {
        prompt: () => promptOf(body),
        answers: () => askedAnswers(api, fieldsOf(body) ?? {}),
      },
    );
    this.#api = api;
    this.#isBackground = unseen > 0;
    this.unseen(unseen);
  }

  /** Whole events of a stream came. Returns the estimated tokens in them. */
  events(bytes: Buffer): number {
    const searched = bytes.subarray(0, this.#share());
    const found = deliveredWeight(searched.toString('utf8'), { api: this.#api, streamed: true });
    if (searched.length > 0) this.#learn(searched.length, found);
    const rest = bytes.length - searched.length;
    const weight = rest > 0 ? found + (rest * this.#found) / this.#searched : found;
    this.delivered(weight);
    return weight;
  }

  /** Streams change their pace: all that was searched before counts as much as one piece at most. */
  #learn(bytes: number, found: number): void {
    const before = this.#isBeginning ? 1 : Math.min(1, SEARCHED_LATER / this.#searched);
    this.#searched = this.#searched * before + bytes;
    this.#found = this.#found * before + found;
    this.#isBeginning &&= this.#searched < SEARCHED_FIRST;
  }

  /** How much of the next piece is searched, in bytes. */
  #share(): number {
    if (this.#isBeginning) return SEARCHED_FIRST;
    return ++this.#pieces % SEARCHED_ONE_IN === 0 ? SEARCHED_LATER : 0;
  }

  /** A piece of an answer came that is not read piece by piece. */
  bytes(length: number): void {
    if (answersText(this.#api)) this.delivered(length / BYTES_A_TOKEN);
  }

  /** The result of the attempt, once what it tells is counted. Rejects as `result` does: what came until then counts. */
  result(result: Promise<AttemptResult>): Promise<AttemptResult> {
    return result.then((ended) => this.#count(ended));
  }

  #count(ended: AttemptResult): AttemptResult {
    if (ended.is === 'answered') this.#answered(ended.answer.body, ended.usage);
    const whole = ended.is === 'answered' || (ended.is === 'delivered' && !ended.failure && !ended.midway);
    if (ended.usage) this.reported(ended.usage, { whole });
    if (this.#isBackground && isOver(ended)) this.unseen(0);
    return ended;
  }

  /** An answer cannot have more text than bytes: most that is reported needs no second look. */
  #answered(body: Buffer, usage: TurnUsage | null): void {
    const { outputTokens } = usage ?? { outputTokens: 0 };
    if (usage && isCommon(outputTokens) && isCredible(outputTokens, body.length / BYTES_A_TOKEN)) return;
    this.wholeText(body);
  }

  /** An answer came whole: what its model wrote is in these bytes. */
  wholeText(body: Buffer): void {
    this.deliveredInAll(deliveredWeight(body.toString('utf8'), { api: this.#api, streamed: false }));
  }
}

/** Whether an answer that was asked for in the background is there to its end. */
function isOver(ended: AttemptResult): boolean {
  if (ended.is !== 'answered') return ended.is === 'delivered' && ended.failure === undefined;
  const status = fieldsOf(ended.answer.body)?.status;
  return status !== 'queued' && status !== 'in_progress';
}

/** An estimate of the tokens of a request, JSON or not. */
function promptOf(body: TargetRequest['body']): number {
  const fields = fieldsOf(body);
  return fields ? promptTokens(fields) : formTokens(body?.length ?? 0);
}

function fieldsOf(body: TargetRequest['body']): Record<string, unknown> | undefined {
  const request = body === null ? undefined : parseJson(body.toString());
  return isObject(request) ? request : undefined;
}
