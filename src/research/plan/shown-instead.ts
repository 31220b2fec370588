import { GatewayError } from '../../base/errors.ts';
import { noUsage } from '../../upstream/turn.ts';
import { noted, type ResearchRun } from '../run/run.ts';
import type { ResearchOutcome, Step } from '../run/steps.ts';

/** What stands in the place of an answer (docs/api.md, "research"): a proposed plan, or a question to the user. */

type Asked = Pick<ResearchRun, 'request' | 'state'>;

/** What is shown instead of an answer, once the model has it: a question, or the plan with one item a line. */
export function shownInstead({ request, state }: Asked): string | undefined {
  if (state.question !== undefined) return state.question;
  if (request.plan !== 'propose') return undefined;
  return state.plan?.items.map((item, at) => `${at + 1}. ${item.text}`).join('\n');
}

/** Whether the run looks nothing up and answers nothing. */
export function answersNothing({
  request,
  state,
}: {
  request: { plan?: unknown } | undefined;
  state: Asked['state'];
}): boolean {
  return request?.plan === 'propose' || state.question !== undefined || state.waitingCalls().length > 0;
}

/**
 * Shows it, or the rest of it after a crash.
 * @throws GatewayError `upstream_error` where the model wrote no plan.
 */
export async function* showInstead(run: ResearchRun): AsyncGenerator<Step, ResearchOutcome> {
  const { state, answerSoFar } = run;
  const text = shownInstead(run);
  if (text === undefined) throw new GatewayError('upstream_error', 'The model proposed no plan.');
  const entry = state.answered ?? noted(state, { t: 'answered', usage: noUsage(), cut: null });
  if (answerSoFar.text.length < text.length) {
    yield { type: 'answer', delta: text.slice(answerSoFar.text.length), entry };
  }
  return { incomplete: state.forced?.reason ?? null };
}
