import type { Racer } from '../base/hedge.ts';
import type { Attempt, Route } from '../upstream/upstream.ts';
import type { ContinuedAnswer } from './answers/continued-answer.ts';
import type { RoutedCall } from './attempt-context.ts';
import type { AttemptResult } from './attempt-result.ts';

type Ask = (call: RoutedCall, attempt: Attempt, racer: Racer) => Promise<AttemptResult>;

/** Has a route go on where another one broke off: it is asked with the answer so far, and once more if it refuses that. */
export function continuing(ask: Ask, continued: ContinuedAnswer): Ask {
  return async (call, attempt, racer) => {
    const { route } = attempt;
    const once = () => ask(continued.begun ? goingOn(call, route, continued) : call, attempt, racer);
    const result = await once();
    return continued.begun && learnsOrder(result, route) ? await once() : result;
  };
}

function goingOn(call: RoutedCall, { provider, model }: Route, continued: ContinuedAnswer): RoutedCall {
  const { request } = call;
  const { endsWithUser } = provider.traits(model);
  return { ...call, request: { ...request, changes: continued.changes(request.body, { endsWithUser }) } };
}

/** A model may refuse to go on with words put into its mouth: then it is asked to, once. */
function learnsOrder(result: AttemptResult, { provider, model }: Route): boolean {
  const traits = provider.traits(model);
  if (traits.endsWithUser || result.is !== 'failed' || result.answer?.status !== 400) return false;
  const said = result.answer.body.toString('utf8', 0, 4096);
  if (!/prefill|(?:end|last).{0,60}(?:user|assistant)/i.test(said)) return false;
  traits.endsWithUser = true;
  return true;
}
