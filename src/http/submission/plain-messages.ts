import { fieldError, type GatewayError } from '../../base/errors.ts';
import { parseItemId } from '../../base/ids.ts';
import { yieldToEventLoop } from '../../base/load/event-loop.ts';
import { withLatestImages } from '../../plain/images.ts';
import type { ApprovedCalls } from '../../plain/request.ts';
import type { Thought } from '../../plain/sealed-contents.ts';
import type { MessagePhase } from '../../protocol/items.ts';
import type { PriorCall } from '../../protocol/requests/foreign-items.ts';
import { parseValue } from '../../protocol/requests/parse.ts';
import { type InputItem, inputItem } from '../../protocol/requests/request-input.ts';
import { asTurnMessage, imagesOf } from '../../runs/submitting/history.ts';
import type { AssistantMessage, TurnMessage, TurnToolCall } from '../../upstream/turn.ts';
import {
  type ConversationOptions,
  callsIn,
  priorCall,
  priorOutput,
  type ResolvedItem,
  type ResolvedOutput,
  resolveItem,
  withoutRepeated,
} from './conversation.ts';

/** How many items are read before other work may run. */
const ITEMS_PER_TURN = 256;

/** Turns the input items of a plain model's response into messages for providers (docs/api.md, "Responses of plain models"). */

/**
 * Appends the new items to the conversation. Providers want each output right after its call, so outputs are moved there by
 * their `call_id`.
 * @param before the conversation so far; its last message may have called functions.
 * @throws GatewayError `not_found`, `unsupported_parameter`, `invalid_parameter` for a call without its output, and, if the
 * gateway has stored the conversation, for an output without its call.
 */
export async function plainMessages(
  items: readonly InputItem[],
  options: ConversationOptions & EarlierConversation,
): Promise<PlainThread> {
  const { before, field, storedCount = 0, approvals = NO_APPROVALS } = options;
  const compacted = items.findLastIndex(({ type }) => type === 'compaction');
  const resolvedItems: ResolvedItem[] = [];
  const calls = new Map<string, PriorCall>();
  for (const [index, raw] of items.entries()) {
    const isStored = index < storedCount;
    const place = isStored ? `conversation[${index}]` : `${field}[${index - storedCount}]`;
    const resolved = await resolveItem(raw, place, { ...options, isStored });
    const item = await withCallId(resolved, calls, { ...options, place });
    const itemId = item.type === 'prior_call' ? item.itemId : undefined;
    if (item.type === 'prior_call' && itemId !== undefined && !calls.has(itemId)) calls.set(itemId, item);
    resolvedItems.push(item);
    if (index % ITEMS_PER_TURN === ITEMS_PER_TURN - 1) await yieldToEventLoop();
  }
  const found = withoutRepeated(withoutReplaced(resolvedItems, compacted), storedCount);
  checkApprovals(found, { approvals, field });
  const orphans = before.length > 0 ? NO_OUTPUTS : findOrphanOutputs(found);
  const matched = found.filter((item) => !orphans.has(item));
  const called = new Set(found.flatMap((item) => callsIn(item).map(({ callId }) => callId)));
  const outputs = outputsOf(matched, approvals);
  const thread = new ThreadBuilder(dropCalls(before, called), { outputs, approvals, field });
  const madeCalls = new Set(found.flatMap((item) => (item.type === 'prior_call' ? [item.approvedBy] : [])));
  for (const item of found) {
    // An approved call that was made is in the input as a call of its own.
    if (item.type === 'prior_call' && item.asks && madeCalls.has(item.callId)) continue;
    if (item.type === 'message') {
      if (item.content.length > 0) thread.add(asTurnMessage(item), item.phase);
      for (const call of item.calls ?? []) thread.addCall(call);
      if (item.images && item.role === 'assistant') thread.addImages(item.images);
      else if (item.images) thread.add(asTurnMessage(imagesOf(item.role, item.images)));
    } else if (item.type === 'prior_call') thread.addCall(item);
    else if (item.type === 'thought') thread.addThought(item);
    else if (item.type === 'tool_call') {
      const { name, arguments: args = '', result: output = '' } = item;
      thread.addCall({ type: 'prior_call', name, arguments: args, output });
    } else if (item.type === 'prior_output' && item.callId !== undefined && !orphans.has(item)) {
      thread.endTurnOf(item.callId);
    } else if (item.type === 'prior_output') {
      if (item.output !== '') thread.add(asTurnMessage(priorOutput(item.output)));
      if (item.shown?.length) thread.add(asTurnMessage({ role: 'user', content: [EARLIER_FILES, ...item.shown] }));
    }
  }
  return thread.finish({ isStored: before.length > 0 });
}

