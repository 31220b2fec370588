import { newRunId } from '../../base/ids.ts';
import { isObject, type JsonObject, parseJson } from '../../base/json.ts';
import { contentText } from '../../base/text.ts';
import type { PriorCall } from '../../protocol/requests/foreign-items.ts';
import { parseValue } from '../../protocol/requests/parse.ts';
import { type InputItem, inputItem, isUserText } from '../../protocol/requests/request-input.ts';
import type { ContinuedResearch, FunctionOutputs, TextWithImages } from '../../research/run/request.ts';
import { ResearchState } from '../../research/run/state.ts';
import type { TurnEntry } from '../../research/run/transcript.ts';
import type { Runs } from '../../runs/runs.ts';
import type { Caller } from '../../runs/submission.ts';
import { resultOf } from '../../runs/submitting/resume-research.ts';
import { noUsage, type TurnTool } from '../../upstream/turn.ts';
import { callsIn } from './conversation.ts';

type FunctionAnswers = Omit<FunctionOutputs, 'param' | 'isStored'>;

const NO_ANSWERS: FunctionAnswers = {
  outputs: new Map(),
  approvals: new Map(),
  repeatedCalls: new Set(),
  messages: [],
};

/**
 * The outputs of functions in a thread, and the user's messages after them. In a thread that is sent as a whole those follow
 * the last output. `all`: the input follows a response, so all of its messages count, or those after the calls that it
 * repeats. A whole thread in which the assistant has spoken since has no outputs to use, because that research has ended.
 */
export function functionOutputs(items: readonly InputItem[], { all }: { all: boolean }): FunctionAnswers {
  const outputs = new Map<string, TextWithImages>();
  let duplicate: string | undefined;
  const approvals = new Map<string, boolean>();
  for (const item of items) {
    if (item.type !== 'prior_output' || item.callId === undefined) continue;
    if (outputs.has(item.callId)) duplicate ??= item.callId;
    outputs.set(item.callId, { text: item.output, images: item.images });
    if (item.approves !== undefined) approvals.set(item.callId, item.approves);
  }
  const lastOutput = items.findLastIndex((item) => item.type === 'prior_output');
  const lastCall = items.findLastIndex((item) => callsIn(item).some(({ callId }) => outputs.has(callId ?? '')));
  const rest = items.slice((all ? lastCall : lastOutput) + 1);
  if (!all && rest.some((item) => item.type === 'message' && item.role === 'assistant')) return NO_ANSWERS;
  const messages = rest.flatMap((item) =>
    item.type === 'message' && item.role === 'user'
      ? [
          {
            text: contentText(item.content),
            images: item.content.flatMap((part) => (part.type === 'image' ? [part.url] : [])),
          },
        ]
      : [],
  );
  const repeatedCalls = new Set(items.flatMap(callsIn).map(({ callId }) => callId));
  return {
    outputs,
    duplicate,
    approvals,
    repeatedCalls,
    messages: messages.filter(({ text, images }) => text.trim() !== '' || images.length > 0),
  };
}

/**
 * Goes on with a research of which nothing is stored (`store: false`): calls of these functions at the end of the thread,
 * with their outputs, and calls that asked for an approval, with the answers, are its transcript. Undefined if the thread
 * ends with anything else.
 */
export function resumeFromThread(
  items: readonly InputItem[],
  functions: readonly TurnTool[] = [],
): { before: InputItem[]; goesOn: NonNullable<ContinuedResearch['goesOn']> } | undefined {
  const outputs = new Map(items.flatMap((item) => (item.type === 'prior_output' ? [[item.callId, item]] : [])));
  const isOurs = ({ callId, name, arguments: written, asks }: PriorCall) => {
    if (asks) return outputs.get(callId)?.approves !== undefined;
    return functions.some((offered) => offered.name === name) && outputs.has(callId) && isObject(parseJson(written));
  };
  const start =
    items.findLastIndex((item) => !/^(?:prior_output|reasoning)$/.test(item.type) && !makes(item, isOurs)) + 1;
  const rest = items.slice(start);
  const called = new Set(rest.flatMap(callsIn).map(({ callId }) => callId));
  if (called.size === 0 || rest.some((item) => item.type === 'prior_output' && !called.has(item.callId)))
    return undefined;
  const state = new ResearchState();
  const approved: NonNullable<ContinuedResearch['goesOn']>['approved'] = [];
  let made: InputItem[] = [];
  for (const [index, item] of rest.entries()) {
    if (!makes(item)) continue;
    made.push(item);
    if (makes(rest[index + 1])) continue;
    const turn = turnOf(made, state.nextCall);
    state.apply(turn);
    for (const { id, call, name } of turn.calls) {
      const { output: text, images, approves } = outputs.get(id) ?? { output: '' };
      if (approves) approved.push({ call, request: id, name });
      else state.apply(resultOf({ call }, { text, images }, state));
    }
    made = [];
  }
  const goesOn = { from: newRunId(), entries: state.entries, ...(approved.length > 0 && { approved }) };
  return { before: items.slice(0, start), goesOn };
}

/** What came before an input: a response, or a conversation. */
interface EarlierThread {
  caller: Caller;
  runs: Pick<Runs, 'conversation'>;
  joined?: { items: readonly JsonObject[] } | undefined;
  previous: string | undefined;
}

/** Whether an input has no question and only answers calls that a plain model made before, so that its question stands there. */
export async function answersEarlierCalls(
  items: readonly InputItem[],
  { caller, runs, joined, previous }: EarlierThread,
): Promise<boolean> {
  const outputs = items.flatMap((item) => (item.type === 'prior_output' ? [item.callId] : []));
  if (outputs.length === 0 || items.some(isUserText)) return false;
  const earlier = previous === undefined ? undefined : await runs.conversation(caller, previous);
  const last = earlier?.messages.at(-1);
  const called = last?.role === 'assistant' ? (last.tool_calls ?? []) : [];
  const waiting = new Set([...called.map(({ id }) => id), ...(earlier?.pendingApprovals.keys() ?? [])]);
  const stored = (joined?.items ?? []).map((item) => parseValue(inputItem, item));
  const answered = new Set(stored.map((item) => item.type === 'prior_output' && item.callId));
  for (const { callId } of stored.flatMap(callsIn)) if (callId && !answered.has(callId)) waiting.add(callId);
  return outputs.every((of) => waiting.has(of ?? ''));
}

/** Whether an item makes calls, all of them such. */
function makes(item: InputItem | undefined, such = (_: PriorCall) => true): boolean {
  const calls = item ? callsIn(item) : [];
  return calls.length > 0 && calls.every(such);
}

/** The turn that made these calls; `first`: the number of the first one. */
function turnOf(items: readonly InputItem[], first: number) {
  const made = items.flatMap(callsIn);
  const tool_calls = made.map(({ callId: id = '', name, arguments: written }) => ({ id, name, arguments: written }));
  const content = items.map((item) => (item.type === 'message' ? contentText(item.content) : '')).join('');
  return {
    t: 'turn',
    message: { role: 'assistant', content, tool_calls },
    usage: noUsage(),
    calls: tool_calls.map((call, index) => ({
      ...call,
      call: first + index,
      ...(made[index]?.asks ? { asks: true as const } : { client: true as const }),
    })),
    cut: false,
    invented: false,
    estimate: 0,
    elapsedMs: 0,
  } satisfies TurnEntry;
}

/** Calls that the client has approved, which are made next. */
export function approvedCalls(goesOn: ContinuedResearch['goesOn']): { name: string }[] {
  return (goesOn?.approved ?? []).flatMap(({ name }) => (name === undefined ? [] : [{ name }]));
}
