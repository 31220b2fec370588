import { sleep } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';

/** How the runs that share a provider slow down when it limits them. */
export interface LimiterPolicy {
  /** Pause after a 429 that names none, doubling with each in a row, in milliseconds. */
  pauseMs: number;
  maxPauseMs: number;
}

export const DEFAULT_LIMITER: LimiterPolicy = { pauseMs: 1000, maxPauseMs: 30_000 };

/**
 * The longest pause that a provider is granted: one wrong `Retry-After` would park its route, for every run, until the
 * gateway is started again; timers do not wait for longer than 24 days at all.
 */
const LONGEST_PAUSE_MS = 3_600_000;

type State =
  | { is: 'free' }
  /** Nobody starts before `until`; at most `slots` exchanges run at once. */
  | { is: 'limited'; until: number; slots: number; inARow: number };

/** Slots beyond which a limit means nothing any more. */
const FREE_AT = 256;

/**
 * Shared by all exchanges with one provider under one credential. Free until the provider answers 429; then everybody
 * pauses, and as many as half of those that were running go on at once. Each success gives one slot back (additive
 * increase, multiplicative decrease), so that runs slow down together instead of storming.
 */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #policy: LimiterPolicy;
  readonly #waiting: (() => void)[] = [];
  #state: State = { is: 'free' };
  #running = 0;

  constructor(clock: Clock, policy: LimiterPolicy = DEFAULT_LIMITER) {
    this.#clock = clock;
    this.#policy = policy;
  }

  /** Milliseconds until an exchange may start, as far as it is known. */
  get pauseMs(): number {
    return this.#state.is === 'free' ? 0 : Math.max(0, this.#state.until - this.#clock.now());
  }

  get running(): number {
    return this.#running;
  }

  /** Takes a slot where one is free now; `leave` frees it. */
  tryEnter(): boolean {
    if (this.#state.is === 'limited' && (this.pauseMs > 0 || this.#running >= this.#state.slots)) return false;
    this.#running += 1;
    return true;
  }

  /** Waits for a slot, in order of arrival; `leave` frees it. */
  async enter(options: { signal: AbortSignal }): Promise<void> {
    for (;;) {
      options.signal.throwIfAborted();
      if (this.tryEnter()) return;
      const pause = this.pauseMs;
      if (pause > 0) await sleep(pause, options);
      else await this.#queue(options.signal);
    }
  }

  /** The exchange is over: once for each slot. */
  leave(): void {
    this.#running -= 1;
    this.#wake();
  }

  /** The provider limited us; `retryAfterMs`: what it asked for. */
  limited(retryAfterMs: number | undefined): void {
    const inARow = this.#state.is === 'limited' ? this.#state.inARow + 1 : 1;
    const asked = retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, LONGEST_PAUSE_MS);
    const pause = asked ?? Math.min(this.#policy.maxPauseMs, this.#policy.pauseMs * 2 ** (inARow - 1));
    const until = Math.max(this.#state.is === 'limited' ? this.#state.until : 0, this.#clock.now() + pause);
    this.#state = { is: 'limited', until, slots: Math.max(1, Math.floor(this.#running / 2)), inARow };
  }

  succeeded(): void {
    if (this.#state.is === 'free') return;
    const slots = this.#state.slots + 1;
    this.#state = slots >= FREE_AT || slots > this.#running * 4 ? { is: 'free' } : { ...this.#state, slots, inARow: 0 };
    this.#wake();
    if (this.#state.is === 'free') while (this.#waiting.length > 0) this.#wake();
  }

  #queue(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => {
      const at = this.#waiting.indexOf(wake);
      if (at === -1) this.#wake();
      else this.#waiting.splice(at, 1);
      reject(signal.reason);
    };
    const wake = () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.push(wake);
    return promise;
  }

  #wake(): void {
    this.#waiting.shift()?.();
  }
}
