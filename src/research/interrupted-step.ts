import { contentText } from '../base/text.ts';
import { estimatedUsage, estimateTokens } from '../upstream/decoding/estimate.ts';
import type { ResearchRequest } from './run/request.ts';
import type { ResearchState } from './run/state.ts';
import type { SpentEntry } from './run/transcript.ts';

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
  // Calls that the client approved are a turn that used nothing.
  const last = state.entries.findLast((entry) => entry.t === 'turn' && entry.usage.inputTokens > 0);
  const usage = estimatedUsage({ estimate: last?.t === 'turn' ? last.usage.inputTokens : open.firstTokens, text });
  return {
    t: 'spent',
    usage,
    ...(open.type === 'message' ? { answerLength: open.text.length, answerTokens: usage.outputTokens } : {}),
  };
}

/** Estimates the tokens of a run's first request from what the client sent. */
export function firstTurnTokens({ history, conversation, instructions }: ResearchRequest): number {
  const texts = [instructions ?? '', ...[...history, ...conversation].map(({ content }) => contentText(content))];
  return texts.reduce((sum, text) => sum + estimateTokens(text), FIRST_TOKENS);
}
