import { requestTokens } from '../../../plain/request.ts';
import { messageWords, type OutputItem } from '../../../protocol/items.ts';
import type { ResponseObject } from '../../../protocol/response.ts';
import { firstTurnTokens, interruptedStep } from '../../../research/interrupted-step.ts';
import type { ResearchState } from '../../../research/run/state.ts';
import type { Step } from '../../../research/run/steps.ts';
import type { RunRecord } from '../../../store/run-store.ts';
import { loopOf, readPlainRequest, readResearchRequest, storedProfile } from '../../stored/stored-request.ts';
import { type ReasoningStyle, textOfReasoning } from '../log/reasoning-events.ts';

/** What of an execution depends on the loop that drives the run. */

/** How its log tells of a run. */
export function shownBy(run: RunRecord, response: ResponseObject) {
  const encrypts = readPlainRequest(run)?.encryptedReasoning ?? false;
  return { profile: storedProfile(run), style: reasoningStyle(run, response), encrypts };
}

/**
 * Thoughts of a plain model are shown as its provider shows them, whatever the profile (docs/api.md, "Responses of
 * plain models").
 */
function reasoningStyle(run: RunRecord, { reasoning }: ResponseObject): ReasoningStyle {
  if (loopOf(run) === 'research' && storedProfile(run) === 'openai') return 'summary';
  return reasoning.summary === null ? 'text' : 'text and summary';
}

/**
 * What closes the item that a crash left open, if it did, with what its turn cost by estimate. A message is not closed: the
 * loop goes on with it.
 */
export function closingStep(
  run: RunRecord,
  state: ResearchState,
  open: OutputItem | undefined,
): Extract<Step, { type: 'reasoning_end' }> | undefined {
  if ((open?.type !== 'reasoning' && open?.type !== 'message') || open.status !== 'in_progress') return undefined;
  const text = open.type === 'reasoning' ? textOfReasoning(open) : messageWords(open);
  const entry = interruptedStep(state, { type: open.type, text, firstTokens: firstTokens(run) });
  return { type: 'reasoning_end', status: 'incomplete', ...(entry ? { entry } : {}) };
}

/** The tokens of the first request of a run, estimated. */
function firstTokens(run: RunRecord): number {
  const plain = readPlainRequest(run);
  const research = readResearchRequest(run);
  return plain ? requestTokens(plain) : research ? firstTurnTokens(research) : 0;
}
