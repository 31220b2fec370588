import type { TurnMessage, TurnTool } from '../upstream/turn.ts';
import { askForAnswer } from './answer/answer-request.ts';
import { createContext } from './context/context.ts';
import { taskOf } from './lanes/research-in-lanes.ts';
import { planTail } from './plan/plan-messages.ts';
import { structuredFormat } from './run/request.ts';
import type { ContextRun } from './run/run.ts';
import type { TranscriptEntry } from './run/transcript.ts';

export interface ModelPrompt {
  messages: TurnMessage[];
  tools: TurnTool[];
  /** The size of messages and tools, in tokens. */
  estimate: number;
}

/**
 * Rebuilds the prompt of a turn from the transcript before it, the way a resumed run does. `run.state` is the state
 * before that turn. Undefined for anything but a research turn or the first turn of an answer that is written in one
 * piece: other prompts contain parts of answers that are not stored.
 */
export function promptOfTurn(run: ContextRun, entry: TranscriptEntry): ModelPrompt | undefined {
  if (entry.t === 'turn') {
    const scope = entry.lane === undefined ? run : inLane(run, entry.lane);
    // The first turn stores the opening of all later requests.
    scope.state.opening ??= entry.opening;
    return promptOf(scope);
  }
  return isFirstOfAnswer(run, entry) ? promptOf(run, { isAnswer: true }) : undefined;
}

function inLane(run: ContextRun, lane: number): ContextRun {
  const { lanes } = run.state;
  return {
    ...run,
    state: run.state.laneOf(lane),
    request: { ...run.request, plan: 'off' },
    lane: lanes && taskOf(run, { lanes, index: lane - 1 }),
  };
}

function isFirstOfAnswer({ state, request }: ContextRun, { t }: TranscriptEntry): boolean {
  const hasStarted = state.ownEntries.some(
    (before) => before.t === 'draft' || (before.t === 'spent' && before.answerLength !== undefined),
  );
  return (t === 'answered' || t === 'draft') && !hasStarted && structuredFormat({ request }) === undefined;
}

function promptOf(run: ContextRun, { isAnswer = false } = {}): ModelPrompt {
  const context = createContext(run);
  const ask = isAnswer ? askForAnswer(run, { context, again: false }) : [];
  const { messages, estimate } = context.messages([...planTail(run), ...ask]);
  return { messages, tools: context.opening.tools, estimate };
}
