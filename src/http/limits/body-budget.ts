import { GatewayError } from '../../base/errors.ts';

/** How much of the memory for bodies one key may take. */
const SHARE_OF_KEY = 0.5;

/**
 * Memory for the bodies of requests that are being read or answered, in bytes, all of them together. What counts is
 * what has arrived: an announced length takes no place from anybody.
 */
export class BodyBudget {
  readonly #limit: () => number;
  readonly #byKey = new Map<string, number>();
  #total = 0;

  /** @param limit in bytes. */
  constructor(limit: () => number) {
    this.#limit = limit;
  }

  /** What is taken now, in bytes. */
  get taken(): number {
    return this.#total;
  }

  /** The place of one request, empty at first. Disposing it gives back what it took. */
  open(keyId: string): BodyPlace {
    return new BodyPlace(this, keyId);
  }

  /** @throws GatewayError `overloaded` where there is no place for so many bytes more. */
  take(keyId: string, bytes: number): void {
    const ofKey = (this.#byKey.get(keyId) ?? 0) + bytes;
    const limit = this.#limit();
    if (this.#total + bytes > limit || ofKey > limit * SHARE_OF_KEY) {
      throw new GatewayError('overloaded', 'The gateway is reading too many large requests. Try again.');
    }
    this.#total += bytes;
    this.#byKey.set(keyId, ofKey);
  }

  giveBack(keyId: string, bytes: number): void {
    this.#total -= bytes;
    const ofKey = (this.#byKey.get(keyId) ?? 0) - bytes;
    if (ofKey > 0) this.#byKey.set(keyId, ofKey);
    else this.#byKey.delete(keyId);
  }
}

/** What one request takes of the budget. */
export class BodyPlace implements Disposable {
  readonly #budget: BodyBudget;
  readonly #keyId: string;
  #held = 0;

  constructor(budget: BodyBudget, keyId: string) {
    this.#budget = budget;
    this.#keyId = keyId;
  }

  /** @throws GatewayError `overloaded` where there is no place for so many bytes more. */
  grow(bytes: number): void {
    this.#budget.take(this.#keyId, bytes);
    this.#held += bytes;
  }

  [Symbol.dispose](): void {
    if (this.#held === 0) return;
    this.#budget.giveBack(this.#keyId, this.#held);
    this.#held = 0;
  }
}
