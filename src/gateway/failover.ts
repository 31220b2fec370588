import { Hedge, type Racer } from '../base/hedge.ts';
import { type AttemptFailure, gatewayErrorOf } from '../upstream/provider-answer.ts';
import type { HeldAnswer } from '../upstream/provider-target.ts';
import type { Attempt, Attempts, Route } from '../upstream/upstream.ts';
import type { AttemptResult } from './attempt-result.ts';

export interface FailoverOptions {
  attempts: Attempts;
  modelName: string;
  ask(attempt: Attempt, racer: Racer): Promise<AttemptResult>;
  /** After so long without a word another route is asked beside the first, in milliseconds; absent: never. */
  hedgeMs?: number | undefined;
  signal: AbortSignal;
}

/** An answer and where it came from. `failed`: no route answered; this is the error answer of the last one, as it came. */
export type RoutedResult = { route: Route } & (
  | Exclude<AttemptResult, { is: 'failed' }>
  | { is: 'failed'; answer: HeldAnswer; failure: AttemptFailure }
);

/**
 * Asks the routes of a model until one answers (docs/failover.md, "When another route is asked"). The answer of the
 * last one counts, also where it is an error.
 * @throws GatewayError where none answered; the signal's reason.
 */
export async function withFailover(options: FailoverOptions): Promise<RoutedResult> {
  const { attempts, modelName, ask, hedgeMs, signal } = options;
  let failed: RoutedResult | undefined;
  const inTurn = async (racer: Racer): Promise<RoutedResult | undefined> => {
    for await (const attempt of attempts.walk(racer)) {
      const { route } = attempt;
      const result = await ask(attempt, racer);
      report(attempt, result);
      if (result.is !== 'failed') return { route, ...result };
      const { answer, failure } = result;
      // What is about the gateway's credentials is not the client's (docs/failover.md, "When another route is asked").
      failed = answer && failure.blames !== 'credential' ? { is: 'failed', route, answer, failure } : undefined;
    }
    return undefined;
  };
  const answered = hedgeMs === undefined ? await inTurn({ signal, win() {} }) : await hedged(inTurn, hedgeMs, options);
  const last = answered ?? failed;
  if (last) return last;
  throw gatewayErrorOf(modelName, attempts.failures);
}

/** The same with a second walk over the routes beside a silent one. */
async function hedged(
  inTurn: (racer: Racer) => Promise<RoutedResult | undefined>,
  afterMs: number,
  { attempts, signal }: Pick<FailoverOptions, 'attempts' | 'signal'>,
): Promise<RoutedResult | undefined> {
  using hedge = new Hedge(inTurn, { afterMs, hasAnother: () => attempts.hasAnother, signal });
  return await hedge.run();
}

/** Tells limiter and breaker how an attempt ended, and by that whether another one follows. */
function report(attempt: Attempt, result: AttemptResult): void {
  if (result.is !== 'failed') {
    if (result.is === 'delivered' && result.failure) attempt.failed(result.failure, { delivered: true });
    else attempt.succeeded();
    return;
  }
  const { failure, answer } = result;
  // What is too long for one route may fit another.
  if (answer && failure.blames === 'request' && failure.kind !== 'context_length') attempt.succeeded();
  else attempt.failed(failure, { delivered: false });
}