/**
 * The items without those that the compaction at an index replaces: clients may send them again, and conversations keep them.
 * Instructions and the last question stay, as in the response that compacted. Messages of the user alone are what
 * `POST /v1/responses/compact` returns before its item, and stay too.
 */
function withoutReplaced(items: readonly ResolvedItem[], compacted: number): ResolvedItem[] {
  const before = items.slice(0, Math.max(0, compacted));
  const isAnswered = before.some((item) => item.type !== 'message' || item.role === 'assistant');
  const question = before.findLastIndex((item) => item.type === 'message' && item.role === 'user');
  return items.map((item, index) => {
    if (index >= compacted) return item;
    const stays =
      item.type === 'message' && (item.role === 'user' ? !isAnswered || index === question : item.role !== 'assistant');
    return stays ? item : { type: 'dropped' };
  });
}

/** Adds the `call_id` to an output that names only the item of its call. `calls`: earlier calls by their item ids. */
async function withCallId(
  item: ResolvedItem,
  calls: ReadonlyMap<string, PriorCall>,
  { findItem, place }: Pick<ConversationOptions, 'findItem'> & { place: string },
): Promise<ResolvedItem> {
  if (item.type !== 'prior_output' || item.itemId === undefined) return item;
  const { itemId, callId } = item;
  const isUnknown = callId === undefined && parseItemId(itemId) !== undefined;
  const call =
    calls.get(itemId) ?? (isUnknown ? parseValue(inputItem, await findItem(itemId, `${place}.id`)) : undefined);
  return { ...item, callId: (call?.type === 'prior_call' && call.callId) || itemId };
}

/** The conversation before the new items. */
interface EarlierConversation {
  /** The conversation so far; its last message may have called functions. */
  before: readonly TurnMessage[];
  /** How many of the first items are from a stored conversation. */
  storedCount?: number;
  /** Calls of that message that wait for an approval, by the ids of the approval requests. */
  approvals?: ReadonlyMap<string, string> | undefined;
}
const NO_APPROVALS: ReadonlyMap<string, string> = new Map();

/** The messages for the provider, and approved calls that have to be made first. */
export interface PlainThread {
  messages: TurnMessage[];
  approved?: ApprovedCalls;
}

/** @throws GatewayError for an approval without its request. */
function checkApprovals(
  items: readonly ResolvedItem[],
  { approvals, field }: { approvals: ReadonlyMap<string, string>; field: string },
): void {
  const requests = new Set(approvals.keys());
  for (const item of items) if (item.type === 'prior_call' && item.asks && item.callId) requests.add(item.callId);
  for (const item of items) {
    if (item.type !== 'prior_output' || item.approves === undefined || !item.callId || requests.has(item.callId))
      continue;
    const what = `there is no mcp_approval_request ${item.callId.slice(0, 80)} that this answers.`;
    throw fieldError('invalid_parameter', field, what);
  }
}

const NO_OUTPUTS: ReadonlySet<ResolvedItem> = new Set();
const EARLIER_FILES = { type: 'text' as const, text: 'Files of an earlier tool result:' };

/** Removes open calls that the client sends again. Some clients repeat a conversation although they name its last response. */
function dropCalls(before: readonly TurnMessage[], repeated: ReadonlySet<string | undefined>): readonly TurnMessage[] {
  const last = before.at(-1);
  if (last?.role !== 'assistant' || !last.tool_calls?.some(({ id }) => repeated.has(id))) return before;
  // The provider's `replay` belongs to the full turn and does not fit fewer calls.
  const { tool_calls: calls, replay: _, ...message } = last;
  const remaining = calls.filter(({ id }) => !repeated.has(id));
  const withCalls = remaining.length > 0 ? { ...message, tool_calls: remaining } : message;
  const turn = remaining.length > 0 || message.content.trim() !== '' || message.images ? [withCalls] : [];
  return [...before.slice(0, -1), ...turn];
}

