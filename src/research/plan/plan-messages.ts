import { formatPlan, isSettled } from '../../protocol/plan.ts';
import type { TurnMessage } from '../../upstream/turn.ts';
import { applyEntry, type ContextRun, type ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';

/**
 * The current plan, for the end of a request: there it survives compaction, and the messages before it stay the same in
 * every request.
 */
export function planTail({ state, prompts, fence }: ContextRun): TurnMessage[] {
  if (!state.plan) return [];
  return [{ role: 'user', content: prompts.plan({ plan: fence.around(formatPlan(state.plan)) }) }];
}

/**
 * Reminds a model that wants to answer of the open items of its plan, or that only a plan was requested. Undefined if there
 * is nothing to say, or if it was said already.
 */
export function remindOfPlan({ request, state, prompts, fence, log }: ResearchRun): Step | undefined {
  const remind = (text: string): Step => ({ type: 'note', entry: applyEntry(state, { t: 'reminder', text }) });
  if (state.hasReminded) return undefined;
  if (request.plan === 'propose') return remind(prompts.proposeNow());
  const open = state.plan?.items.filter((item) => !isSettled(item)) ?? [];
  if (open.length === 0) return undefined;
  log.info({ open: open.length }, 'open items of the plan were named');
  const list = open.map(({ text }) => `- ${text}`).join('\n');
  return remind(prompts.openItems({ items: fence.around(list) }));
}
