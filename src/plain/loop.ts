import type { IncompleteReason } from '../protocol/response.ts';
import { needsApproval } from '../research/calls/approvals.ts';
import { isTooMuch } from '../research/calls/repair-arguments.ts';
import { runToolCalls, unknownTool } from '../research/calls/tool-calls.ts';
import { responseFormat } from '../research/run/request.ts';
import { applyEntry } from '../research/run/run.ts';
import { toRunError } from '../research/run/run-error.ts';
import type { ResearchState } from '../research/run/state.ts';
import type { ResearchOutcome, Step } from '../research/run/steps.ts';
import type { PlannedCall } from '../research/run/transcript.ts';
import { type Finish, mayRepeat } from '../research/turns.ts';
import { estimateTokens } from '../upstream/decoding/estimate.ts';
import {
  type AssistantMessage,
  noUsage,
  TurnError,
  type TurnMessage,
  type TurnRequest,
  type TurnToolCall,
  type TurnToolChoice,
} from '../upstream/turn.ts';
import { hasReasoning } from '../upstream/wires/replayed.ts';
import { citationsIn, providersCitations, sourcesInThread, withCitationHint } from './citations.ts';
import { functionCall, isMalformed, isOffered, shellTool } from './client-calls.ts';
import { compactIfNeeded, summaryOnly, summaryTokens } from './compact-thread.ts';
import { showImages, withinLimit } from './images.ts';
import type { PlainRun } from './request.ts';
import { shellRefusal } from './shell-tools.ts';
import { type SentSoFar, streamTurn } from './stream-turn.ts';
import { Truncation } from './truncation.ts';
import { requireOutput, thread } from './turns.ts';

/** After this many turns with calls of hosted tools, the model has to write. */
const MAX_TURNS = 100;
/** After this many turns in a row whose calls were all refused, it has to write, too. */
const MAX_REFUSED = 3;
/** How many hosted tools run at the same time. */
const PARALLEL_CALLS = 4;

const NOTHING_SENT: SentSoFar = { text: '', phase: undefined, messageStart: 0, citationsSent: 0, thought: false };

/**
 * One response of a plain model: a turn, and further turns as long as only hosted tools are called or the provider breaks
 * off (docs/api.md, "Responses of plain models"). Text that was sent is continued in place; reasoning that was cut off is
 * closed, and starts again.
 * @throws GatewayError for the failures in docs/api.md, "Errors"; the signal's reason after an abort.
 */
export async function* plainResponse(run: PlainRun): AsyncGenerator<Step, ResearchOutcome | 'paused'> {
  const { text, annotations, phase } = run.answerSoFar;
  const written: SentSoFar = { ...NOTHING_SENT, text, phase, citationsSent: annotations.length };
  const truncation = new Truncation();
  run.state.sources.note(sourcesInThread(run.request.messages));
  const approved = approvedTurn(run);
  if (approved) yield approved;
  for (let cuts = 0; ; ) {
    const { answered } = run.state;
    if (answered) return { incomplete: answered.cut };
    // Every decision below depends on the transcript alone, so a resumed response continues exactly where it was cut.
    yield* makeCalls(run);
    const early = earlyEnd(run);
    if (early) {
      yield early;
      continue;
    }
    if (run.shouldPause()) return 'paused';
    if (run.request.compacts && run.compaction) {
      yield* summaryOnly(run, run.compaction, truncation);
      continue;
    }
    if (written.text === '') yield* compactIfNeeded(run, truncation);
    const before = written.text.length;
    try {
      const finish = yield* streamTurn({ ...run, request: turnRequest(run, truncation, written.text) }, written);
      const mayCall = toolChoice(run) !== 'none';
      const reply = replyOf(finish, { text: written.text, before, oneCall: run.request.oneCallAtOnce, mayCall });
      const message = withinLimit(reply, run.state);
      const hosted = (message.tool_calls ?? []).filter((call) => isAnsweredHere(call, run, { mayCall }));
      // Not every provider enforces tool_choice. Without this check hosted tools could be called forever.
      if (!mayCall && hosted.length > 0) {
        const fault = 'the model called a tool although none may be called';
        throw new TurnError('failed', fault, { started: true, usage: finish.usage });
      }
      const citations = citationsIn(written.text.slice(written.messageStart), run.state.sources);
      const fresh = [...citations.slice(written.citationsSent), ...providersCitations(finish, written)];
      if (fresh.length > 0) yield { type: 'answer', delta: '', annotations: fresh };
      requireOutput(finish, { message, thought: written.thought });
      if (hosted.length === 0) yield await endStep(run, finish, { ...written, before, message });
      else {
        const encrypted = await encryptedThought(run, finish, { ...written, before });
        yield { ...toolTurnStep(run, finish, { message, hosted }), ...(encrypted !== undefined && { encrypted }) };
        Object.assign(written, NOTHING_SENT);
        cuts = 0;
      }
    } catch (thrown) {
      if (run.signal.aborted || !(thrown instanceof TurnError)) throw thrown;
      const part = { answerLength: written.text.length, answerTokens: estimateTokens(written.text.slice(before)) };
      const entry = applyEntry(run.state, { t: 'spent', usage: thrown.usage, ...part });
      yield { type: 'reasoning_end', status: 'incomplete', entry };
      written.thought = false;
      if (run.request.truncates && thrown.kind === 'context_length' && truncation.refused(thread(run))) continue;
      if (!mayRepeat(thrown, ++cuts)) throw toRunError(thrown, { isClients: true });
      run.log.warn({ err: thrown.message, cuts }, 'turn cut, asking again');
    }
  }
}

