import { GatewayError, messageOf } from '../../base/errors.ts';
import { TurnError } from '../../upstream/turn.ts';
import { createContext } from '../context/context.ts';
import { researchPhase } from '../phase.ts';
import { applyEntry, type ResearchRun } from '../run/run.ts';
import type { EndedCall } from '../run/steps.ts';
import type { TranscriptEntry } from '../run/transcript.ts';
import type { Lane, LaneStep } from './merge-lanes.ts';

/**
 * The research phase of a lane, with one step for each turn: items of several lanes must not interleave, so a turn is
 * yielded once its calls have ended, with the entry of the last call. Steps without an entry are not yielded.
 */
export async function* laneSteps(run: ResearchRun, { number, onEnd }: { number: number; onEnd(): void }): Lane {
  const { state } = run;
  using _end = { [Symbol.dispose]: onEnd };
  const steps = researchPhase(run, createContext(run));
  await using _ = { [Symbol.asyncDispose]: async () => void (await steps.return('paused')) };
  let thought = '';
  for (;;) {
    let next: Awaited<ReturnType<typeof steps.next>>;
    try {
      next = await steps.next();
    } catch (thrown) {
      run.signal.throwIfAborted();
      if (!(thrown instanceof GatewayError || thrown instanceof TurnError)) throw thrown;
      // The other lanes go on, and what this one found is retained.
      run.log.warn({ err: messageOf(thrown) }, 'a lane failed');
      yield { type: 'note', entry: applyEntry(state, { t: 'force', reason: 'stuck', why: messageOf(thrown) }) };
      return { thrown };
    }
    if (next.done) return next.value === 'paused' ? 'paused' : 'ended';
    const step = next.value;
    if (step.type === 'reasoning') {
      thought += step.delta;
      continue;
    }
    if (!('entry' in step) || !step.entry) {
      if (step.type === 'reasoning_end') thought = '';
      continue;
    }
    const { entry } = step;
    if (entry.t === 'turn' && thought !== '') entry.thought = thought;
    if (entry.t === 'turn' || entry.t === 'spent') thought = '';
    yield endsTurn(run, entry) ? wholeTurn(run, { lane: number, entry }) : { type: 'note', entry };
  }
}

/** Whether a turn and all its calls have ended with this entry. */
function endsTurn({ state }: ResearchRun, { t }: TranscriptEntry): boolean {
  return (t === 'turn' || t === 'result') && state.pendingCalls().length === 0;
}

function wholeTurn({ state }: ResearchRun, { lane, entry }: { lane: number; entry: TranscriptEntry }): LaneStep {
  const turn = state.ownEntries.findLast((each) => each.t === 'turn');
  const calls = (turn?.calls ?? []).flatMap((planned): EndedCall[] => {
    const ended = 'call' in planned ? state.results.get(planned.call) : undefined;
    if (!('call' in planned) || !ended) return [];
    const { call, name, arguments: args } = planned;
    return [{ call, name, arguments: args, status: ended.status, result: ended.result }];
  });
  return { type: 'lane_turn', lane, thought: turn?.thought ?? '', calls, entry };
}
