import type { TurnMessage, TurnTool } from '../../upstream/turn.ts';
import type { ResearchRun } from '../run/run.ts';
import { keywords } from '../text/key-facts.ts';
import { questionOf } from '../text/prose.ts';
import { estimateRequest } from '../text/tokens.ts';
import { fitTranscript } from './fit-transcript.ts';
import { createOpening } from './opening.ts';
import { Digests } from './tool-digest.ts';
import { type ContextWindow, createContextWindow } from './window.ts';

/** What is sent to the model: built anew for every turn from the request and the transcript, which is never cut. */
export interface Context {
  readonly window: ContextWindow;
  readonly digests: Digests;
  /**
   * The messages of a request that ends with `tail`, fitted into the window, and their estimated tokens with those of
   * the tools.
   */
  messages(tail: readonly TurnMessage[], tools?: readonly TurnTool[]): { messages: TurnMessage[]; estimate: number };
}

/** The context of a run, as far as its transcript goes: a run that is taken up again sends what it would have sent. */
export function createContext(run: ResearchRun): Context {
  const { request, model, state } = run;
  const window = createContextWindow({
    contextLength: model.context_length,
    answerTokens: request.maxOutputTokens ?? model.max_completion_tokens,
  });
  for (const entry of state.entries) {
    if (entry.t === 'turn' && !entry.usage.estimated) window.learn(entry.estimate, entry.usage.inputTokens);
    if (entry.t === 'spent' && entry.tooLarge !== undefined) window.refused(entry.tooLarge);
  }
  const opening = createOpening(run);
  const digests = new Digests(keywords(questionOf(request)));
  return {
    window,
    digests,
    messages(tail, tools = []) {
      const before = opening.messages(window.room);
      const room = window.room - estimateRequest([...before, ...tail], tools);
      const found = fitTranscript(state, { room, keepWhole: model.research.keep_tool_results, digests });
      const messages = [...before, ...found, ...tail];
      return { messages, estimate: estimateRequest(messages, tools) };
    },
  };
}
