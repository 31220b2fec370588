import type { ServerResponse } from 'node:http';
import { GatewayError } from '../../base/errors.ts';
import { FairSemaphore, type Permit } from '../../base/fair-semaphore.ts';

/** A reader that has read nothing for this long may be disconnected to make room for others, in milliseconds. */
const STALLED_MS = 1000;

interface Reservation {
  res: ServerResponse;
  permit: Permit;
  /** When its reader last read something, as `performance.now()`. */
  movedAt: number;
}

/**
 * Limits the memory of all long answers that clients are reading, in bytes. When it is used up, the reader that has stalled
 * for longest is disconnected; if none has stalled, the new answer is refused.
 */
export class LongAnswers {
  readonly #limit: number;
  readonly #bytes: FairSemaphore;
  readonly #now: () => number;
  readonly #open = new Set<Reservation>();

  constructor({ limit, now = () => performance.now() }: { limit: number; now?: () => number }) {
    this.#limit = limit;
    const full = () => new GatewayError('overloaded', 'Too many long answers are being read. Try again.');
    this.#bytes = new FairSemaphore({ name: 'long_answers', permits: limit, fullError: full });
    this.#now = now;
  }

  /** The memory in use, in bytes. */
  get total(): number {
    return this.#bytes.held;
  }

  /**
   * Reserves memory for an answer until disposed. One that is larger than the limit is accepted if there is no other.
   * Call `moved` whenever the reader has read something.
   * @throws GatewayError `overloaded`.
   */
  reserve(res: ServerResponse, bytes: number): Disposable & { moved(): void } {
    const permit = this.#bytes.open('');
    const needed = Math.min(bytes, this.#limit);
    while (!permit.tryGrow(needed)) if (!this.#endStalled()) permit.grow(needed);
    const answer: Reservation = { res, permit, movedAt: this.#now() };
    this.#open.add(answer);
    return {
      moved: () => {
        answer.movedAt = this.#now();
      },
      [Symbol.dispose]: () => this.#release(answer),
    };
  }

  /** Disconnects the reader that has stalled for longest; false if none has stalled. */
  #endStalled(): boolean {
    let stalest: Reservation | undefined;
    for (const answer of this.#open) if (!stalest || answer.movedAt < stalest.movedAt) stalest = answer;
    if (!stalest || this.#now() - stalest.movedAt < STALLED_MS) return false;
    this.#release(stalest);
    stalest.res.destroy();
    return true;
  }

  #release(answer: Reservation): void {
    this.#open.delete(answer);
    answer.permit[Symbol.dispose]();
  }
}
