import { linkSignals, TimeoutError } from '../base/abort.ts';
import { itemId } from '../base/ids.ts';
import { isObject, parseJson } from '../base/json.ts';
import { counted } from '../base/text.ts';
import type { IncompleteReason } from '../protocol/response.ts';
import { type AnsweringRoute, noUsage } from '../upstream/turn.ts';
import { mayShowOf } from './answer/may-show.ts';
import { cleanMessage, planCalls, withShortNames } from './calls/plan-calls.ts';
import { runToolCalls } from './calls/tool-calls.ts';
import type { Context } from './context/context.ts';
import { notesIn } from './context/model-notes.ts';
import { restartNotes } from './context/restart.ts';
import { recordsOf } from './context/result-records.ts';
import { toolResultMessage } from './context/segment.ts';
import { verdictOn } from './guards/guards.ts';
import { lanesDue } from './lanes/lanes-due.ts';
import { remindOfPlan } from './plan/plan-messages.ts';
import { substituteOf } from './plan/substitute.ts';
import { withReader } from './reading/reader.ts';
import { readerRecords } from './reading/reader-records.ts';
import { makeOutline, remindOfGaps } from './report/outline.ts';
import { notesInARow } from './run/dialogue.ts';
import { applyEntry, type ResearchRun } from './run/run.ts';
import { clientNames, type FunctionCall, type StartedCall, type Step, searchResultOf } from './run/steps.ts';
import type { ExecutableCall, GuardName, TurnEntry } from './run/transcript.ts';
import { askModel, BudgetExhausted, ContextOverflow, EndlessRepetition } from './turns.ts';

/** Runs research turns over one context until the model knows enough, a budget is used up or lanes are due. */
export async function* researchPhase(
  run: ResearchRun,
  context: Context,
): AsyncGenerator<Step, 'paused' | 'ended' | 'lanes'> {
  const { state, budget, allowance } = run;
  const timeLeft = Math.max(1, budget.minutes * 60_000 - run.elapsedMs());
  using phase = linkSignals([run.signal], { what: 'research', timeoutMs: timeLeft });

  for (;;) {
    // Every decision below depends on the transcript alone, so a resumed run continues exactly where it was cut.
    yield* executePending(run, { context, limit: phase.signal });
    const waiting = state.waitingCalls();
    if (waiting.length > 0) {
      yield endWithCalls(run, waiting);
      return 'ended';
    }
    yield* applyGuards(run, context);
    if (run.shouldPause()) return 'paused';
    if (state.forcedEnd || substituteOf(run) !== undefined) return 'ended';
    if (lanesDue(run)) return 'lanes';
    if (state.isResearchDone()) {
      const fits = allowance.exhausted(run.elapsedMs()) === undefined;
      const reminder = fits && (remindOfPlan(run) ?? (yield* findGaps(run, { context, phase: phase.signal })));
      if (!reminder) return 'ended';
      yield reminder;
    }
    try {
      const spent = await allowance.acquireTurn(run.elapsedMs, phase.signal);
      if (spent === undefined) yield* researchTurn(run, { context, signal: phase.signal });
      else yield force(run, 'budget', spent);
    } catch (thrown) {
      allowance.release();
      yield* handleTurnError(run, { context, thrown, phase: phase.signal });
    }
  }
}

/** Ends the response with calls for the client to make or approve. The request that answers them continues the research. */
function endWithCalls({ id, state, request }: ResearchRun, calls: readonly ExecutableCall[]): Step {
  const entry = applyEntry(state, { t: 'answered', usage: noUsage(), cut: null });
  const functionCalls = calls.map(({ call, name, arguments: args, asks }): FunctionCall => {
    if (asks) return { callId: '', name, arguments: args, as: 'approval' };
    const callId = itemId('call', id, { output: call });
    const { functions = [] } = request;
    return { callId, ...clientNames(name, functions), arguments: args, ...searchResultOf(name, functions) };
  });
  return { type: 'function_calls', calls: functionCalls, entry };
}

function force(run: ResearchRun, reason: IncompleteReason, why: string): Step {
  run.log.info({ reason, why }, 'answer forced');
  return { type: 'note', entry: applyEntry(run.state, { t: 'force', reason, why }) };
}

function warnModel(run: ResearchRun, guardName: GuardName, text: string): Step {
  run.log.info({ guard: guardName }, 'the model got a note');
  return { type: 'note', entry: applyEntry(run.state, { t: 'note', guard: guardName, text }) };
}

/** Plans the report, then returns a reminder of the sections that lack evidence; undefined if there are none. */
async function* findGaps(
  run: ResearchRun,
  { context, phase }: { context: Context; phase: AbortSignal },
): AsyncGenerator<Step, Step | undefined> {
  try {
    yield* makeOutline(run, { context, mayShow: mayShowOf(run), signal: phase });
  } catch (thrown) {
    yield* handleTurnError(run, { context, thrown, phase });
  }
  return run.state.forcedEnd ? undefined : remindOfGaps(run);
}

