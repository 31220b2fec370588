import { linkSignals, TimeoutError } from '../base/abort.ts';
import type { IncompleteReason } from '../protocol/response.ts';
import type { AssistantMessage, TurnMessage } from '../upstream/turn.ts';
import { writeAnswer } from './answer.ts';
import { spentBudget } from './budget.ts';
import { openingMessages, transcriptMessages } from './context.ts';
import { callKey, isStuck, refuseRepeated } from './guards.ts';
import { repairArguments } from './repair-arguments.ts';
import { noted, type ResearchRun } from './run.ts';
import type { ResearchOutcome, StartedCall, Step } from './steps.ts';
import { runToolCalls } from './tool-calls.ts';
import type { PlannedCall, TurnEntry } from './transcript.ts';
import { askModel } from './turns.ts';

/**
 * The research loop (architecture: "Research loop"): research turns until the model knows enough or a budget ends,
 * then one answer turn. The only loop there is: streaming and blocking clients are both readers of what it yields.
 * Returns `paused` where `shouldPause` asked for it at a step boundary.
 * @throws GatewayError for failures of contract section 3.2; the signal's reason after an abort.
 */
export async function* research(run: ResearchRun): AsyncGenerator<Step, ResearchOutcome | 'paused'> {
  const opening = openingMessages({
    request: run.request,
    prompts: run.prompts,
    now: new Date(run.clock.now()),
    toolNames: [...run.tools.keys()],
    modelInstructions: run.model.research.instructions,
  });
  if (run.answerSoFar === '' && run.tools.size > 0) {
    const paused = yield* researchPhase(run, opening);
    if (paused) return 'paused';
  }
  return yield* writeAnswer(run, opening);
}

async function* researchPhase(run: ResearchRun, opening: readonly TurnMessage[]): AsyncGenerator<Step, boolean> {
  const { state, budget } = run;
  const began = run.clock.now() - state.elapsedMs;
  const elapsed = () => run.clock.now() - began;
  const timeLeft = Math.max(1, budget.minutes * 60_000 - elapsed());
  using phase = linkSignals([run.signal], { what: 'research', timeoutMs: timeLeft });

  yield* executePending(run, phase.signal);
  while (!state.researched() && !state.forced) {
    if (run.shouldPause()) return true;
    const spent = spentBudget(budget, { turns: state.turns, usage: state.usage, elapsedMs: elapsed() });
    if (spent !== undefined) {
      yield force(run, 'budget', spent);
      break;
    }
    try {
      yield* researchTurn(run, { opening, signal: phase.signal, elapsed });
      yield* executePending(run, phase.signal);
    } catch (thrown) {
      if (run.signal.aborted || !(phase.signal.reason instanceof TimeoutError)) throw thrown;
      yield { type: 'reasoning_end', status: 'incomplete' };
      yield force(run, 'budget', `the time budget of ${budget.minutes} minutes is used`);
    }
    if (isStuck(state)) yield force(run, 'stuck', 'the last tool calls brought nothing new');
  }
  return run.shouldPause();
}

function force(run: ResearchRun, reason: IncompleteReason, why: string): Step {
  run.log.info({ reason, why }, 'answer forced');
  return { type: 'note', entry: noted(run.state, { t: 'force', reason, why }) };
}

async function* researchTurn(
  run: ResearchRun,
  options: { opening: readonly TurnMessage[]; signal: AbortSignal; elapsed(): number },
): AsyncGenerator<Step> {
  const { state, request } = run;
  const tools = [...run.tools.values()].map(({ name, description, parameters }) => ({ name, description, parameters }));
  const finish = yield* askModel(run, {
    signal: options.signal,
    request: () => ({
      messages: [...options.opening, ...transcriptMessages(state)],
      tools,
      ...(request.temperature === null ? {} : { temperature: request.temperature }),
      ...(request.topP === null ? {} : { topP: request.topP }),
    }),
  });
  const { calls, overLimit } = planCalls(run, finish.message.tool_calls ?? []);
  const message = withArguments(finish.message, calls);
  const entry: TurnEntry = { t: 'turn', message, usage: finish.usage, calls, elapsedMs: options.elapsed() };
  noted(state, entry);
  const started = calls
    .filter((planned) => 'call' in planned)
    .map(({ call, name, arguments: text }): StartedCall => ({ call, name, arguments: text }));
  yield started.length > 0
    ? { type: 'tool_calls', calls: started, entry }
    : { type: 'reasoning_end', status: 'completed', entry };
  if (overLimit) yield force(run, overLimit.reason, overLimit.why);
}

interface OverLimit {
  reason: IncompleteReason;
  why: string;
}

/** Numbers the calls that will be made; the others get a reason for the model instead of an item. */
function planCalls(
  run: ResearchRun,
  wanted: readonly { id: string; name: string; arguments: string }[],
): { calls: PlannedCall[]; overLimit: OverLimit | undefined } {
  const { state, request, budget } = run;
  const made: string[] = [];
  let next = state.calls;
  let overLimit: OverLimit | undefined;
  const calls = wanted.map((call): PlannedCall => {
    const { arguments: args } = repairArguments(call.arguments);
    const repeated = refuseRepeated({ name: call.name, arguments: args }, state, made);
    if (repeated) return { id: call.id, refused: repeated };
    overLimit ??= callLimit(next, { requested: request.maxToolCalls, budget: budget.toolCalls });
    if (overLimit) return { id: call.id, refused: `Not made: ${overLimit.why}.` };
    made.push(callKey({ name: call.name, arguments: args }));
    return { id: call.id, call: next++, name: call.name, arguments: args };
  });
  return { calls, overLimit };
}

function callLimit(next: number, limits: { requested: number | null; budget: number }): OverLimit | undefined {
  if (limits.requested !== null && next >= limits.requested) {
    return { reason: 'max_tool_calls', why: `the limit of ${limits.requested} tool calls is reached` };
  }
  if (next >= limits.budget) return { reason: 'budget', why: `the budget of ${limits.budget} tool calls is used` };
  return undefined;
}

/** Runs the calls of the last turn that have no result: all of them, or after a crash those that it cut. */
async function* executePending(run: ResearchRun, limit: AbortSignal): AsyncGenerator<Step> {
  const { state, tools, log, signal } = run;
  const results = runToolCalls(
    state.pendingCalls(),
    { tools, sources: state.sources, log, signal, limit },
    { parallel: run.budget.parallelToolCalls },
  );
  for await (const entry of results) {
    noted(state, entry);
    yield { type: 'tool_result', call: entry.call, status: entry.status, result: entry.result, entry };
  }
}

/** The message to send back: with arguments that parse, because providers refuse a transcript with broken ones. */
function withArguments(message: AssistantMessage, calls: readonly PlannedCall[]): AssistantMessage {
  if (!message.tool_calls) return message;
  const byId = new Map(calls.map((planned) => [planned.id, planned]));
  const tool_calls = message.tool_calls.map((call) => {
    const planned = byId.get(call.id);
    return {
      ...call,
      arguments: planned && 'call' in planned ? planned.arguments : repairArguments(call.arguments).arguments,
    };
  });
  return { ...message, tool_calls };
}
