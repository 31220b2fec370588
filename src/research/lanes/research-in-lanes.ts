import { linkSignals } from '../../base/abort.ts';
import { FairSemaphore } from '../../base/fair-semaphore.ts';
import { needsApproval } from '../calls/approvals.ts';
import type { Context } from '../context/context.ts';
import { isOwnTool } from '../run/own-tools.ts';
import { applyEntry, type ContextRun, type LaneTask, type ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import type { LanesEntry } from '../run/transcript.ts';
import { questionOf } from '../text/prose.ts';
import { joinLanes } from './join.ts';
import { laneSteps } from './lane-steps.ts';
import { lanesDue } from './lanes-due.ts';
import { type LaneEnd, mergeLanes } from './merge-lanes.ts';
import { LaneShares } from './shares.ts';

/**
 * Researches in lanes (docs/research.md, "Lanes and attempts"): several research phases at the same time, each with a
 * context of its own and a share of the budget. Afterwards the model gets what they found as findings.
 * @throws GatewayError if all of them fail and none found anything.
 */
export async function* researchInLanes(run: ResearchRun, context: Context): AsyncGenerator<Step, 'paused' | 'joined'> {
  const { state } = run;
  const lanes = lanesDue(run);
  if (!lanes) return 'joined';
  if (!state.lanes) yield { type: 'note', entry: applyEntry(state, lanes) };
  const states = lanes.tasks.map((_task, index) => state.laneOf(index + 1));
  const shares = new LaneShares(run, states, { keepCalls: lanes.kind === 'attempts' });
  const toolSlots = new FairSemaphore({
    name: 'tool_calls',
    permits: run.budget.parallelToolCalls,
    maxWaiting: Number.POSITIVE_INFINITY,
    fullError: () => new Error('too many tool calls wait'),
  });
  const rules = { tools: run.request.functions ?? [], approvals: run.request.approvals };
  using linked = linkSignals([run.signal]);
  const running = states.map((lane, index) =>
    laneSteps(
      {
        ...run,
        state: lane,
        request: { ...run.request, plan: 'off', report: 'short', functions: undefined, functionChoice: undefined },
        // Calls that the client makes or approves belong to the run itself, before or after its lanes.
        tools: new Map(run.tools.entries().filter(([name]) => !isOwnTool(name) && !needsApproval({ name }, rules))),
        budget: { ...run.budget, turns: shares.turns },
        allowance: shares.allowanceOf(lane),
        costBudget: shares.costBudgetOf(lane),
        lane: taskOf(run, { lanes, index }),
        toolSlot: (signal) => toolSlots.acquire(String(index), signal),
        log: run.log.child({ lane: index + 1 }),
        signal: linked.signal,
        live: undefined,
      },
      { number: index + 1, onEnd: () => shares.end(lane) },
    ),
  );
  let ends: LaneEnd[];
  try {
    ends = yield* mergeLanes(running, state);
  } finally {
    linked.abort(new Error('the lanes have ended'));
    await Promise.allSettled(running.map((lane) => lane.return('paused')));
  }
  if (ends.includes('paused')) return 'paused';
  const failures = ends.filter((end) => typeof end === 'object');
  const found = states.some(({ results }) => results.values().some(({ status }) => status === 'completed'));
  if (failures.length === ends.length && failures[0] && !found) throw failures[0].thrown;
  yield { type: 'note', entry: applyEntry(state, await joinLanes(run, { lanes, states, context })) };
  return 'joined';
}

export function taskOf(
  { request, prompts, fence }: ContextRun,
  { lanes, index }: { lanes: LanesEntry; index: number },
): LaneTask {
  const tasks = lanes.tasks[index] ?? [];
  if (lanes.kind === 'attempts') {
    const values = { count: String(lanes.tasks.length), number: String(index + 1), beginning: tasks.join(' ') };
    return { question: questionOf(request), ask: prompts.attempt(values) };
  }
  const list = tasks.map((task) => `- ${task}`).join('\n');
  return { question: `${tasks.join(' ')} ${questionOf(request)}`, ask: prompts.lane({ tasks: fence.around(list) }) };
}