/** Warns the model or ends the attempt after turns that made no progress; see `guards.ts`. */
async function* applyGuards(run: ResearchRun, context: Context): AsyncGenerator<Step> {
  if (run.state.forcedEnd) return;
  const verdict = verdictOn(run.state);
  if (verdict?.do === 'warn') yield warnModel(run, verdict.guard, verdict.text);
  if (verdict?.do === 'stop') yield await giveUp(run, context, verdict.why);
}

/** Abandons the attempt: the first time for a fresh one that starts from notes, the second time for the answer. */
async function giveUp(run: ResearchRun, context: Context, why: string): Promise<Step> {
  const restart = await restartNotes(run.state, { why, context });
  if (!restart) return force(run, 'stuck', why);
  run.log.info({ why }, 'starting a fresh attempt from notes');
  return { type: 'note', entry: applyEntry(run.state, restart) };
}

const REPETITION_NOTE = 'You repeated the same text without end and were stopped. Go on with the next step.';

/** Handles what ends a turn without failing the run: time, cost, a context that cannot be made to fit, endless repetition. */
async function* handleTurnError(
  run: ResearchRun,
  { context, thrown, phase }: { context: Context; thrown: unknown; phase: AbortSignal },
): AsyncGenerator<Step> {
  run.signal.throwIfAborted();
  if (phase.reason instanceof TimeoutError) {
    yield { type: 'reasoning_end', status: 'incomplete' };
    yield force(run, 'budget', `the time budget of ${counted(run.budget.minutes, 'minute')} is used`);
  } else if (thrown instanceof BudgetExhausted) {
    yield force(run, 'budget', thrown.message);
  } else if (thrown instanceof EndlessRepetition && notesInARow(run.state.attempt(), 'repetition') === 0) {
    yield warnModel(run, 'repetition', REPETITION_NOTE);
  } else if (thrown instanceof ContextOverflow || thrown instanceof EndlessRepetition) {
    yield await giveUp(run, context, thrown instanceof ContextOverflow ? 'the context was full' : thrown.message);
  } else {
    throw thrown;
  }
}

async function* researchTurn(
  run: ResearchRun,
  { context, signal }: { context: Context; signal: AbortSignal },
): AsyncGenerator<Step> {
  const { state } = run;
  const { finish, reasoning, estimate } = yield* askModel(run, { context, signal });
  const reply = withShortNames(finish.message);
  const { calls, forced } = planCalls(run, reply.tool_calls ?? []);
  const { message, invented } = cleanMessage(reply, calls, run);
  const entry: TurnEntry = {
    t: 'turn',
    message,
    usage: finish.usage,
    calls,
    cut: finish.reason === 'length',
    invented,
    ...(forced ? { forced } : {}),
    estimate,
    elapsedMs: run.elapsedMs(),
    notes: notesIn({ text: message.content, reasoning }, { turn: state.turns + 1, about: context.about }),
    ...(finish.route ? { route: routeOf(finish.route) } : {}),
    ...(state.turns === 0 ? { opening: context.opening } : {}),
  };
  applyEntry(state, entry);
  run.allowance.release();
  const started = calls
    .filter((planned) => 'call' in planned)
    .filter(({ client, asks }) => !client && !asks)
    .map(({ call, name, arguments: text }): StartedCall => ({ call, name, arguments: text }));
  yield started.length > 0
    ? { type: 'tool_calls', calls: started, entry }
    : { type: 'reasoning_end', status: 'completed', entry };
}

/** The part of a route that is stored with a turn. */
function routeOf({ provider, model, price }: AnsweringRoute): NonNullable<TurnEntry['route']> {
  return { provider, model, ...(price ? { price } : {}) };
}

/** Runs the calls of the last turn that have no result yet: all of them, or after a crash those that it interrupted. */
async function* executePending(
  run: ResearchRun,
  { context, limit }: { context: Context; limit: AbortSignal },
): AsyncGenerator<Step> {
  const { state, log, signal } = run;
  const { tools, takeSpent, notesOn } = withReader(run, context);
  const { toolSlot: slot, onToolCall } = run;
  const onSearch = (queries: number) => state.observeQueries(queries);
  const results = runToolCalls(
    state.pendingCalls(),
    { tools, sources: state.sources, log, signal, limit, slot, onToolCall, onSearch },
    { parallel: run.budget.parallelToolCalls },
  );
  for await (const entry of results) {
    for (const usage of takeSpent()) yield { type: 'note', entry: applyEntry(state, { t: 'spent', usage }) };
    const toolCall = state.calls.get(entry.call);
    const extraction = { about: context.about, turn: state.turns };
    const args = toolCall ? parseJson(toolCall.arguments) : undefined;
    const read = isObject(args) ? notesOn(args) : undefined;
    if (read && isObject(args)) entry.records = readerRecords(read, { result: entry, args, ...extraction });
    else if (toolCall) entry.records = await recordsOf(toolCall, entry, extraction);
    if (toolCall) toolResultMessage(entry, { id: toolCall.id, fence: run.fence });
    applyEntry(state, entry);
    yield { type: 'tool_result', call: entry.call, status: entry.status, result: entry.result, entry };
  }
}
