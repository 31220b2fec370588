import type { Racer } from '../base/hedge.ts';
import type { Attempt, Route } from '../upstream/upstream.ts';
import type { ContinuedAnswer } from './answers/continued-answer.ts';
import type { CallContext } from './attempt-context.ts';
import type { AttemptResult } from './attempt-result.ts';

type TryRoute = (call: CallContext, attempt: Attempt, racer: Racer) => Promise<AttemptResult>;

/** Lets a route continue another's unfinished answer. If it refuses a final assistant message, a user message is added. */
export function withContinuation(tryRoute: TryRoute, continued: ContinuedAnswer): TryRoute {
  return async (call, attempt, racer) => {
    const { route } = attempt;
    if (!continued.hasStarted) return await tryRoute(call, attempt, racer);
    const continueAnswer = () => tryRoute(continuationOf(call, route, continued), attempt, racer);
    const result = await continueAnswer();
    return learnsToEndWithUser(result, route) ? await continueAnswer() : result;
  };
}

function continuationOf(call: CallContext, { provider, model }: Route, continued: ContinuedAnswer): CallContext {
  const { request } = call;
  const { endsWithUser } = provider.traits(model);
  return { ...call, request: { ...request, changes: continued.changes(request.body, { endsWithUser }) } };
}

/** Whether a route refused an assistant message at the end. From then on its requests end with a user message. */
function learnsToEndWithUser(result: AttemptResult, { provider, model }: Route): boolean {
  const traits = provider.traits(model);
  if (traits.endsWithUser || result.is !== 'failed' || result.answer?.status !== 400) return false;
  const message = result.answer.body.toString('utf8', 0, 4096);
  if (!/prefill|(?:end|last).{0,60}(?:user|assistant)/i.test(message)) return false;
  traits.endsWithUser = true;
  return true;
}
