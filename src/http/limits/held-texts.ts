import type { ServerResponse } from 'node:http';
import { GatewayError } from '../../base/errors.ts';

/** A reader that took nothing for this long makes room for others, in milliseconds. */
const STALLED_MS = 1000;

interface Held {
  res: ServerResponse;
  bytes: number;
  /** When its reader last took something, as `performance.now()`. */
  movedAt: number;
}

/**
 * Memory of long answers that are whole while their readers take them, in bytes, all of them together. Where it is used
 * up, readers that stand still lose their connection first; where none does, the new answer is refused.
 */
export class HeldTexts {
  readonly #limit: number;
  readonly #now: () => number;
  readonly #held = new Set<Held>();
  #total = 0;

  constructor(options: { limit: number; now?: () => number }) {
    this.#limit = options.limit;
    this.#now = options.now ?? (() => performance.now());
  }

  /** What is held now, in bytes. */
  get total(): number {
    return this.#total;
  }

  /**
   * Holds an answer until disposed.
   * @throws GatewayError `overloaded`.
   */
  hold(res: ServerResponse, bytes: number): Disposable & { moved(): void } {
    while (this.#total > 0 && this.#total + bytes > this.#limit) this.#makeRoom();
    const held: Held = { res, bytes, movedAt: this.#now() };
    this.#held.add(held);
    this.#total += bytes;
    return {
      moved: () => {
        held.movedAt = this.#now();
      },
      [Symbol.dispose]: () => this.#release(held),
    };
  }

  #makeRoom(): void {
    let stalest: Held | undefined;
    for (const held of this.#held) if (!stalest || held.movedAt < stalest.movedAt) stalest = held;
    if (!stalest || this.#now() - stalest.movedAt < STALLED_MS) {
      throw new GatewayError('overloaded', 'Too many long answers are being read. Try again.');
    }
    this.#release(stalest);
    stalest.res.destroy();
  }

  #release(held: Held): void {
    if (this.#held.delete(held)) this.#total -= held.bytes;
  }
}
