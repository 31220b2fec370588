import { GatewayError } from '../../base/errors.ts';

/** Submissions that begin in one turn of the event loop: each costs a few milliseconds. */
const PER_TURN = 2;
/** Submissions that wait for their turn; more are refused. */
const MAX_WAITING = 5000;
/** How long the first of them may have waited before more are refused, in milliseconds. */
const MAX_WAIT_MS = 10_000;

interface Waiting {
  since: number;
  signal: AbortSignal;
  enter(): void;
  leave(reason: unknown): void;
}

/**
 * Lets submissions in a few at a time: whatever crowd comes at once, what runs already has its turn between them. One
 * that comes alone does not wait.
 */
export class Turnstile {
  #waiting: Waiting[] = [];
  /** Let in since the event loop last went round. */
  #entered = 0;
  #scheduled = false;

  /** @throws GatewayError `overloaded` where too many wait; the signal's reason. */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#schedule();
    if (this.#entered < PER_TURN && this.#waiting.length === 0) {
      this.#entered++;
      return;
    }
    const first = this.#waiting[0];
    if (this.#waiting.length >= MAX_WAITING || (first && performance.now() - first.since > MAX_WAIT_MS)) {
      throw new GatewayError('overloaded', 'Too many requests came at once. Try again.', { retryAfterMs: 2000 });
    }
    await new Promise<void>((enter, leave) => {
      this.#waiting.push({ since: performance.now(), signal, enter, leave });
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    this.#entered = 0;
    while (this.#entered < PER_TURN) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#schedule();
      if (next.signal.aborted) {
        next.leave(next.signal.reason);
        continue;
      }
      this.#entered++;
      next.enter();
    }
  }
}
