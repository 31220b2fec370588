import type { ServerResponse } from 'node:http';
import { GatewayError } from '../../base/errors.ts';
import { FairSemaphore, type Permit } from '../../base/fair-semaphore.ts';

/** A reader that took nothing for this long makes room for others, in milliseconds. */
const STALLED_MS = 1000;

interface OpenAnswerMemory {
  res: ServerResponse;
  permit: Permit;
  /** When its reader last took something, as `performance.now()`. */
  movedAt: number;
}

/**
 * Memory of long answers that are whole while their readers take them, in bytes, all of them together. Once it is used
 * up, the reader that has stood still for longest loses its connection; if all of them read, the new answer is refused.
 */
export class LongAnswers {
  readonly #limit: number;
  readonly #bytes: FairSemaphore;
  readonly #now: () => number;
  readonly #open = new Set<OpenAnswerMemory>();

  constructor({ limit, now = () => performance.now() }: { limit: number; now?: () => number }) {
    this.#limit = limit;
    const full = () => new GatewayError('overloaded', 'Too many long answers are being read. Try again.');
    this.#bytes = new FairSemaphore({ name: 'long_answers', permits: limit, full });
    this.#now = now;
  }

  /** What is held now, in bytes. */
  get total(): number {
    return this.#bytes.held;
  }

  /**
   * Holds an answer until disposed. One that is larger than the limit passes alone.
   * @throws GatewayError `overloaded`.
   */
  reserve(res: ServerResponse, bytes: number): Disposable & { moved(): void } {
    const permit = this.#bytes.open('');
    const needed = Math.min(bytes, this.#limit);
    while (!permit.tryGrow(needed)) if (!this.#endStalled()) permit.grow(needed);
    const held: OpenAnswerMemory = { res, permit, movedAt: this.#now() };
    this.#open.add(held);
    return {
      moved: () => {
        held.movedAt = this.#now();
      },
      [Symbol.dispose]: () => this.#release(held),
    };
  }

  /** Ends the answer whose reader has stood still for longest; false where all of them read. */
  #endStalled(): boolean {
    let stalest: OpenAnswerMemory | undefined;
    for (const held of this.#open) if (!stalest || held.movedAt < stalest.movedAt) stalest = held;
    if (!stalest || this.#now() - stalest.movedAt < STALLED_MS) return false;
    this.#release(stalest);
    stalest.res.destroy();
    return true;
  }

  #release(held: OpenAnswerMemory): void {
    this.#open.delete(held);
    held.permit[Symbol.dispose]();
  }
}
