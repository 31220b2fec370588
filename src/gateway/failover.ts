import { Hedge, type Racer } from '../base/hedge.ts';
import { Operation, type OperationName } from '../base/telemetry/operation.ts';
import { errorType } from '../base/telemetry/spans.ts';
import { type AttemptFailure, gatewayErrorOf } from '../upstream/provider-answer.ts';
import type { HeldAnswer } from '../upstream/provider-target.ts';
import type { Attempt, Attempts, Route } from '../upstream/upstream.ts';
import type { RoutedCall } from './attempt-context.ts';
import type { AttemptResult } from './attempt-result.ts';

export interface FailoverOptions {
  attempts: Attempts;
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

/** APIs that are not a chat, in the words of OpenTelemetry's conventions. */
const OPERATION_OF: Readonly<Partial<Record<string, OperationName>>> = {
  embeddings: 'embeddings',
  completions: 'text_completion',
};
const CHATS = /^(?:chat_completions|responses|messages)(?:\/|$)/;

/**
 * Asks the routes of a model until one answers (docs/failover.md, "When another route is asked"), in the span of the
 * call, `chat {model}` and the like (docs/telemetry.md). The answer of the last one counts, also where it is an error.
 * @throws GatewayError where none answered; the signal's reason.
 */
export async function withFailover(
  { request, modelName, account }: Pick<RoutedCall, 'request' | 'modelName' | 'account'>,
  options: FailoverOptions,
): Promise<RoutedResult> {
  const name = OPERATION_OF[request.api] ?? (CHATS.test(request.api) ? 'chat' : 'generate_content');
  const operation = new Operation({ name, model: modelName });
  const { attempts } = options;
  let result: RoutedResult | undefined;
  let error: string | undefined;
  try {
    result = await operation.span.in(() => lastAnswer(options));
    if (!result) throw gatewayErrorOf(modelName, attempts.failures);
    if ('failure' in result) error = result.failure?.kind;
    return result;
  } catch (thrown) {
    error = errorType(thrown);
    throw thrown;
  } finally {
    const route = result?.route;
    const asked = route ?? attempts.failures.at(-1)?.route;
    operation.end({ provider: asked?.provider.name, responseModel: route?.model, usage: () => account.used, error });
  }
}

/** The answer of the first route that gives one, else the error answer of the last one, if that is for the client. */
async function lastAnswer(options: FailoverOptions): Promise<RoutedResult | undefined> {
  const { attempts, ask, hedgeMs, signal } = options;
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
  return answered ?? failed;
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
