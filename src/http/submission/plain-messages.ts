import { fieldError, type GatewayError } from '../../base/errors.ts';
import { parseItemId } from '../../base/ids.ts';
import type { ApprovedCalls } from '../../plain/request.ts';
import type { Thought } from '../../plain/sealed-contents.ts';
import type { MessagePhase } from '../../protocol/items.ts';
import type { PriorCall } from '../../protocol/requests/foreign-items.ts';
import { parseValue } from '../../protocol/requests/parse.ts';
import { type InputItem, inputItem } from '../../protocol/requests/request-input.ts';
import { asTurnMessage } from '../../runs/submitting/history.ts';
import type { AssistantMessage, TurnMessage, TurnToolCall } from '../../upstream/turn.ts';
import {
  type ConversationOptions,
  callsIn,
  checkParts,
  type FoundItem,
  type FoundOutput,
  priorCall,
  priorOutput,
  standsFor,
} from './conversation.ts';

/** Input items of a response of a plain model as providers are sent them (docs/api.md, "Responses of plain models"). */

/**
 * The conversation with the new items behind it. Providers want each call answered right behind it: outputs are put there
 * by their `call_id`, wherever they stand.
 * @param before the conversation so far; its last message may have called functions.
 * @throws GatewayError `not_found`, `unsupported_parameter`, `invalid_parameter` for a call without its output, and for
 * an output without its call where the conversation is the gateway's own.
 */
export async function plainMessages(
  items: readonly InputItem[],
  options: ConversationOptions & Before,
): Promise<SaidSoFar> {
  const { before, field, kept = 0, asked = NOTHING_ASKED } = options;
  const compacted = items.findLastIndex(({ type }) => type === 'compaction');
  const found: FoundItem[] = [];
  const calls = new Map<string, PriorCall>();
  for (const [index, item] of items.entries()) {
    const isKept = index < kept;
    const place = isKept ? `conversation[${index}]` : `${field}[${index - kept}]`;
    const one = await byCallId(await standsFor(item, place, { ...options, isKept }), calls, { ...options, place });
    if (one.type === 'prior_call' && one.itemId !== undefined && !calls.has(one.itemId)) calls.set(one.itemId, one);
    if (one.type === 'message') {
      const { vision, audio } = options.model;
      // Wires have audio of users alone.
      checkParts(one.content, `${place}.content`, { vision, audio: audio === true && one.role === 'user' });
    }
    // A compaction stands for what was said before it; a client may send that again all the same.
    const isOver = index < compacted && !(one.type === 'message' && one.role !== 'assistant');
    found.push(isOver ? { type: 'dropped' } : one);
  }
  checkApprovals(found, { asked, field });
  const alone = before.length > 0 ? NONE_ALONE : outputsWithoutCall(found);
  const belonging = found.filter((item) => !alone.has(item));
  const called = new Set(found.flatMap((item) => callsIn(item).map(({ callId }) => callId)));
  const thread = new Thread(withoutCalls(before, called), { outputs: outputsOf(belonging, asked), asked, field });
  const made = new Set(found.flatMap((item) => (item.type === 'prior_call' ? [item.approvedBy] : [])));
  for (const item of found) {
    // What was approved and made stands there as its call.
    if (item.type === 'prior_call' && item.asks && made.has(item.callId)) continue;
    if (item.type === 'message') {
      if (item.content.length > 0) thread.say(asTurnMessage(item), item.phase);
      for (const call of item.calls ?? []) thread.call(call);
    } else if (item.type === 'prior_call') thread.call(item);
    else if (item.type === 'thought') thread.think(item);
    else if (item.type === 'tool_call') {
      thread.call({ type: 'prior_call', name: item.name, arguments: item.arguments ?? '', output: item.result ?? '' });
    } else if (item.type === 'prior_output' && item.callId !== undefined && !alone.has(item)) {
      thread.answered(item.callId);
    } else if (item.type === 'prior_output') {
      if (item.output !== '') thread.say(asTurnMessage(priorOutput(item.output)));
      if (item.shown?.length) thread.say(asTurnMessage({ role: 'user', content: [EARLIER_FILES, ...item.shown] }));
    }
  }
  return thread.end({ isOurs: before.length > 0 });
}

/** An output that names the item of its call, as one that names its call. `calls`: those before it, by their items. */
async function byCallId(
  item: FoundItem,
  calls: ReadonlyMap<string, PriorCall>,
  { findItem, place }: Pick<ConversationOptions, 'findItem'> & { place: string },
): Promise<FoundItem> {
  if (item.type !== 'prior_output' || item.itemId === undefined) return item;
  const { itemId } = item;
  const call =
    calls.get(itemId) ?? (parseItemId(itemId) && parseValue(inputItem, await findItem(itemId, `${place}.id`)));
  return { ...item, callId: (call?.type === 'prior_call' && call.callId) || itemId };
}

