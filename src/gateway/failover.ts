import { Hedge, type Racer } from '../base/hedge.ts';
import { ModelOperation, type OperationName } from '../base/telemetry/model-operation.ts';
import { errorType } from '../base/telemetry/spans.ts';
import { type AttemptFailure, gatewayErrorOf } from '../upstream/provider-answer.ts';
import type { BufferedAnswer } from '../upstream/provider-target.ts';
import type { Attempt, Attempts, Route } from '../upstream/upstream.ts';
import type { CallContext } from './attempt-context.ts';
import type { AttemptResult } from './attempt-result.ts';

export interface FailoverOptions {
  attempts: Attempts;
  /** Sends the call to the route of one attempt. */
  tryRoute(attempt: Attempt, racer: Racer): Promise<AttemptResult>;
  /** How long a route may stay silent before another one is called beside it, in milliseconds; absent: for ever. */
  hedgeMs?: number | undefined;
  signal: AbortSignal;
}

/** An answer and the route that gave it. `failed`: no route answered, and this is the error answer of the last one, unchanged. */
export type RoutedResult = { route: Route } & (
  | Exclude<AttemptResult, { is: 'failed' }>
  | { is: 'failed'; answer: BufferedAnswer; failure: AttemptFailure }
);

/** OpenTelemetry's names for operations other than `chat`. */
const OTHER_OPERATIONS: Readonly<Partial<Record<string, OperationName>>> = {
  embeddings: 'embeddings',
  completions: 'text_completion',
};
const CHATS = /^(?:chat_completions|responses|messages)(?:\/|$)/;

/**
 * Calls the routes of a model until one answers (docs/failover.md, "When another route is asked"), within the span of
 * the call, such as `chat {model}` (docs/telemetry.md). When none does, the error answer of the last one is the result.
 * @throws GatewayError when there is no answer at all; the signal's reason.
 */
export async function withFailover(
  { request, modelName, account }: Pick<CallContext, 'request' | 'modelName' | 'account'>,
  options: FailoverOptions,
): Promise<RoutedResult> {
  const name = OTHER_OPERATIONS[request.api] ?? (CHATS.test(request.api) ? 'chat' : 'generate_content');
  const operation = new ModelOperation({ name, model: modelName });
  const { attempts } = options;
  let result: RoutedResult | undefined;
  let error: string | undefined;
  try {
    result = await operation.span.in(() => firstAnswer(options));
    if (!result) throw gatewayErrorOf(modelName, attempts.failures);
    if ('failure' in result) error = result.failure?.kind;
    return result;
  } catch (thrown) {
    error = errorType(thrown);
    throw thrown;
  } finally {
    const route = result?.route;
    const last = route ?? attempts.failures.at(-1)?.route;
    operation.end({ provider: last?.provider.name, responseModel: route?.model, usage: () => account.used, error });
  }
}

/** The answer of the first route that gives one, or else the error answer of the last route if the client may see it. */
async function firstAnswer(options: FailoverOptions): Promise<RoutedResult | undefined> {
  const { attempts, tryRoute, hedgeMs, signal } = options;
  let failed: RoutedResult | undefined;
  const walk = async (racer: Racer): Promise<RoutedResult | undefined> => {
    for await (const attempt of attempts.walk(racer)) {
      const { route } = attempt;
      const result = await tryRoute(attempt, racer);
      reportOutcome(attempt, result);
      if (result.is !== 'failed') return { route, ...result };
      const { answer, failure } = result;
      // The client must not see errors about the gateway's own credentials (docs/failover.md, "When another route is asked").
      failed = answer && failure.blames !== 'credential' ? { is: 'failed', route, answer, failure } : undefined;
    }
    return undefined;
  };
  const answered = hedgeMs === undefined ? await walk({ signal, win() {} }) : await runHedged(walk, hedgeMs, options);
  return answered ?? failed;
}

/** Starts a second walk over the routes when the first one has been silent for `afterMs`; the first answer wins. */
async function runHedged(
  walk: (racer: Racer) => Promise<RoutedResult | undefined>,
  afterMs: number,
  { attempts, signal }: Pick<FailoverOptions, 'attempts' | 'signal'>,
): Promise<RoutedResult | undefined> {
  using hedge = new Hedge(walk, { afterMs, hasAnother: () => attempts.hasAnother, signal });
  return await hedge.run();
}

/** Reports how an attempt ended, which also decides whether the walk goes on: a refusal of the request itself ends it. */
function reportOutcome(attempt: Attempt, result: AttemptResult): void {
  if (result.is !== 'failed') {
    if (result.is === 'delivered' && result.failure) attempt.failed(result.failure, { delivered: true });
    else attempt.succeeded();
    return;
  }
  const { failure, answer } = result;
  // A request that is too long for one route may fit another.
  if (answer && failure.blames === 'request' && failure.kind !== 'context_length') attempt.succeeded();
  else attempt.failed(failure, { delivered: false });
}
