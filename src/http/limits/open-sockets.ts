import { GatewayError } from '../../base/errors.ts';

/**
 * Counts WebSockets that are open. A key may have as many as are left for others: one alone has half of them at most,
 * the next one half of the rest.
 */
export class OpenSockets {
  readonly #most: number;
  readonly #byKey = new Map<string, number>();
  #total = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Counts one until disposed. @throws GatewayError `overloaded`. */
  add(keyId: string): Disposable {
    const own = this.#byKey.get(keyId) ?? 0;
    if (own >= this.#most - this.#total) {
      throw new GatewayError('overloaded', 'Too many WebSockets are open: try again.');
    }
    this.#change(keyId, 1);
    let open = true;
    return {
      [Symbol.dispose]: () => {
        if (open) this.#change(keyId, -1);
        open = false;
      },
    };
  }

  #change(keyId: string, by: number): void {
    this.#total += by;
    const own = (this.#byKey.get(keyId) ?? 0) + by;
    if (own > 0) this.#byKey.set(keyId, own);
    else this.#byKey.delete(keyId);
  }
}
