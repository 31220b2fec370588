import { linkSignals, TimeoutError } from '../base/abort.ts';
import { itemId } from '../base/ids.ts';
import { isObject, parseJson } from '../base/json.ts';
import type { IncompleteReason } from '../protocol/response.ts';
import { type AnsweringRoute, type AssistantMessage, noUsage } from '../upstream/turn.ts';
import { writeAnswer } from './answer/answer.ts';
import { mayShowOf } from './answer/may-show.ts';
import { asksFirst } from './calls/approvals.ts';
import { repairArguments } from './calls/repair-arguments.ts';
import { runToolCalls } from './calls/tool-calls.ts';
import { type Context, createContext } from './context/context.ts';
import { notesIn } from './context/model-notes.ts';
import { restartNotes } from './context/restart.ts';
import { recordsOf } from './context/result-records.ts';
import { verdictOn } from './guards/guards.ts';
import { inventedResult } from './guards/refusals.ts';
import { callKey, refuseRepeated } from './guards/repeated-calls.ts';
import { remindOfPlan } from './plan/plan-messages.ts';
import { answersNothing, showInstead, shownInstead } from './plan/shown-instead.ts';
import { withReader } from './reading/reader.ts';
import { readerRecords } from './reading/reader-records.ts';
import { makeOutline, remindOfGaps } from './report/outline.ts';
import { spentBudget } from './run/budget.ts';
import { isOwnTool } from './run/own-tools.ts';
import { noted, type ResearchRun } from './run/run.ts';
import { clientNames, type FunctionCall, type ResearchOutcome, type StartedCall, type Step } from './run/steps.ts';
import type { ExecutableCall, Forced, GuardName, PlannedCall, TurnEntry } from './run/transcript.ts';
import { askModel, ContextWall, CostLimit, EndlessRepetition } from './turns.ts';

/**
 * The research loop (docs/research.md): research turns until the model knows enough or a budget ends, then one answer
 * turn. The only loop there is: streaming and blocking clients are both readers of what it yields.
 * Returns `paused` where `shouldPause` asked for it at a step boundary.
 * @throws GatewayError for failures of docs/api.md, "Errors"; the signal's reason after an abort.
 */
export async function* research(run: ResearchRun): AsyncGenerator<Step, ResearchOutcome | 'paused'> {
  const context = createContext(run);
  if (run.answerSoFar.text === '' && mayLookUp(run) && !run.state.answered) {
    const left = yield* researchPhase(run, context);
    if (left === 'paused') return 'paused';
  }
  if (run.state.waitingCalls().length > 0) return { incomplete: null };
  return yield* answersNothing(run) ? showInstead(run) : writeAnswer(run, context);
}

function mayLookUp({ tools, request }: ResearchRun): boolean {
  return tools.size > 0 || (request.functions?.length ?? 0) > 0 || (request.goesOn?.approved?.length ?? 0) > 0;
}

/** Calls that the client has approved: this response begins with them. */
function beginApproved({ state, request }: ResearchRun): Step | undefined {
  const approved = request.goesOn?.approved ?? [];
  if (approved.length === 0 || state.approvedHere.length > 0) return undefined;
  const entry = noted(state, { t: 'approved', calls: approved });
  const calls = approved.flatMap(({ call, request: approval }) => {
    const made = state.made.get(call);
    return made ? [{ call, name: made.name, arguments: made.arguments, approval }] : [];
  });
  return { type: 'tool_calls', calls, entry };
}

/** The response ends with calls for the client to make or to approve; the request that answers them goes on. */
function endWith({ id, state, request }: ResearchRun, calls: readonly ExecutableCall[]): Step {
  const entry = noted(state, { t: 'answered', usage: noUsage(), cut: null });
  const told = calls.map(({ call, name, arguments: args, asks }): FunctionCall => {
    if (asks) return { callId: '', name, arguments: args, as: 'approval' };
    const callId = itemId('call', id, { output: call });
    return { callId, ...clientNames(name, request.functions ?? []), arguments: args };
  });
  return { type: 'function_calls', calls: told, entry };
}

