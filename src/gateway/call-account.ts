import { isObject, parseJson } from '../base/json.ts';
import { CallMeter, promptTokens, usageOf } from '../upstream/provider-answer.ts';
import type { TargetRequest } from '../upstream/provider-target.ts';
import type { Route } from '../upstream/upstream.ts';

/** What a call used: tokens, and money in `server.currency`, of routes that have a price. */
export interface Spent {
  tokens: number;
  cost: number;
}

/** Bytes of a request that is no JSON for each of its tokens, and the most that its attachments count. */
const BYTES = 4;
const MOST_OF_A_FORM = 1000;

/** Adds up what the attempts of one call used: several are paid where routes continue or overtake each other. */
export class CallAccount {
  readonly #meters: CallMeter[] = [];

  /** A route is asked. */
  attempt({ price }: Pick<Route, 'price'>, { body }: Pick<TargetRequest, 'body'>): CallMeter {
    const meter = new CallMeter({ price }, () => tokensOf(body));
    this.#meters.push(meter);
    return meter;
  }

  /** What was used so far. */
  get spent(): Spent {
    const { inputTokens, outputTokens, cost = 0 } = usageOf(this.#meters);
    return { tokens: inputTokens + outputTokens, cost };
  }
}

function tokensOf(body: Buffer | string | null): number {
  if (body === null) return 0;
  const request = parseJson(body.toString());
  return isObject(request) ? promptTokens(request) : Math.min(MOST_OF_A_FORM, Math.ceil(body.length / BYTES));
}