/**
 * The message of a turn, as its provider wants it back. `oneCall` and `mayCall` are enforced here because not every
 * provider does; a turn that may not call anything is reduced to its text, if it has any.
 */
function replyOf(
  { message }: Finish,
  { text, before, oneCall, mayCall }: { text: string; before: number; oneCall: boolean; mayCall: boolean },
): AssistantMessage {
  // If another turn wrote the start of the text, the replay data belongs to the end only and must not be sent back.
  const { replay: _, ...plain } = message;
  const { tool_calls: calls, ...silent } = plain;
  if (!mayCall && calls?.length && text.trim() !== '') return { ...silent, content: text };
  return {
    ...(before === 0 ? message : plain),
    content: text,
    ...(oneCall && calls && { tool_calls: calls.slice(0, 1) }),
  };
}

/** The step that ends the response: with calls for the client, with a complete text, or with one cut off at a limit. */
async function endStep(
  run: PlainRun,
  finish: Finish,
  { message, ...sent }: SentSoFar & { before: number; message: AssistantMessage },
): Promise<Step> {
  const encrypted = await encryptedThought(run, finish, sent);
  const entry = applyEntry(run.state, { t: 'answered', usage: finish.usage, cut: cutOf(finish), message });
  const calls = (message.tool_calls ?? []).map((call) => functionCall(call, run.request));
  return {
    ...(calls.length > 0
      ? { type: 'function_calls', calls, entry }
      : { type: 'reasoning_end', status: 'completed', entry }),
    ...(message.images && { images: message.images }),
    ...(encrypted !== undefined && { encrypted }),
  };
}

/**
 * The encrypted reasoning of a turn, if the client stores it. Undefined for a turn that was cut off or joined from several,
 * because its provider would not accept that.
 */
async function encryptedThought(
  { sealThought }: PlainRun,
  finish: Finish,
  { text, thought, before }: SentSoFar & { before: number },
): Promise<string | undefined> {
  const { replay } = finish.message;
  if (!sealThought || before > 0 || cutOf(finish) !== null) return undefined;
  if (!thought && !hasReasoning(finish.message)) return undefined;
  return await sealThought({ ...(replay && { replay }), ...(!thought && text !== '' && { behind: true }) });
}

/** The calls that the client has approved, as the first turn of the response. */
function approvedTurn({ request: { approved }, state }: PlainRun): Step | undefined {
  if (!approved || state.turns > 0) return undefined;
  const { message, requests } = approved;
  const calls = (message.tool_calls ?? []).map((made, call) => ({ ...made, call }));
  const common = { cut: false, invented: false, estimate: 0, elapsedMs: 0 };
  const entry = applyEntry(state, { t: 'turn', message, usage: noUsage(), calls, ...common });
  return {
    type: 'tool_calls',
    calls: calls.map(({ id: _, ...made }, n) => ({ ...made, approval: requests[n] })),
    entry,
  };
}

/**
 * Whether a call gets its result here: of a hosted tool, or one that the client cannot answer, which is refused. What a model
 * calls although it was offered nothing, or may call nothing, is left to the client.
 */
function isAnsweredHere(call: TurnToolCall, { request, tools }: PlainRun, { mayCall }: { mayCall: boolean }): boolean {
  if (needsApproval(call, request)) return false;
  const offers = request.tools.length + tools.size > 0;
  return tools.has(call.name) || isMalformed(call, request) || (offers && mayCall && !isOffered(call, request));
}

const TOO_MUCH = 'The arguments are too long, or hold too many values. Call the tool again with less.';

/** A call as it is sent back to the model: without arguments that were too much. */
function withSaneArguments(call: TurnToolCall): TurnToolCall {
  return isTooMuch(call.arguments) ? { ...call, arguments: '{}' } : call;
}

/** A turn that called hosted tools. Calls of the client's own functions wait until these are made. */
function toolTurnStep(
  run: PlainRun,
  { usage, route }: Finish,
  { message, hosted }: { message: AssistantMessage; hosted: TurnToolCall[] },
): Step {
  const { state, request } = run;
  let next = state.calls.size;
  const known = [...request.tools.map((tool) => tool.name), ...run.tools.keys()];
  const calls = hosted.map(({ id, name, arguments: written }): PlannedCall => {
    const shell = shellTool(name, request);
    if (shell) return { id, refused: shellRefusal(shell) };
    if (!run.tools.has(name)) return { id, refused: unknownTool(name, known) };
    if (isTooMuch(written)) return { id, refused: TOO_MUCH };
    if (request.maxToolCalls !== null && next >= request.maxToolCalls) {
      return { id, refused: `Not made: the limit of ${request.maxToolCalls} tool calls is reached.` };
    }
    return { id, call: next++, name, arguments: written };
  });
  const functions = (message.tool_calls ?? []).filter((call) => !hosted.includes(call));
  const entry = applyEntry(state, {
    t: 'turn',
    message: { ...message, tool_calls: hosted.map(withSaneArguments) },
    usage,
    calls,
    ...(functions.length > 0 && { functions }),
    cut: false,
    invented: false,
    estimate: 0,
    elapsedMs: 0,
    ...(route && { route: { provider: route.provider, model: route.model, price: route.price } }),
  });
  const started = calls.flatMap((planned) =>
    'call' in planned ? [{ call: planned.call, name: planned.name, arguments: planned.arguments }] : [],
  );
  return { type: 'tool_calls', calls: started, entry, ...(message.images && { images: message.images }) };
}