/** What goes before the new items. */
interface Before {
  /** The conversation so far; its last message may have called functions. */
  before: readonly TurnMessage[];
  /** How many of the items, the first ones, stand in a conversation. */
  kept?: number;
  /** Calls of that message that wait for an approval, by the ids of their requests. */
  asked?: ReadonlyMap<string, string> | undefined;
}
const NOTHING_ASKED: ReadonlyMap<string, string> = new Map();

/** A conversation as its provider is sent it, and the calls that come first. */
export interface SaidSoFar {
  messages: TurnMessage[];
  approved?: ApprovedCalls;
}

/** @throws GatewayError for an approval of nothing that was asked. */
function checkApprovals(
  items: readonly FoundItem[],
  { asked, field }: { asked: ReadonlyMap<string, string>; field: string },
): void {
  const requests = new Set(asked.keys());
  for (const item of items) if (item.type === 'prior_call' && item.asks && item.callId) requests.add(item.callId);
  for (const item of items) {
    if (item.type !== 'prior_output' || item.approves === undefined || !item.callId || requests.has(item.callId))
      continue;
    const what = `there is no mcp_approval_request ${item.callId.slice(0, 80)} that this answers.`;
    throw fieldError('invalid_parameter', field, what);
  }
}

const NONE_ALONE: ReadonlySet<FoundItem> = new Set();
const EARLIER_FILES = { type: 'text' as const, text: 'Files of an earlier tool result:' };

/** Without the open calls that the client sends again, as clients do that repeat a conversation with its last response's id. */
function withoutCalls(before: readonly TurnMessage[], again: ReadonlySet<string | undefined>): readonly TurnMessage[] {
  const last = before.at(-1);
  if (last?.role !== 'assistant' || !last.tool_calls?.some(({ id }) => again.has(id))) return before;
  // What a provider bound to the turn does not fit fewer calls.
  const { tool_calls: calls, replay: _, ...said } = last;
  const left = calls.filter(({ id }) => !again.has(id));
  const turn = left.length > 0 ? [{ ...said, tool_calls: left }] : said.content.trim() === '' ? [] : [said];
  return [...before.slice(0, -1), ...turn];
}

/** Outputs that no call among the items waits for: the call was left out, or has an output already. */
function outputsWithoutCall(items: readonly FoundItem[]): ReadonlySet<FoundItem> {
  const waiting = new Map<string, number>();
  for (const item of items) {
    for (const { callId } of callsIn(item))
      if (callId !== undefined) waiting.set(callId, (waiting.get(callId) ?? 0) + 1);
  }
  const alone = new Set<FoundItem>();
  for (const item of items) {
    if (item.type !== 'prior_output' || item.callId === undefined || item.approves !== undefined) continue;
    const left = waiting.get(item.callId) ?? 0;
    if (left === 0) alone.add(item);
    else waiting.set(item.callId, left - 1);
  }
  return alone;
}

type Outputs = Map<string, FoundOutput[]>;

function outputsOf(items: readonly FoundItem[], asked: ReadonlyMap<string, string>): Outputs {
  const outputs: Outputs = new Map();
  for (const item of items) {
    if (item.type !== 'prior_output' || item.callId === undefined) continue;
    const callId = asked.get(item.callId) ?? item.callId;
    const answers = outputs.get(callId);
    if (answers) answers.push(item);
    else outputs.set(callId, [item]);
  }
  return outputs;
}

/** A conversation as it grows. Calls of one turn are one message, and their outputs come right behind it. */
class Thread {
  readonly #messages: TurnMessage[];
  readonly #outputs: Outputs;
  readonly #field: string;
  /** The ids of the requests of calls that wait for an approval. */
  readonly #requests: Map<string, string>;
  /** Calls that were approved and are to be made. */
  #approved: AssistantMessage | undefined;
  /** The assistant's turn that is not closed yet. Its list of calls is the thread's own. */
  #turn: AssistantMessage | undefined;
  /** The ids of its calls. */
  readonly #called = new Set<string>();
  /** How far the open turn is, where the client sent its thought: its message may follow, or was said. */
  #thought: 'thought' | 'said' | undefined;
  /** Whether the last message of that turn was notes ahead of its answer. */
  #isNoted = false;