async function* researchPhase(run: ResearchRun, context: Context): AsyncGenerator<Step, 'paused' | 'ended'> {
  const { state, budget } = run;
  const began = run.clock.now() - state.elapsedMs;
  const elapsed = () => run.clock.now() - began;
  const timeLeft = Math.max(1, budget.minutes * 60_000 - elapsed());
  using phase = linkSignals([run.signal], { what: 'research', timeoutMs: timeLeft });
  const approved = beginApproved(run);
  if (approved) yield approved;

  for (;;) {
    // Each of these looks at the transcript alone: a run that is taken up again goes on where it was cut.
    yield* executePending(run, { context, limit: phase.signal });
    const waiting = state.waitingCalls();
    if (waiting.length > 0) {
      yield endWith(run, waiting);
      return 'ended';
    }
    yield* guard(run, context);
    if (run.shouldPause()) return 'paused';
    if (state.forced || shownInstead(run) !== undefined) return 'ended';
    const spent = spentBudget(budget, { turns: state.turns, tokens: state.tokens, elapsedMs: elapsed() });
    if (state.researched()) {
      const reminder =
        spent === undefined ? (remindOfPlan(run) ?? (yield* gapsOf(run, { context, phase: phase.signal }))) : undefined;
      if (!reminder) return 'ended';
      yield reminder;
    } else if (spent !== undefined) {
      yield force(run, 'budget', spent);
      continue;
    }
    try {
      yield* researchTurn(run, { context, signal: phase.signal, elapsed });
    } catch (thrown) {
      yield* afterWall(run, { context, thrown, phase: phase.signal });
    }
  }
}

function force(run: ResearchRun, reason: IncompleteReason, why: string): Step {
  run.log.info({ reason, why }, 'answer forced');
  return { type: 'note', entry: noted(run.state, { t: 'force', reason, why }) };
}

function tell(run: ResearchRun, guardName: GuardName, text: string): Step {
  run.log.info({ guard: guardName }, 'the model was told');
  return { type: 'note', entry: noted(run.state, { t: 'note', guard: guardName, text }) };
}

/** Plans the report and names what it lacks; undefined where nothing is to be searched for. */
async function* gapsOf(
  run: ResearchRun,
  { context, phase }: { context: Context; phase: AbortSignal },
): AsyncGenerator<Step, Step | undefined> {
  try {
    yield* makeOutline(run, { context, mayShow: mayShowOf(run), signal: phase });
  } catch (thrown) {
    yield* afterWall(run, { context, thrown, phase });
  }
  return run.state.forced ? undefined : remindOfGaps(run);
}

/** Steps in after a turn that did not help; see `guards.ts`. */
async function* guard(run: ResearchRun, context: Context): AsyncGenerator<Step> {
  if (run.state.forced) return;
  const verdict = verdictOn(run.state);
  if (verdict?.do === 'tell') yield tell(run, verdict.guard, verdict.text);
  if (verdict?.do === 'stop') yield await giveUp(run, context, verdict.why);
}

/** The attempt is given up: once for a fresh one with notes, then for the answer. */
async function giveUp(run: ResearchRun, context: Context, why: string): Promise<Step> {
  const restart = await restartNotes(run.state, { why, context });
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
  } else if (thrown instanceof CostLimit) {
    yield force(run, 'budget', thrown.message);
  } else if (thrown instanceof EndlessRepetition && run.state.toldInARow('repetition') === 0) {
    yield tell(run, 'repetition', 'You repeated the same text without end and were stopped. Go on with the next step.');
  } else if (thrown instanceof ContextWall || thrown instanceof EndlessRepetition) {
    yield await giveUp(run, context, thrown instanceof ContextWall ? 'the context was full' : thrown.message);
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
  const { finish, reasoning, estimate } = yield* askModel(run, { context, signal });
  const said = withShortNames(finish.message);
  const { calls, forced } = planCalls(run, said.tool_calls ?? []);
  const { message, invented } = cleaned(said, calls);
  const entry: TurnEntry = {
    t: 'turn',
    message,
    usage: finish.usage,
    calls,
    cut: finish.reason === 'length',
    invented,
    ...(forced ? { forced } : {}),
    estimate,
    elapsedMs: options.elapsed(),
    notes: notesIn({ text: message.content, reasoning }, { turn: state.turns + 1, about: context.about }),
    ...(finish.route ? { route: routeOf(finish.route) } : {}),
    ...(state.turns === 0 ? { opening: context.opening } : {}),
  };
  noted(state, entry);
  const started = calls
    .filter((planned) => 'call' in planned)
    .filter(({ client, asks }) => !client && !asks)
    .map(({ call, name, arguments: text }): StartedCall => ({ call, name, arguments: text }));
  yield started.length > 0
    ? { type: 'tool_calls', calls: started, entry }
    : { type: 'reasoning_end', status: 'completed', entry };
}

/** No tool has a longer name: what a model writes beyond is in every error, item and comparison of calls. */
const LONGEST_NAME = 256;

