import type { Clock } from '../../base/clock.ts';

/** When a route is skipped and when it is tried again. */
export interface BreakerPolicy {
  failures: number;
  /** How long the circuit first stays open, doubling with each failed probe up to `maxOpenMs`, in milliseconds. */
  openMs: number;
  maxOpenMs: number;
  /** How long a probe keeps others away, in milliseconds. */
  probeMs: number;
}

/** A recovered route is in use again within ten seconds, however long it was away. */
export const DEFAULT_BREAKER: BreakerPolicy = { failures: 5, openMs: 2000, maxOpenMs: 8000, probeMs: 8000 };

type State =
  | { is: 'closed'; failures: number }
  | { is: 'open'; until: number; openMs: number }
  | { is: 'probing'; since: number; openMs: number };

/**
 * Keeps requests away from a provider's model that keeps failing:
 *
 *   closed --failures in a row--> open --time--> probing --success--> closed
 *                                   ^------------failure------'
 *
 * One attempt at a time probes; a probe that never reports makes room for the next after `probeMs`.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #policy: BreakerPolicy;
  #state: State = { is: 'closed', failures: 0 };

  constructor(clock: Clock, policy: BreakerPolicy = DEFAULT_BREAKER) {
    this.#clock = clock;
    this.#policy = policy;
  }

  /** Whether the route may be tried now. Changes nothing. */
  get allows(): boolean {
    const state = this.#state;
    if (state.is === 'closed') return true;
    if (state.is === 'open') return this.#clock.now() >= state.until;
    return this.#clock.now() >= state.since + this.#policy.probeMs;
  }

  /** For health reports: `closed`, `open` or `probing`. */
  get state(): State['is'] {
    return this.#state.is;
  }

  /** Milliseconds until an open circuit is probed; 0 where it may be tried now. */
  get retryInMs(): number {
    return this.#state.is === 'open' ? Math.max(0, this.#state.until - this.#clock.now()) : 0;
  }

  /** An attempt begins: on an open circuit it is the probe. */
  begin(): void {
    if (this.#state.is === 'closed') return;
    this.#state = { is: 'probing', since: this.#clock.now(), openMs: this.#state.openMs };
  }

  /** The attempt ended. `unknown`: it says nothing about the route's health (the client disconnected, a refusal). */
  end(outcome: 'healthy' | 'unhealthy' | 'unknown'): void {
    const state = this.#state;
    if (outcome === 'healthy') this.#state = { is: 'closed', failures: 0 };
    else if (outcome === 'unhealthy') this.#fail();
    else if (state.is === 'probing') this.#state = { is: 'open', until: this.#clock.now(), openMs: state.openMs };
  }

  #fail(): void {
    const state = this.#state;
    if (state.is === 'closed') {
      const failures = state.failures + 1;
      this.#state = failures < this.#policy.failures ? { is: 'closed', failures } : this.#open(this.#policy.openMs);
    } else if (state.is === 'probing') this.#state = this.#open(Math.min(state.openMs * 2, this.#policy.maxOpenMs));
  }

  #open(openMs: number): State {
    return { is: 'open', until: this.#clock.now() + openMs, openMs };
  }
}
