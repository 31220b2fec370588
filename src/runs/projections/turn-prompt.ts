import { GatewayError } from '../../base/errors.ts';
import { contentText } from '../../base/text.ts';
import type { ResearchModelConfig } from '../../config/schema.ts';
import type { TurnPrompt } from '../../protocol/operating/turn-prompt.ts';
import { loadPrompts } from '../../research/prompts/load-prompts.ts';
import { budgetOf } from '../../research/run/budget.ts';
import { ResearchState } from '../../research/run/state.ts';
import type { TranscriptEntry } from '../../research/run/transcript.ts';
import { createFence } from '../../research/text/fence.ts';
import { promptOfTurn } from '../../research/turn-prompt.ts';
import type { RunRecord } from '../../store/run-store.ts';
import { estimateRequest } from '../../upstream/decoding/estimate.ts';
import type { TurnMessage } from '../../upstream/turn.ts';

import { readResearchRequest } from '../stored/stored-request.ts';
import { isTurn } from './timeline.ts';

/** A turn whose prompt is requested. */
export interface TurnPromptQuery {
  /** Its number in the timeline, from 1. */
  turn: number;
  model: ResearchModelConfig;
  /** Whether the texts of messages are included. */
  contents: boolean;
}

/**
 * The prompt of a turn (docs/api.md, "The prompt of a turn"). `before`: the entries that the run continues from.
 * @throws GatewayError `not_found` if there is no such turn, or its prompt is not stored.
 */
export function turnPromptOf(
  run: RunRecord,
  { entries, before }: Record<'entries' | 'before', readonly TranscriptEntry[]>,
  { turn, model, contents }: TurnPromptQuery,
): Omit<TurnPrompt, 'id'> {
  const request = readResearchRequest(run);
  const entry = entries.filter(isTurn)[turn - 1];
  if (!request || !entry) throw new GatewayError('not_found', `There is no turn ${turn} of research here.`);
  const state = ResearchState.of(entries.slice(0, entries.indexOf(entry)), request.earlierSources, before);
  const budget = budgetOf(model, request.effort, { maxMinutes: Number.POSITIVE_INFINITY });
  const fence = createFence(request.goesOn?.from ?? run.id);
  const context = { request, model, budget, fence, state, startedAt: run.createdAt };
  // The tools that were offered are in the transcript entry of the first turn.
  const prompt = promptOfTurn({ ...context, prompts: loadPrompts(), tools: new Map() }, entry);
  if (!prompt) {
    const message = `The prompt of turn ${turn} is not kept: only those of research, and of an answer in one piece, are.`;
    throw new GatewayError('not_found', message);
  }
  return {
    object: 'response.turn_prompt',
    turn,
    kind: entry.t === 'turn' ? 'research' : 'answer',
    ...(entry.lane !== undefined && { lane: entry.lane }),
    estimated_tokens: Math.round(prompt.estimate),
    tools: prompt.tools.map(({ name }) => name),
    messages: prompt.messages.map((message) => promptMessage(message, contents)),
  };
}

function promptMessage(message: TurnMessage, contents: boolean): TurnPrompt['messages'][number] {
  const text = contentText(message.content);
  const calls = message.role === 'assistant' ? message.tool_calls : undefined;
  return {
    role: message.role,
    characters: text.length,
    estimated_tokens: Math.round(estimateRequest([message])),
    text: contents ? text : null,
    ...(calls && { calls: calls.map(({ name, arguments: text }) => ({ name, arguments: contents ? text : null })) }),
  };
}