function withShortNames(message: AssistantMessage): AssistantMessage {
  if (!message.tool_calls?.some(({ name }) => name.length > LONGEST_NAME)) return message;
  return {
    ...message,
    tool_calls: message.tool_calls.map((call) => ({ ...call, name: call.name.slice(0, LONGEST_NAME) })),
  };
}

/** What of the route is kept with a turn. */
function routeOf({ provider, model, price }: AnsweringRoute): NonNullable<TurnEntry['route']> {
  return { provider, model, ...(price ? { price } : {}) };
}

/** Numbers the calls that will be made; the others get a reason for the model instead of an item. */
function planCalls(
  run: ResearchRun,
  wanted: readonly { id: string; name: string; arguments: string }[],
): { calls: PlannedCall[]; forced: Forced | undefined } {
  const { state, request, budget } = run;
  const rules = { tools: request.functions ?? [], approvals: request.approvals };
  const planned: string[] = [];
  let next = state.made.size;
  let counted = 0;
  let forced: Forced | undefined;
  const calls = wanted.map(({ id, name, arguments: written }): PlannedCall => {
    if (request.functions?.some((own) => own.name === name)) {
      return { id, call: next++, name, arguments: written, client: true };
    }
    const { arguments: args, ok } = repairArguments(written);
    const repeated = refuseRepeated({ name, arguments: args }, state, planned);
    if (repeated) return { id, ...repeated };
    const counts = !isOwnTool(name);
    if (counts) forced ??= callLimit(state, counted, { requested: request.maxToolCalls, budget: budget.toolCalls });
    if (counts && forced) return { id, refused: `Not made: ${forced.why}.` };
    planned.push(callKey({ name, arguments: args }));
    if (counts) counted++;
    if (!ok) return { id, call: next++, name, arguments: args, broken: true };
    return { id, call: next++, name, arguments: args, ...(asksFirst(name, rules) && { asks: true }) };
  });
  return { calls, forced };
}

function callLimit(
  { toolCalls, ownToolCalls }: ResearchRun['state'],
  more: number,
  limits: { requested: number | null; budget: number },
): Forced | undefined {
  if (limits.requested !== null && ownToolCalls + more >= limits.requested) {
    return { reason: 'max_tool_calls', why: `the limit of ${limits.requested} tool calls is reached` };
  }
  if (toolCalls + more >= limits.budget)
    return { reason: 'budget', why: `the budget of ${limits.budget} tool calls is used` };
  return undefined;
}

/** Runs the calls of the last turn that have no result: all of them, or after a crash those that it cut. */
async function* executePending(
  run: ResearchRun,
  { context, limit }: { context: Context; limit: AbortSignal },
): AsyncGenerator<Step> {
  const { state, log, signal } = run;
  const { tools, takeSpent, notesOn } = withReader(run, context);
  const results = runToolCalls(
    state.pendingCalls(),
    { tools, sources: state.sources, log, signal, limit, onToolCall: run.onToolCall },
    { parallel: run.budget.parallelToolCalls },
  );
  for await (const entry of results) {
    for (const usage of takeSpent()) yield { type: 'note', entry: noted(state, { t: 'spent', usage }) };
    const made = state.made.get(entry.call);
    const extraction = { about: context.about, turn: state.turns };
    const args = made ? parseJson(made.arguments) : undefined;
    const read = isObject(args) ? notesOn(args) : undefined;
    if (read && isObject(args)) entry.records = readerRecords(read, { result: entry, args, ...extraction });
    else if (made) entry.records = await recordsOf(made, entry, extraction);
    noted(state, entry);
    yield { type: 'tool_result', call: entry.call, status: entry.status, result: entry.result, entry };
  }
}

/**
 * The message to send back: with arguments that parse, because providers refuse a transcript with broken ones, and
 * without tool results that the model wrote itself.
 */
function cleaned(
  message: AssistantMessage,
  calls: readonly PlannedCall[],
): { message: AssistantMessage; invented: boolean } {
  const at = inventedResult(message.content);
  const invented = at !== -1;
  const content = invented ? `${message.content.slice(0, at).trimEnd()}…` : message.content;
  if (!message.tool_calls) return { message: { ...message, content }, invented };
  const byId = new Map(calls.map((planned) => [planned.id, planned]));
  const tool_calls = message.tool_calls.map((call) => {
    const planned = byId.get(call.id);
    const isOurs = planned && 'call' in planned && !planned.client;
    const args = isOurs ? planned.arguments : repairArguments(call.arguments).arguments;
    return { ...call, arguments: args };
  });
  return { message: { ...message, content, tool_calls }, invented };
}