/** Outputs without a call among the items: the call is missing, or has an output already. */
function findOrphanOutputs(items: readonly ResolvedItem[]): ReadonlySet<ResolvedItem> {
  const waiting = new Map<string, number>();
  for (const item of items) {
    for (const { callId } of callsIn(item))
      if (callId !== undefined) waiting.set(callId, (waiting.get(callId) ?? 0) + 1);
  }
  const orphans = new Set<ResolvedItem>();
  for (const item of items) {
    if (item.type !== 'prior_output' || item.callId === undefined || item.approves !== undefined) continue;
    const count = waiting.get(item.callId) ?? 0;
    if (count === 0) orphans.add(item);
    else waiting.set(item.callId, count - 1);
  }
  return orphans;
}

type Outputs = Map<string, ResolvedOutput[]>;

function outputsOf(items: readonly ResolvedItem[], approvals: ReadonlyMap<string, string>): Outputs {
  const outputs: Outputs = new Map();
  for (const item of items) {
    if (item.type !== 'prior_output' || item.callId === undefined) continue;
    outputs.getOrInsertComputed(approvals.get(item.callId) ?? item.callId, () => []).push(item);
  }
  return outputs;
}

/** Builds a conversation. The calls of one turn are one message, followed by their outputs. */
class ThreadBuilder {
  readonly #messages: TurnMessage[];
  readonly #outputs: Outputs;
  readonly #field: string;
  /** The ids of approval requests, by the ids of their calls. */
  readonly #requests: Map<string, string>;
  /** Approved calls that have to be made. */
  #approved: AssistantMessage | undefined;
  /** The assistant's unfinished turn. Its list of calls belongs to this builder. */
  #turn: AssistantMessage | undefined;
  /** The ids of the calls of that turn. */
  readonly #called = new Set<string>();
  /** State of an unfinished turn with a thought: `thought` until its message has come, then `said`. */
  #thought: 'thought' | 'said' | undefined;
  /** Whether the last message of that turn was commentary before its answer. */
  #endsInNotes = false;

  constructor(
    before: readonly TurnMessage[],
    { outputs, approvals, field }: { outputs: Outputs; approvals: ReadonlyMap<string, string>; field: string },
  ) {
    this.#requests = new Map(approvals.entries().map(([request, callId]) => [callId, request]));
    this.#messages = [...before];
    this.#outputs = outputs;
    this.#field = field;
    const last = this.#messages.at(-1);
    if (last?.role === 'assistant' && last.tool_calls?.length) {
      this.#messages.pop();
      this.#turn = { ...last, tool_calls: [...last.tool_calls] };
      for (const { id } of last.tool_calls) this.#called.add(id);
    }
  }

