import { requestTokens } from '../../../plain/request.ts';
import { messageText, type OutputItem } from '../../../protocol/items.ts';
import { firstTurnTokens, interruptedStep, silentTurns } from '../../../research/interrupted-step.ts';
import type { ResearchState } from '../../../research/run/state.ts';
import type { Step } from '../../../research/run/steps.ts';
import type { SpentEntry, TranscriptEntry } from '../../../research/run/transcript.ts';
import type { RunRecord } from '../../../store/run-store.ts';
import { readPlainRequest, readRequest, readResearchRequest } from '../../stored/stored-request.ts';
import { textOfReasoning } from '../log/reasoning-events.ts';

/**
 * The step for an item that a crash left open, if any, with the estimated cost of its turn. It closes reasoning; a message
 * stays open, and the loop continues it.
 */
export function closingStep(
  run: RunRecord,
  state: ResearchState,
  open: OutputItem | undefined,
): Extract<Step, { type: 'reasoning_end' }> | undefined {
  if ((open?.type !== 'reasoning' && open?.type !== 'message') || open.status !== 'in_progress') return undefined;
  const text = open.type === 'reasoning' ? textOfReasoning(open) : messageText(open);
  const entry = interruptedStep(state, { type: open.type, text, firstTokens: firstTokens(run) });
  return { type: 'reasoning_end', status: 'incomplete', ...(entry ? { entry } : {}) };
}

/**
 * The estimated cost of turns that were under way, but not visible, when the last owner died. `stored`: how many entries
 * the transcript of this run has, besides those that it continues.
 */
export function interruptedTurns(
  run: RunRecord,
  state: ResearchState,
  { attempts, stored }: { attempts: number; stored: number },
): SpentEntry[] {
  const last = stored > 0 ? state.ownEntries.at(-1) : undefined;
  const hasDied = last === undefined ? attempts > 1 : saysHandOver(last) && !(last.t === 'spent' && last.handedOver);
  const asksModel = readRequest(run).generate !== false;
  return hasDied && asksModel ? silentTurns(state, firstTokens(run)) : [];
}

/**
 * Whether the version that stored this last entry would have said that it handed the run over. Those that noted no times
 * did not, and an update hands over each of their runs.
 */
function saysHandOver(last: TranscriptEntry): boolean {
  return 'times' in last;
}

/** The estimated tokens of a run's first request. */
function firstTokens(run: RunRecord): number {
  const plain = readPlainRequest(run);
  const research = readResearchRequest(run);
  return plain ? requestTokens(plain) : research ? firstTurnTokens(research) : 0;
}