/** Makes the calls of the last turn that have no result yet: all of them, or after a crash those that it interrupted. */
async function* makeCalls({ state, tools, log, signal, onToolCall }: PlainRun): AsyncGenerator<Step> {
  const onSearch = (queries: number) => state.observeQueries(queries);
  const runner = { tools, sources: state.sources, log, signal, limit: signal, onToolCall, onSearch };
  for await (const entry of runToolCalls(state.pendingCalls(), runner, { parallel: PARALLEL_CALLS })) {
    applyEntry(state, entry);
    yield { type: 'tool_result', call: entry.call, status: entry.status, result: entry.result, entry };
  }
}

/** The step that ends the response between two turns: for waiting client functions, or because the limit is reached. */
function earlyEnd({ state, request }: PlainRun): Step | undefined {
  const turn = state.entries.findLast((entry) => entry.t === 'turn');
  const functions = turn?.functions ?? [];
  if (functions.length > 0) {
    const message: AssistantMessage = { role: 'assistant', content: '', tool_calls: functions };
    const entry = applyEntry(state, { t: 'answered', usage: noUsage(), cut: null, message });
    return { type: 'function_calls', calls: functions.map((call) => functionCall(call, request)), entry };
  }
  const { maxOutputTokens: limit } = request;
  if (!turn || limit === null || state.usage.output_tokens - summaryTokens(state) < limit) return undefined;
  const entry = applyEntry(state, { t: 'answered', usage: noUsage(), cut: 'max_output_tokens' });
  return { type: 'reasoning_end', status: 'completed', entry };
}

function cutOf({ reason }: Finish): IncompleteReason | null {
  if (reason === 'length') return 'max_output_tokens';
  return reason === 'content_filter' ? 'content_filter' : null;
}

function turnRequest(run: PlainRun, truncation: Truncation, soFar: string): TurnRequest {
  const { request, state } = run;
  const { temperature, topP, stop, format, reasoningEffort, verbosity, logprobs } = request;
  const continuation: TurnMessage[] = [
    { role: 'assistant', content: soFar },
    { role: 'user', content: run.continuePrompt },
  ];
  const isText = format === null || format.type === 'text';
  const hosted = [...run.tools.values()].map(({ name, description, parameters }) => ({
    name,
    description,
    parameters,
  }));
  const tools = [...request.tools, ...(isText ? hosted.map(withCitationHint) : hosted)];
  const turns = state.entries.flatMap((entry) => (entry.t === 'turn' ? [entry.usage.outputTokens] : []));
  const spent = turns.reduce((sum, tokens) => sum + tokens, state.answerTokens);
  return {
    messages: [...showImages(truncation.fit(thread(run)), run), ...(soFar === '' ? [] : continuation)],
    takesImages: true,
    ...(tools.length > 0 && { tools, toolChoice: toolChoice(run), oneCallAtOnce: request.oneCallAtOnce }),
    ...(request.maxOutputTokens !== null && { maxOutputTokens: Math.max(1, request.maxOutputTokens - spent) }),
    ...(temperature !== null && { temperature }),
    ...(topP !== null && { topP }),
    ...(stop && { stop }),
    ...(!isText && { responseFormat: responseFormat(format), reasoningIsText: 'json' as const }),
    ...(reasoningEffort !== null && { reasoningEffort }),
    ...(verbosity !== undefined && { verbosity }),
    ...(logprobs !== undefined && { logprobs }),
    // After a crash the text may be complete already, so that the model has nothing to add.
    ...(soFar !== '' && { mayBeEmpty: true }),
    cacheKey: request.cacheKey ?? run.id,
  };
}

/** The requested tool choice holds for the first turn only; after it the model may write. */
function toolChoice({ request, state }: PlainRun): TurnToolChoice {
  if (state.turns >= MAX_TURNS || refusedTurnsInARow(state) >= MAX_REFUSED) return 'none';
  return state.turns > (request.approved ? 1 : 0) && request.toolChoice !== 'none' ? 'auto' : request.toolChoice;
}

/** How many turns in a row, up to now, had all their calls refused. */
function refusedTurnsInARow({ entries }: ResearchState): number {
  const turns = entries.filter((entry) => entry.t === 'turn');
  const made = turns.findLastIndex(({ calls }) => calls.some((planned) => 'call' in planned));
  return turns.length - 1 - made;
}
