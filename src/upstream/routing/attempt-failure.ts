import type { JsonObject } from '../../base/json.ts';
import type { TurnFailureKind } from '../turn.ts';
import type { Blame } from './refusals.ts';

/** Where another attempt may succeed: `again` on the same route, `elsewhere` on another one, `never` on none. */
export type RetryAdvice = 'again' | 'elsewhere' | 'never';

export interface AttemptFailureDetails {
  kind: TurnFailureKind;
  advice: RetryAdvice;
  /** HTTP status of the provider, if it answered with one. */
  status?: number | undefined;
  /** The provider's own error codes. */
  codes?: readonly string[];
  /** How long the provider asked us to wait, in milliseconds. */
  retryAfterMs?: number | undefined;
  /**
   * The provider's error body and the request that it refused, for dialects to learn from. Never shown or logged: it may
   * repeat a credential.
   */
  refusal?: { text: string; body: JsonObject } | undefined;
  /** What the provider's refusal blames, where it refused. */
  blames?: Blame | undefined;
  /** The provider's answer was empty. */
  saysNothing?: boolean;
  /** Whether the failure counts against the provider's health, for the circuit breaker. */
  unhealthy?: boolean;
}

/** One attempt at one route failed. The message holds no credential and does not name the route. */
export class AttemptFailure extends Error {
  override readonly name = 'AttemptFailure';
  readonly kind: TurnFailureKind;
  readonly advice: RetryAdvice;
  readonly status: number | undefined;
  readonly codes: readonly string[];
  readonly retryAfterMs: number | undefined;
  readonly #refusal: { text: string; body: JsonObject } | undefined;
  readonly blames: Blame | undefined;
  readonly saysNothing: boolean;
  readonly unhealthy: boolean;

  constructor(message: string, details: AttemptFailureDetails) {
    super(message);
    this.kind = details.kind;
    this.advice = details.advice;
    this.status = details.status;
    this.codes = details.codes ?? [];
    this.retryAfterMs = details.retryAfterMs;
    this.#refusal = details.refusal;
    this.blames = details.blames;
    this.saysNothing = details.saysNothing ?? false;
    this.unhealthy = details.unhealthy ?? false;
  }

  /** See `AttemptFailureDetails`. */
  get refusal(): { text: string; body: JsonObject } | undefined {
    return this.#refusal;
  }

  /** The same failure with more details. */
  with(details: Partial<AttemptFailureDetails>): AttemptFailure {
    return new AttemptFailure(this.message, { ...this, refusal: this.#refusal, ...details });
  }
}

/** The provider took too long. */
export function timedOut(message: string): AttemptFailure {
  return new AttemptFailure(message, { kind: 'timeout', advice: 'again', unhealthy: true });
}

/** A broken, stalled or unreadable stream: the provider is at fault, and another attempt may succeed. */
export function brokenStream(message: string): AttemptFailure {
  return new AttemptFailure(message, { kind: 'failed', advice: 'again', unhealthy: true });
}
