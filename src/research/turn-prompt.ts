import type { TurnMessage, TurnTool } from '../upstream/turn.ts';
import { askForAnswer } from './answer/answer-request.ts';
import { createContext } from './context/context.ts';
import { taskOf } from './lanes/research-in-lanes.ts';
import { planTail } from './plan/plan-messages.ts';
import { structuredFormat } from './run/request.ts';
import type { ContextRun } from './run/run.ts';
import type { TranscriptEntry } from './run/transcript.ts';

/** A request as the model got it. */
export interface AskedPrompt {
  messages: TurnMessage[];
  tools: TurnTool[];
  /** Of both, in tokens. */
  estimate: number;
}

/**
 * What the model was asked with for a turn of the transcript, made again from what stands before it, as a run that is
 * taken up makes it. `run.state`: the state before that turn. Undefined where it was neither a turn of research nor the
 * first of an answer in one piece: other requests hold parts of answers that nobody keeps.
 */
export function promptOfTurn(run: ContextRun, entry: TranscriptEntry): AskedPrompt | undefined {
  if (entry.t === 'turn') {
    const asking = entry.lane === undefined ? run : inLane(run, entry.lane);
    // The first turn holds what all requests begin with.
    asking.state.opening ??= entry.opening;
    return promptOf(asking);
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
  const isBegun = state.own.some(
    (before) => before.t === 'draft' || (before.t === 'spent' && before.answerLength !== undefined),
  );
  return (t === 'answered' || t === 'draft') && !isBegun && structuredFormat({ request }) === undefined;
}

function promptOf(run: ContextRun, { isAnswer = false } = {}): AskedPrompt {
  const context = createContext(run);
  const ask = isAnswer ? askForAnswer(run, { context, again: false }) : [];
  const { messages, estimate } = context.messages([...planTail(run), ...ask]);
  return { messages, tools: context.opening.tools, estimate };
}
