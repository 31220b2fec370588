import { GatewayError } from '../../base/errors.ts';
import { type Plan, parsePlan } from '../../protocol/plan.ts';
import { noUsage } from '../../upstream/turn.ts';
import { objectsIn } from '../report/objects-in.ts';
import { applyEntry, type ResearchRun } from '../run/run.ts';
import type { ResearchOutcome, Step } from '../run/steps.ts';

/** What takes the place of an answer (docs/api.md, "research"): a proposed plan, or a question to the user. */

type PlannedRun = Pick<ResearchRun, 'request' | 'state'>;

/** The substitute for an answer, once the model has written it: a question, or the plan with one item per line. */
export function substituteOf({ request, state }: PlannedRun): string | undefined {
  if (state.question !== undefined) return state.question;
  if (request.plan !== 'propose') return undefined;
  return state.plan?.items.map((item, at) => `${at + 1}. ${item.text}`).join('\n');
}

/** Whether the response ends with a plan, a question or calls for the client, and not with an answer. */
export function endsWithoutAnswer({
  request,
  state,
}: {
  request: { plan?: unknown } | undefined;
  state: PlannedRun['state'];
}): boolean {
  return request?.plan === 'propose' || state.question !== undefined || state.waitingCalls().length > 0;
}

/** A plan that the model wrote as text, as a list or as JSON; of several the last. */
function planInText({ ownEntries }: PlannedRun['state']): Plan | undefined {
  const texts = ownEntries.flatMap((entry) => (entry.t === 'turn' ? entry.message.content : []));
  const plans = texts.map((text) => {
    const lines = text.matchAll(LIST_LINE).map(([, bold, line = '']) => (bold ? line.replace(bold, '') : line));
    const objects = objectsIn(text, 'text');
    return parsePlan(JSON.stringify({ items: objects.length > 0 ? objects : [...lines] }));
  });
  return plans.findLast((plan) => plan !== undefined);
}
/** `- a`, `1. a`, `**1. a**`, `### 1) a`, `Step 1: a`, `1、a`. */
const LIST_LINE =
  /^ {0,3}(?:#{1,6} +)?(\*\*)?(?:[-*+•–]|\p{L}{1,12} \d{1,2}[:：]|[(（]?\d{1,2}[.)、．）])(?:\*\*)?(?: +|(?<=[：、．）]))(\S.*)/gmu;

/**
 * Sends the substitute, or the rest of it after a crash.
 * @throws GatewayError `upstream_error` if the model wrote no plan.
 */
export async function* emitSubstitute(run: ResearchRun): AsyncGenerator<Step, ResearchOutcome> {
  const { state, answerSoFar } = run;
  if (substituteOf(run) === undefined) state.plan = planInText(state);
  const text = substituteOf(run);
  if (text === undefined) {
    const why = state.forcedEnd ? `The model proposed no plan: ${state.forcedEnd.why}.` : 'The model proposed no plan.';
    throw new GatewayError('upstream_error', why);
  }
  const entry = state.answered ?? applyEntry(state, { t: 'answered', usage: noUsage(), cut: null });
  if (answerSoFar.text.length < text.length) {
    yield { type: 'answer', delta: text.slice(answerSoFar.text.length), entry };
  }
  return { incomplete: state.forcedEnd?.reason ?? null };
}
