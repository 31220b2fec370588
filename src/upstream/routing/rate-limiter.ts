import { linkSignals, sleep, TimeoutError } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { GatewayError } from '../../base/errors.ts';
import { FairSemaphore, type Permit } from '../../base/fair-semaphore.ts';
import { workOwner } from '../../base/load/event-loop.ts';

/** How the callers of a provider slow down when it limits their rate. */
export interface LimiterPolicy {
  /** The pause after a 429 that names none, doubling with each in a row, in milliseconds. */
  pauseMs: number;
  maxPauseMs: number;
}

export const DEFAULT_LIMITER: LimiterPolicy = { pauseMs: 1000, maxPauseMs: 30_000 };

/**
 * The longest pause that a provider is granted: otherwise one wrong `Retry-After` would park its route, for every run,
 * until the gateway restarts. Timers cannot wait for longer than 24 days anyway.
 */
const MAX_PAUSE_MS = 3_600_000;

/** How long a call waits for a provider that limits us, in milliseconds. */
export interface SlotPatience {
  /** The longest pause that the provider may ask for. */
  pauseMs: number;
  /** The longest wait for running calls to end: they may be long streams. */
  slotMs: number;
  /** After `slotMs` it starts without a slot. */
  insists: boolean;
}

type State =
  | { is: 'free' }
  /** No call starts before `until`; at most `slots` run at once. `since`: when the last 429 came that counts. */
  | { is: 'limited'; since: number; until: number; slots: number; inARow: number };

/** With this many slots the limit no longer means anything, and ends. */
const MAX_SLOTS = 256;
/** How many calls may wait for a slot. */
const MAX_WAITING = 10_000;

/**
 * Shared by all calls to one model of a provider under one credential. Unlimited until the provider answers 429; then
 * every new call pauses, and half as many as were running may run at once. Each success adds a slot (additive increase,
 * multiplicative decrease), so that callers slow down together instead of storming, and API keys take fair turns.
 */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #policy: LimiterPolicy;
  readonly #slots = new FairSemaphore({
    name: 'provider_slots',
    permits: () => (this.#state.is === 'free' ? Number.POSITIVE_INFINITY : this.#state.slots),
    maxWaiting: MAX_WAITING,
    fullError: () =>
      new GatewayError('overloaded', 'Too many requests wait for a provider that limits them. Try again.'),
  });
  #state: State = { is: 'free' };

  constructor(clock: Clock, policy: LimiterPolicy = DEFAULT_LIMITER) {
    this.#clock = clock;
    this.#policy = policy;
  }

  /** Milliseconds until a call may start, as far as is known. */
  get pauseMs(): number {
    return this.#state.is === 'free' ? 0 : Math.max(0, this.#state.until - this.#clock.now());
  }

  get running(): number {
    return this.#slots.held;
  }

  /** Whether a call may start at once. */
  get isFree(): boolean {
    return this.#state.is === 'free' || (this.pauseMs === 0 && this.running < this.#state.slots);
  }

  /**
   * Waits for a slot; disposing frees it. Undefined if none is to be had within the `patience`.
   * @throws GatewayError `overloaded`; the signal's reason.
   */
  async acquire(signal: AbortSignal, patience: () => SlotPatience): Promise<Permit | undefined> {
    const owner = workOwner();
    for (;;) {
      const pause = this.pauseMs;
      if (pause > 0) {
        if (pause > patience().pauseMs) return undefined;
        // A timer may fire a millisecond before the clock says so.
        await sleep(pause, { signal });
        continue;
      }
      const slot = this.isFree ? await this.#slots.acquire(owner, signal) : await this.#wait(owner, signal, patience());
      if (slot === undefined || this.pauseMs === 0) return slot;
      // The provider answered another 429 while this call waited.
      slot[Symbol.dispose]();
    }
  }

  /** Waits for a running call to end. */
  async #wait(owner: string, signal: AbortSignal, { slotMs, insists }: SlotPatience): Promise<Permit | undefined> {
    if (slotMs > 0) {
      using limit = linkSignals([signal], { what: 'the wait for a limited provider', timeoutMs: slotMs });
      try {
        return await this.#slots.acquire(owner, limit.signal);
      } catch (error) {
        if (!(error instanceof TimeoutError) || signal.aborted) throw error;
      }
    }
    return insists ? this.#slots.open(owner) : undefined;
  }

  /**
   * The provider limited a call that began at `startedAt`; `retryAfterMs`: what it asked for. Of calls that were under way
   * together one counts: they say the same.
   */
  limited(retryAfterMs: number | undefined, startedAt = this.#clock.now()): void {
    const now = this.#clock.now();
    const last = this.#state.is === 'limited' ? this.#state : undefined;
    const isKnown = last !== undefined && startedAt < last.since;
    const inARow = (last?.inARow ?? 0) + 1;
    const ownPause = isKnown ? 0 : Math.min(this.#policy.maxPauseMs, this.#policy.pauseMs * 2 ** (inARow - 1));
    const pause = retryAfterMs === undefined ? ownPause : Math.min(retryAfterMs, MAX_PAUSE_MS);
    const until = Math.max(last?.until ?? 0, now + pause);
    const slots = Math.max(1, Math.floor(this.running / 2));
    this.#state = isKnown ? { ...last, until } : { is: 'limited', since: now, until, slots, inARow };
  }

  succeeded(): void {
    if (this.#state.is === 'free') return;
    const slots = this.#state.slots + 1;
    this.#state =
      slots >= MAX_SLOTS || slots > this.running * 4 ? { is: 'free' } : { ...this.#state, slots, inARow: 0 };
    this.#slots.serve();
  }
}
