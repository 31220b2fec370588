import { writeAnswer } from './answer/answer.ts';
import { createContext } from './context/context.ts';
import { researchInLanes } from './lanes/research-in-lanes.ts';
import { researchPhase } from './phase.ts';
import { answersNothing, showInstead } from './plan/shown-instead.ts';
import type { ResearchRun } from './run/run.ts';
import type { ResearchOutcome, Step } from './run/steps.ts';

/**
 * The research loop (docs/research.md): research turns until the model knows enough or a budget ends, in
 * lanes where the request asks for them, then one answer turn. The only loop there is: streaming and blocking clients are both readers of what it yields.
 * Returns `paused` where `shouldPause` asked for it at a step boundary.
 * @throws GatewayError for failures of docs/api.md, "Errors"; the signal's reason after an abort.
 */
export async function* research(run: ResearchRun): AsyncGenerator<Step, ResearchOutcome | 'paused'> {
  const context = createContext(run);
  if (run.answerSoFar.text === '' && mayLookUp(run) && !run.state.answered) {
    for (;;) {
      const left = yield* researchPhase(run, context);
      if (left === 'paused' || (left === 'lanes' && (yield* researchInLanes(run, context)) === 'paused'))
        return 'paused';
      if (left === 'ended') break;
    }
  }
  if (run.state.openFunctions().length > 0) return { incomplete: null };
  return yield* answersNothing(run) ? showInstead(run) : writeAnswer(run, context);
}

function mayLookUp({ tools, request }: ResearchRun): boolean {
  return tools.size > 0 || (request.functions?.length ?? 0) > 0;
}
