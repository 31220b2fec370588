import { contentText } from '../base/text.ts';
import { estimatedUsage, estimateTokens } from '../upstream/decoding/estimate.ts';
import type { ResearchRequest } from './run/request.ts';
import type { ResearchState } from './run/state.ts';
import type { SpentEntry, TranscriptEntry } from './run/transcript.ts';

/** Roughly the tokens of the system prompt (`prompts/research.md`) and the tools of a research model. */
const FIRST_TOKENS = 1000;

/**
 * Estimates the tokens of a turn that a crash interrupted; undefined if all of them are counted already. The request is
 * taken to be as large as the last one, or `firstTokens` if there was none. `open`: the item that the crash left open.
 */
export function interruptedStep(
  state: ResearchState,
  open: { type: 'reasoning' | 'message'; text: string; firstTokens: number },
): SpentEntry | undefined {
  // A draft is charged when it is stored, before any of it is visible.
  if (state.answered || state.report.draft) return undefined;
  const text = open.type === 'message' ? open.text.slice(state.answerLength) : open.text;
  if (text === '') return undefined;
  const usage = estimatedUsage({ estimate: lastPrompt(state.entries) ?? open.firstTokens, text });
  return {
    t: 'spent',
    usage,
    ...(open.type === 'message' ? { answerLength: open.text.length, answerTokens: usage.outputTokens } : {}),
  };
}

/**
 * Estimates the prompts of turns that were interrupted before anything of them was visible: where no tool call is under
 * way, the model was being asked, in each lane that has not ended. A check of claims, for which a draft waits, is not counted:
 * whether there was one is not known.
 */
export function silentTurns(state: ResearchState, firstTokens: number): SpentEntry[] {
  if (state.answered || state.report.draft?.whole) return [];
  const { lanes, joined } = state;
  const prompt = (own: ResearchState): SpentEntry => {
    const estimate = lastPrompt(own.ownEntries) ?? lastPrompt(state.ownEntries) ?? firstTokens;
    return { t: 'spent', usage: estimatedUsage({ estimate, text: '' }) };
  };
  if (!lanes || joined) return state.pendingCalls().length > 0 ? [] : [prompt(state)];
  return lanes.tasks.flatMap((_task, index) => {
    const lane = state.laneOf(index + 1);
    if (lane.isResearchDone() || lane.forcedEnd || lane.pendingCalls().length > 0) return [];
    return [{ ...prompt(lane), lane: index + 1 }];
  });
}

/** The tokens of the last request. Calls that the client approved are a turn that used nothing. */
function lastPrompt(entries: readonly TranscriptEntry[]): number | undefined {
  const last = entries.findLast((entry) => entry.t === 'turn' && entry.usage.inputTokens > 0);
  return last?.t === 'turn' ? last.usage.inputTokens : undefined;
}

/** Estimates the tokens of a run's first request from what the client sent. */
export function firstTurnTokens({ history, conversation, instructions }: ResearchRequest): number {
  const texts = [instructions ?? '', ...[...history, ...conversation].map(({ content }) => contentText(content))];
  return texts.reduce((sum, text) => sum + estimateTokens(text), FIRST_TOKENS);
}
