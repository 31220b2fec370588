import { writeAnswer } from './answer/answer.ts';
import { createContext } from './context/context.ts';
import { researchInLanes } from './lanes/research-in-lanes.ts';
import { researchPhase } from './phase.ts';
import { emitSubstitute, endsWithoutAnswer } from './plan/substitute.ts';
import { applyEntry, type ResearchRun } from './run/run.ts';
import type { ResearchOutcome, Step } from './run/steps.ts';

/**
 * The research loop (docs/research.md): research turns until the model knows enough or a budget is used up, in lanes if
 * the request asks for them, then one answer turn. It is the only loop: streaming and blocking clients both read the
 * steps that it yields. Returns `paused` when `shouldPause` was true between two steps.
 * @throws GatewayError for the failures in docs/api.md, "Errors"; the signal's reason after an abort.
 */
export async function* research(run: ResearchRun): AsyncGenerator<Step, ResearchOutcome | 'paused'> {
  const context = createContext(run);
  if (run.answerSoFar.text === '' && mayLookUp(run) && !run.state.answered) {
    const approved = beginApproved(run);
    if (approved) yield approved;
    for (;;) {
      const result = yield* researchPhase(run, context);
      if (result === 'paused' || (result === 'lanes' && (yield* researchInLanes(run, context)) === 'paused'))
        return 'paused';
      if (result === 'ended') break;
    }
  }
  if (run.state.waitingCalls().length > 0) return { incomplete: null };
  return yield* endsWithoutAnswer(run) ? emitSubstitute(run) : writeAnswer(run, context);
}

function mayLookUp({ tools, request }: ResearchRun): boolean {
  return tools.size > 0 || (request.functions?.length ?? 0) > 0 || (request.goesOn?.approved?.length ?? 0) > 0;
}

/** The step that makes the calls the client has approved; a response begins with it. */
function beginApproved({ state, request }: ResearchRun): Step | undefined {
  const approved = request.goesOn?.approved ?? [];
  if (approved.length === 0 || state.approvedHere.length > 0) return undefined;
  const entry = applyEntry(state, { t: 'approved', calls: approved });
  const calls = approved.flatMap(({ call, request: approval }) => {
    const toolCall = state.calls.get(call);
    return toolCall ? [{ call, name: toolCall.name, arguments: toolCall.arguments, approval }] : [];
  });
  return { type: 'tool_calls', calls, entry };
}
