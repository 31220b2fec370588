import { textAmong } from '../base/text.ts';
import { estimatedUsage, estimateTokens } from '../upstream/decoding/estimate.ts';
import type { ResearchRequest } from './run/request.ts';
import type { ResearchState } from './run/state.ts';
import type { SpentEntry } from './run/transcript.ts';

/** About what the system prompt (`prompts/research.md`) and the tools of a research model take. */
const FIRST_TOKENS = 1000;

/**
 * The tokens of a step that a crash cut, estimated, or undefined where all are counted: its request was about as large
 * as the last one, or as `firstTokens` says of the first. `shown`: the text of the item that the crash left open.
 */
export function interruptedStep(
  state: ResearchState,
  shown: { type: 'reasoning' | 'message'; text: string; firstTokens: number },
): SpentEntry | undefined {
  // What was held back is paid for before it is shown.
  if (state.answered || state.report.draft) return undefined;
  const text = shown.type === 'message' ? shown.text.slice(state.answerLength) : shown.text;
  if (text === '') return undefined;
  const last = state.entries.findLast((entry) => entry.t === 'turn');
  const usage = estimatedUsage({ estimate: last?.usage.inputTokens ?? shown.firstTokens, text });
  return {
    t: 'spent',
    usage,
    ...(shown.type === 'message' ? { answerLength: shown.text.length, answerTokens: usage.outputTokens } : {}),
  };
}

/** The tokens of a run's first request, estimated from what the client sent. */
export function firstTurnTokens({ history, conversation, instructions }: ResearchRequest): number {
  const texts = [instructions ?? '', ...[...history, ...conversation].map(({ content }) => textAmong(content))];
  return texts.reduce((sum, text) => sum + estimateTokens(text), FIRST_TOKENS);
}
