import { Hedge, type Lane } from '../base/hedge.ts';
import { type AttemptFailure, gatewayErrorOf } from '../upstream/provider-answer.ts';
import type { HeldAnswer } from '../upstream/provider-target.ts';
import type { Route, RouteAttempt, RouteTries } from '../upstream/upstream.ts';
import type { AttemptResult } from './attempt-result.ts';

export interface FailoverOptions {
  tries: RouteTries;
  modelName: string;
  ask(attempt: RouteAttempt, lane: Lane): Promise<AttemptResult>;
  /** After so long without a word another route is asked beside the first, in milliseconds; absent: never. */
  hedgeMs?: number | undefined;
  signal: AbortSignal;
}

/** An answer and where it came from. `refused`: it tells of an error of the last route. */
export type Passed = { route: Route } & (
  | Exclude<AttemptResult, { is: 'failed' }>
  | { is: 'refused'; answer: HeldAnswer; failure: AttemptFailure }
);

/**
 * Asks the routes of a model until one answers (contract section 10). The answer of the last one counts, also where it
 * tells of an error.
 * @throws GatewayError where none answered; the signal's reason.
 */
export async function withFailover(options: FailoverOptions): Promise<Passed> {
  const { tries, modelName, ask, hedgeMs, signal } = options;
  let last: Passed | undefined;
  const run = async (lane: Lane): Promise<Passed | undefined> => {
    const walk = tries.walk(lane);
    try {
      for (let attempt = await walk.next(); attempt; attempt = await walk.next()) {
        const { route } = attempt;
        const result = await ask(attempt, lane);
        report(attempt, result);
        if (result.is !== 'failed') return { route, ...result };
        const { answer, failure } = result;
        // What is about the gateway's credentials is not the client's (contract section 10).
        last = answer && failure.blames !== 'credential' ? { is: 'refused', route, answer, failure } : undefined;
      }
    } finally {
      walk[Symbol.dispose]();
    }
    return undefined;
  };
  if (hedgeMs === undefined) {
    const passed = await run({ signal, win: () => {} });
    if (passed) return passed;
  } else {
    using hedge = new Hedge(run, { afterMs: hedgeMs, hasAnother: () => tries.hasAnother, signal });
    const passed = await hedge.run();
    if (passed) return passed;
  }
  if (last) return last;
  throw gatewayErrorOf(modelName, tries.failures);
}

/** Tells limiter and breaker how an attempt ended, and by that whether another one follows. */
function report(attempt: RouteAttempt, result: AttemptResult): void {
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
