import { priced, type TurnUsage } from '../upstream/provider-answer.ts';
import type { Route } from '../upstream/upstream.ts';
import type { AttemptResult } from './attempt-result.ts';

/** What a call was, once it is over. Null: it cannot be said, because a provider did not tell. */
export interface Spent {
  tokens: number | null;
  /** In `server.currency`, of the routes that have a price. */
  cost: number | null;
}

/** A token has about so many bytes of a request, and so many characters of an answer. */
const CHARACTERS = 4;

/** Adds up what the attempts of one call were: several are paid where routes continue or overtake each other. */
export class CallAccount {
  readonly #inputTokens: number;
  #tokens: number | null = 0;
  #cost: number | null = 0;

  /** `requestBytes`: the length of the request, for what no provider counted. */
  constructor(requestBytes: number) {
    this.#inputTokens = Math.ceil(requestBytes / CHARACTERS);
  }

  get spent(): Spent {
    return { tokens: this.#tokens, cost: this.#cost };
  }

  add(route: Route, result: AttemptResult): void {
    if (result.is !== 'failed') this.#count(route, result.usage);
    else if (result.usage) this.#count(route, result.usage);
    else if (result.written !== undefined) this.#count(route, this.#estimated(result.written));
  }

  /** Another route was faster: the provider has read the request all the same. */
  overtaken(route: Route): void {
    this.#count(route, this.#estimated(0));
  }

  #estimated(written: number): TurnUsage {
    const outputTokens = Math.ceil(written / CHARACTERS);
    return { inputTokens: this.#inputTokens, cachedTokens: 0, outputTokens, reasoningTokens: 0, estimated: true };
  }

  #count({ price }: Route, usage: TurnUsage | null): void {
    const tokens = usage && usage.inputTokens + usage.outputTokens;
    const cost = price ? usage && (priced(usage, price).cost ?? 0) : 0;
    this.#tokens = this.#tokens === null || tokens === null ? null : this.#tokens + tokens;
    this.#cost = this.#cost === null || cost === null ? null : this.#cost + cost;
  }
}
