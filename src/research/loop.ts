import { linkSignals, TimeoutError } from '../base/abort.ts';
import { messageOf } from '../base/errors.ts';
import type { IncompleteReason } from '../protocol/response.ts';
import type { AssistantMessage, TurnTool } from '../upstream/turn.ts';
import { writeAnswer } from './answer.ts';
import { spentBudget } from './budget.ts';
import { type Context, createContext } from './context.ts';
import { callKey, inventedResult, judge, refuseRepeated } from './guards.ts';
import { withReader } from './reader.ts';
import { repairArguments } from './repair-arguments.ts';
import { restartNotes } from './restart.ts';
import { noted, type ResearchRun } from './run.ts';
import type { ResearchOutcome, StartedCall, Step } from './steps.ts';
import { runToolCalls } from './tool-calls.ts';
import type { GuardName, PlannedCall, TurnEntry } from './transcript.ts';
import { askModel, ContextWall, EndlessRepetition } from './turns.ts';

/**
 * The research loop (architecture: "Research loop"): research turns until the model knows enough or a budget ends,
 * then one answer turn. The only loop there is: streaming and blocking clients are both readers of what it yields.
 * Returns `paused` where `shouldPause` asked for it at a step boundary.
 * @throws GatewayError for failures of contract section 3.2; the signal's reason after an abort.
 */
export async function* research(run: ResearchRun): AsyncGenerator<Step, ResearchOutcome | 'paused'> {
  const context = createContext(run);
  if (run.answerSoFar === '' && run.tools.size > 0) {
    const paused = yield* researchPhase(run, context);
    if (paused) return 'paused';
  }
  return yield* writeAnswer(run, context);
}

async function* researchPhase(run: ResearchRun, context: Context): AsyncGenerator<Step, boolean> {
  const { state, budget } = run;
  const began = run.clock.now() - state.elapsedMs;
  const elapsed = () => run.clock.now() - began;
  const timeLeft = Math.max(1, budget.minutes * 60_000 - elapsed());
  using phase = linkSignals([run.signal], { what: 'research', timeoutMs: timeLeft });

  yield* executePending(run, { context, limit: phase.signal });
  while (!state.forced) {
    if (run.shouldPause()) return true;
    if (state.researched()) {
      if (!run.model.research.verify || state.noted('verify') > 0) break;
      yield tell(run, 'verify', run.prompts.verify());
    }
    const spent = spentBudget(budget, { turns: state.turns, usage: state.usage, elapsedMs: elapsed() });
    if (spent !== undefined) {
      yield force(run, 'budget', spent);
      break;
    }
    try {
      yield* researchTurn(run, { context, signal: phase.signal, elapsed });
      yield* executePending(run, { context, limit: phase.signal });
      yield* guard(run, context);
    } catch (thrown) {
      yield* afterWall(run, { context, thrown, phase: phase.signal });
    }
  }
  return run.shouldPause();
}

function force(run: ResearchRun, reason: IncompleteReason, why: string): Step {
  run.log.info({ reason, why }, 'answer forced');
  return { type: 'note', entry: noted(run.state, { t: 'force', reason, why }) };
}

function tell(run: ResearchRun, guardName: GuardName, text: string): Step {
  run.log.info({ guard: guardName }, 'the model was told');
  return { type: 'note', entry: noted(run.state, { t: 'note', guard: guardName, text }) };
}

/** Steps in after a turn that did not help; see `guards.ts`. */
async function* guard(run: ResearchRun, context: Context): AsyncGenerator<Step> {
  if (run.state.forced) return;
  const verdict = judge(run.state);
  if (verdict?.do === 'tell') yield tell(run, verdict.guard, verdict.text);
  if (verdict?.do === 'stop') yield giveUp(run, context, verdict.why);
}

/** The attempt is given up: once for a fresh one with notes, then for the answer. */
function giveUp(run: ResearchRun, context: Context, why: string): Step {
  const restart = restartNotes(run.state, { why, context });
  if (!restart) return force(run, 'stuck', why);
  run.log.info({ why }, 'beginning anew with notes');
  return { type: 'note', entry: noted(run.state, restart) };
}

/** What ends an attempt without failing the run: time, a context that cannot be made to fit, endless repetition. */
async function* afterWall(
  run: ResearchRun,
  { context, thrown, phase }: { context: Context; thrown: unknown; phase: AbortSignal },
): AsyncGenerator<Step> {
  run.signal.throwIfAborted();
  if (phase.reason instanceof TimeoutError) {
    yield { type: 'reasoning_end', status: 'incomplete' };
    yield force(run, 'budget', `the time budget of ${run.budget.minutes} minutes is used`);
  } else if (thrown instanceof EndlessRepetition && run.state.noted('repetition') === 0) {
    yield tell(run, 'repetition', 'You repeated the same text without end and were stopped. Go on with the next step.');
  } else if (thrown instanceof ContextWall || thrown instanceof EndlessRepetition) {
    yield giveUp(run, context, messageOf(thrown));
  } else {
    throw thrown;
  }
}

async function* researchTurn(
  run: ResearchRun,
  options: { context: Context; signal: AbortSignal; elapsed(): number },
): AsyncGenerator<Step> {
  const { context, signal } = options;
  const { state } = run;
  const tools = [...run.tools.values()].map(
    ({ name, description, parameters }): TurnTool => ({ name, description, parameters }),
  );
  const { finish, thought, estimate } = yield* askModel(run, { context, tail: [], tools, signal });
  const { calls, overLimit } = planCalls(run, finish.message.tool_calls ?? []);
  const entry: TurnEntry = {
    t: 'turn',
    message: cleaned(finish.message, calls),
    usage: finish.usage,
    calls,
    thought,
    estimate,
    elapsedMs: options.elapsed(),
  };
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
async function* executePending(
  run: ResearchRun,
  { context, limit }: { context: Context; limit: AbortSignal },
): AsyncGenerator<Step> {
  const { state, log, signal } = run;
  const { tools, takeSpent } = withReader(run, context);
  const results = runToolCalls(
    state.pendingCalls(),
    { tools, sources: state.sources, log, signal, limit, onToolCall: run.onToolCall },
    { parallel: run.budget.parallelToolCalls },
  );
  for await (const entry of results) {
    noted(state, entry);
    yield { type: 'tool_result', call: entry.call, status: entry.status, result: entry.result, entry };
    for (const usage of takeSpent()) yield { type: 'note', entry: noted(state, { t: 'spent', usage }) };
  }
}

/**
 * The message to send back: with arguments that parse, because providers refuse a transcript with broken ones, and
 * without tool results that the model wrote itself.
 */
function cleaned(message: AssistantMessage, calls: readonly PlannedCall[]): AssistantMessage {
  const invented = inventedResult(message.content);
  const content = invented === -1 ? message.content : `${message.content.slice(0, invented).trimEnd()}\u2026`;
  if (!message.tool_calls) return { ...message, content };
  const byId = new Map(calls.map((planned) => [planned.id, planned]));
  const tool_calls = message.tool_calls.map((call) => {
    const planned = byId.get(call.id);
    const args = planned && 'call' in planned ? planned.arguments : repairArguments(call.arguments).arguments;
    return { ...call, arguments: args };
  });
  return { ...message, content, tool_calls };
}