  constructor(
    before: readonly TurnMessage[],
    { outputs, asked, field }: { outputs: Outputs; asked: ReadonlyMap<string, string>; field: string },
  ) {
    this.#requests = new Map(asked.entries().map(([request, callId]) => [callId, request]));
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

  say(message: TurnMessage, phase?: MessagePhase): void {
    const isOfThought = this.#thought !== undefined && message.role === 'assistant' && !this.#turn?.tool_calls;
    if (isOfThought && (this.#thought === 'thought' || this.#isNoted)) {
      // Notes and answer are one turn, and its thought is bound to both.
      this.#turn = { ...this.#turn, ...message, content: (this.#turn?.content ?? '') + message.content };
      this.#thought = 'said';
      this.#isNoted = phase === 'commentary';
      return;
    }
    this.#close();
    if (message.role === 'assistant') this.#turn = message;
    else this.#messages.push(message);
  }

  /** What its provider wants back with the turn that follows, or with the open one where it stands behind its message. */
  think({ replay, behind }: Thought): void {
    if (!replay) return;
    if (!behind) this.#close();
    this.#turn = { ...(this.#turn ?? { role: 'assistant', content: '' }), replay };
    this.#thought = behind ? 'said' : 'thought';
  }

  call(call: PriorCall): void {
    const { callId, name, arguments: args } = call;
    // A call of a tool that ran elsewhere, which nobody here offers: what came of it is told in words.
    if (callId === undefined) {
      this.say(asTurnMessage(priorCall(call, call.output)));
      return;
    }
    if (call.asks) this.#requests.set(callId, callId);
    // Two calls of one id are of two turns: of one turn, providers cannot tell their outputs apart.
    if (this.#called.has(callId)) this.#close();
    this.#turn ??= { role: 'assistant', content: '' };
    const { replay, tool_calls: calls = [], ...turn } = this.#turn;
    calls.push({ id: callId, name, arguments: args });
    this.#called.add(callId);
    // What a provider bound to a turn of ours does not fit one that has more calls now.
    const kept = this.#thought !== undefined && replay && { replay };
    this.#turn = { ...turn, ...kept, tool_calls: calls };
  }

  /** The output of a call ends its turn: what is called behind it was called later. */
  answered(callId: string): void {
    if (this.#called.has(callId)) this.#close();
  }

  /** @throws GatewayError where calls and outputs do not belong together. */
  end({ isOurs }: { isOurs: boolean }): SaidSoFar {
    this.#close();
    for (const [callId, outputs] of this.#outputs) {
      if (isOurs && outputs.length > 0) throw this.#wrong(`no call ${callId.slice(0, 80)} waits for this output`);
    }
    const message = this.#approved;
    const requests = (message?.tool_calls ?? []).map(({ id }) => this.#requests.get(id) ?? id);
    return { messages: this.#messages, ...(message && { approved: { message, requests } }) };
  }

  #close(): void {
    const turn = this.#turn;
    const thought = this.#thought;
    this.#turn = undefined;
    this.#called.clear();
    this.#thought = undefined;
    // A thought that nothing came of says nothing.
    if (!turn || (thought === 'thought' && turn.tool_calls === undefined)) return;
    const answers = (turn.tool_calls ?? []).map((call) => ({ call, answer: this.#answerOf(call) }));
    const approved = answers.flatMap(({ call, answer }) => (answer.approves ? [call] : []));
    const told = answers.filter(({ answer }) => !answer.approves);
    if (approved.length === 0) this.#messages.push(turn);
    else if (told.length === 0) this.#approve({ ...turn, tool_calls: approved });
    else {
      this.#messages.push({ ...turn, tool_calls: told.map(({ call }) => call) });
      this.#approve({ role: 'assistant', content: '', tool_calls: approved });
    }
    for (const { call, answer } of told) {
      this.#messages.push({ role: 'tool', tool_call_id: call.id, content: answer.output });
    }
    // Few wires take images and files as a result.
    for (const { call, answer } of told) {
      if (!answer.shown?.length) continue;
      const what = answer.shown.every(({ type }) => type === 'image') ? 'Images' : 'Files';
      const text = { type: 'text' as const, text: `${what} of the result of ${call.name}:` };
      this.#messages.push(asTurnMessage({ role: 'user', content: [text, ...answer.shown] }));
    }
  }

  #answerOf({ id }: TurnToolCall): FoundOutput {
    const answer = this.#outputs.get(id)?.shift();
    if (answer) return answer;
    const request = this.#requests.get(id);
    throw this.#wrong(
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

  #wrong(message: string): GatewayError {
    return fieldError('invalid_parameter', this.#field, `${message}.`);
  }
}