  add(message: TurnMessage, phase?: MessagePhase): void {
    const isOfThought = this.#thought !== undefined && message.role === 'assistant' && !this.#turn?.tool_calls;
    if (isOfThought && (this.#thought === 'thought' || this.#endsInNotes)) {
      // Commentary and answer are one turn, and the thought belongs to both.
      this.#turn = { ...this.#turn, ...message, content: (this.#turn?.content ?? '') + message.content };
      this.#thought = 'said';
      this.#endsInNotes = phase === 'commentary';
      return;
    }
    this.#close();
    if (message.role === 'assistant') this.#turn = message;
    else this.#messages.push(message);
  }

  /** Adds what a provider wants back with the following turn, or with the unfinished one if the thought is `behind` it. */
  addThought({ replay, behind }: Thought): void {
    if (!replay) return;
    if (!behind) this.#close();
    this.#turn = { ...(this.#turn ?? { role: 'assistant', content: '' }), replay };
    this.#thought = behind ? 'said' : 'thought';
  }

  addCall(call: PriorCall): void {
    const { callId, name, arguments: args } = call;
    // The call of a tool that ran elsewhere and is not offered here becomes text.
    if (callId === undefined) {
      this.add(asTurnMessage(priorCall(call, call.output)));
      return;
    }
    if (call.asks) this.#requests.set(callId, callId);
    // Two calls with the same id belong to two turns: within one, providers cannot tell their outputs apart.
    if (this.#called.has(callId)) this.#close();
    this.#turn ??= { role: 'assistant', content: '' };
    const { replay, tool_calls: calls = [], ...turn } = this.#turn;
    calls.push({ id: callId, name, arguments: args });
    this.#called.add(callId);
    // The `replay` of a stored turn does not fit the turn once it has more calls.
    const kept = this.#thought !== undefined && replay && { replay };
    this.#turn = { ...turn, ...kept, tool_calls: calls };
  }

  /** Adds images that the assistant made to its unfinished turn. */
  addImages(images: readonly string[]): void {
    const turn = this.#turn ?? { role: 'assistant', content: '' };
    this.#turn = { ...turn, images: [...(turn.images ?? []), ...images] };
    if (this.#thought === 'thought') this.#thought = 'said';
  }

  /** The output of a call ends its turn: later calls belong to the next one. */
  endTurnOf(callId: string): void {
    if (this.#called.has(callId)) this.#close();
  }

  /** Finishes the conversation. @throws GatewayError if calls and outputs do not match. */
  finish({ isStored }: { isStored: boolean }): PlainThread {
    this.#close();
    for (const [callId, outputs] of this.#outputs) {
      if (isStored && outputs.length > 0) throw this.#error(`no call ${callId.slice(0, 80)} waits for this output`);
    }
    const message = this.#approved;
    const requests = (message?.tool_calls ?? []).map(({ id }) => this.#requests.get(id) ?? id);
    const messages = withLatestImages(this.#messages);
    return { messages, ...(message && { approved: { message, requests } }) };
  }

  #close(): void {
    const turn = this.#turn;
    const thought = this.#thought;
    this.#turn = undefined;
    this.#called.clear();
    this.#thought = undefined;
    // A thought without message or calls is dropped.
    if (!turn || (thought === 'thought' && turn.tool_calls === undefined)) return;
    const answers = (turn.tool_calls ?? []).map((call) => ({ call, answer: this.#takeAnswer(call) }));
    const approved = answers.flatMap(({ call, answer }) => (answer.approves ? [call] : []));
    const answeredCalls = answers.filter(({ answer }) => !answer.approves);
    if (approved.length === 0) this.#messages.push(turn);
    else if (answeredCalls.length === 0) this.#approve({ ...turn, tool_calls: approved });
    else {
      this.#messages.push({ ...turn, tool_calls: answeredCalls.map(({ call }) => call) });
      this.#approve({ role: 'assistant', content: '', tool_calls: approved });
    }
    for (const { call, answer } of answeredCalls) {
      this.#messages.push({ role: 'tool', tool_call_id: call.id, content: answer.output });
    }
    // Few wires accept images and files as a result, so they follow in a user message.
    for (const { call, answer } of answeredCalls) {
      if (!answer.shown?.length) continue;
      const what = answer.shown.every(({ type }) => type === 'image') ? 'Images' : 'Files';
      const text = { type: 'text' as const, text: `${what} of the result of ${call.name}:` };
      this.#messages.push(asTurnMessage({ role: 'user', content: [text, ...answer.shown] }));
    }
  }

  #takeAnswer({ id }: TurnToolCall): ResolvedOutput {
    const answer = this.#outputs.get(id)?.shift();
    if (answer) return answer;
    const request = this.#requests.get(id);
    throw this.#error(
      request === undefined
        ? `there is no output for the call ${id.slice(0, 80)}`
        : `there is no mcp_approval_response for the request ${request}`,
    );
  }

  #approve(turn: AssistantMessage): void {
    const before = this.#approved;
    this.#approved = before
      ? { ...before, tool_calls: [...(before.tool_calls ?? []), ...(turn.tool_calls ?? [])] }
      : turn;
  }

  #error(message: string): GatewayError {
    return fieldError('invalid_parameter', this.#field, `${message}.`);
  }
}
