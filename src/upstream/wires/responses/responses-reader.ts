import { isObject, type JsonObject, scalarText } from '../../../base/json.ts';
import { type MessagePhase, messagePhase } from '../../../protocol/items.ts';
import { imageUrlOfCall } from '../../../protocol/made-images.ts';
import { parseLimitedJson } from '../../../protocol/requests/json-spans.ts';
import {
  type DecodedTurn,
  type DecoderOptions,
  type Delta,
  type DeltaKind,
  Deltas,
} from '../../decoding/decoded-turn.ts';
import { MadeMedia } from '../../decoding/made-media.ts';
import { ModelText } from '../../decoding/model-text.ts';
import { ProviderCitations } from '../../decoding/provider-citations.ts';
import { readUsage } from '../../decoding/usage.ts';
import { newCallId } from '../../dialects/native-tool-calls.ts';
import { isResponseError } from '../../dialects/stream-errors.ts';
import { brokenStream } from '../../routing/attempt-failure.ts';
import type { FinishReason, TurnToolCall, TurnUsage } from '../../turn.ts';
import { hasName } from '../named-calls.ts';
import type { TurnReader } from '../wire.ts';

/** How many items one answer may have. */
const MAX_ITEMS = 1024;

const THOUGHTS = new Set(['response.reasoning_summary_text.delta', 'response.reasoning_text.delta']);
const INPUTS = new Set(['response.function_call_arguments.delta', 'response.custom_tool_call_input.delta']);
const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** What was emitted of one item, so that only the rest is emitted when it is done. */
interface EmittedItem {
  text: string;
  reasoning: string;
  /** The item is a note of the model before its answer, emitted as reasoning. */
  isCommentary: boolean;
  phase?: MessagePhase | undefined;
}

/**
 * Reads the events of the Responses API. The item in `output_item.done` is authoritative; deltas are only emitted early,
 * and some servers send none. Items are identified by position, since a relay gives them another id in every event; but
 * others give several items one position, or number them otherwise than in the last event.
 */
export class ResponsesReader implements TurnReader {
  readonly #options: DecoderOptions;
  readonly deltas = new Deltas();
  readonly #written: ModelText;
  readonly #media: MadeMedia;
  readonly #items = new Map<number, JsonObject>();
  readonly #emitted = new Map<number, EmittedItem>();
  usage: TurnUsage | undefined;
  #end: { status: unknown; reason: unknown } | undefined;
  #hasCall = false;
  /** The position of a reasoning item that has started and is not done. */
  #thinking: number | undefined;

  constructor(options: DecoderOptions) {
    this.#options = options;
    this.#written = new ModelText(this.deltas, options);
    this.#media = new MadeMedia(this.deltas, options, (text) => this.#written.push(text));
  }

  get finished(): boolean {
    return this.#end !== undefined;
  }

  get hasOutput(): boolean {
    return this.deltas.hasOutput || this.#hasCall;
  }

  get isThinking(): boolean {
    return this.#thinking !== undefined;
  }

  accept(payload: Record<string, unknown>): void {
    const { type, response } = payload;
    this.usage = readUsage((isObject(response) ? response : payload).usage) ?? this.usage;
    if (isResponseError(payload)) throw this.#options.failureOf(payload);
    if (payload.object === 'response') this.#whole(payload);
    else if (typeof type === 'string') this.#event(type, payload);
  }

  finish(): { parts: Delta[]; turn: DecodedTurn } {
    const items = [...this.#items].sort(([a], [b]) => a - b).map(([, item]) => item);
    const cut = this.#end?.status === 'incomplete';
    const native = callsOf(items, cut);
    this.#written.end({ cut, hasCalls: native.length > 0 });
    if (this.#end === undefined) throw brokenStream('the stream ended without a final event');
    const reason = this.#reason();
    const written = this.#written.finish(native, { cut });
    const calls = [...native, ...written];
    const saysSomething = this.deltas.hasOutput || calls.length > 0 || !items.every(saysNothing);
    const isEmpty = !saysSomething && !this.#options.mayBeEmpty;
    const citations = new ProviderCitations();
    let at = 0;
    for (const { type, content } of items) {
      if (type !== 'message' || !Array.isArray(content)) continue;
      for (const part of content) {
        const { length } = textOfParts([part]);
        if (isObject(part)) citations.add(part.annotations, { at, length });
        at += length;
      }
    }
    const replay = items.length > 0 ? { output: items } : undefined;
    return this.deltas.finish(
      { reason, calls, writtenCalls: written.length, usage: this.usage, replay },
      { citations, media: this.#media },
      { isEmpty, reasoningIsText: this.#options.reasoningIsText },
    );
  }

  #event(type: string, payload: Record<string, unknown>): void {
    const index = isPosition(payload.output_index) ? payload.output_index : this.#items.size;
    const delta = typeof payload.delta === 'string' ? payload.delta : '';
    if (type === 'response.output_item.added') this.#added(index, payload.item);
    else if (type === 'response.output_text.delta') {
      this.#options.logprobs?.add(payload.logprobs);
      this.#emit(index, 'text', delta);
    } else if (type === 'response.refusal.delta') this.#emit(index, 'text', delta, { refuses: true });
    else if (THOUGHTS.has(type)) this.#emit(index, 'reasoning', delta);
    else if (INPUTS.has(type)) this.deltas.countCall(delta);
    else if (type === 'response.output_item.done') this.#done(index, payload.item);
    else if (ENDS.has(type) && isObject(payload.response)) this.#whole(payload.response);
  }

  #added(index: number, item: unknown): void {
    if (!isObject(item)) return;
    const emitted = this.#emittedOf(index);
    if (item.type === 'message') {
      emitted.phase = messagePhase.safeParse(item.phase).data;
      // With tools on offer, commentary is text for the user; in a turn that only answers it counts as reasoning.
      emitted.isCommentary = emitted.phase === 'commentary' && !this.#options.tools?.length;
    }
    if (isClientCall(item)) this.#hasCall = true;
    this.#thinking = item.type === 'reasoning' && !this.#items.has(index) ? index : undefined;
  }

  #done(index: number, value: unknown): void {
    const image = isObject(value) && value.type === 'image_generation_call' ? imageUrlOfCall(value) : undefined;
    // Sent back as an image that the user shows: the item alone means something only to the service that stores it.
    if (image !== undefined) return void this.#media.addImage(image);
    const item = this.deltas.copyForReplay(value);
    if (!item || (isClientCall(item) && !hasName(item))) return;
    if (this.#items.size >= MAX_ITEMS) throw brokenStream('the answer does not end');
    let place = index;
    for (let known = this.#items.get(place); known && !isSame(known, item); known = this.#items.get(place))
      place += 1 / MAX_ITEMS; // Between this position and the next.
    this.#items.set(place, item);
    this.#added(index, item);
    if (item.type === 'message') {
      this.#takeLogprobs(item, { isEmitted: this.#emittedOf(index).text !== '' });
      this.#emitRest(index, 'text', textOfParts(item.content), refusalOf(item));
      this.#takeMedia(item);
    } else if (item.type === 'reasoning') this.#emitRest(index, 'reasoning', reasoningOf(item));
  }

  #takeMedia({ content }: JsonObject): void {
    if (!Array.isArray(content)) return;
    this.#media.addImages(content);
    for (const part of content) if (isObject(part) && part.type === 'output_audio') this.#media.addSound(part);
  }

  /** Reads the log probabilities of a message without deltas, and removes them: sent back they would cost input. */
  #takeLogprobs({ content }: JsonObject, { isEmitted }: { isEmitted: boolean }): void {
    const { logprobs } = this.#options;
    if (!logprobs || !Array.isArray(content)) return;
    for (const part of content) {
      if (!isObject(part) || !Array.isArray(part.logprobs)) continue;
      if (!isEmitted) logprobs.add(part.logprobs);
      part.logprobs = [];
    }
  }

  /** A whole response: the last event, or an answer that was not streamed. */
  #whole(response: Record<string, unknown>): void {
    const { status, incomplete_details: details, error, output } = response;
    if (status === 'in_progress' || status === 'queued') return;
    this.#end = { status, reason: isObject(details) ? details.reason : undefined };
    if (status === 'failed') throw this.#options.failureOf({ error: isObject(error) ? error : 'the response failed' });
    if (!Array.isArray(output) || output.length <= this.#items.size) return;
    if (output.length > MAX_ITEMS) throw brokenStream('the answer does not end');
    const known = new Set(this.#items.values().map(identityOf));
    for (const [index, item] of output.entries()) {
      const identity = isObject(item) ? identityOf(item) : undefined;
      if (identity === undefined ? this.#items.has(index) : known.has(identity)) continue;
      known.add(identity);
      this.#done(index, item);
    }
  }

  #reason(): FinishReason {
    if (this.#end?.status === 'cancelled') throw brokenStream('the provider broke the answer off');
    if (this.#end?.status !== 'incomplete') return 'stop';
    return this.#end.reason === 'content_filter' ? 'content_filter' : 'length';
  }

  #emittedOf(index: number): EmittedItem {
    return this.#emitted.getOrInsertComputed(index, () => {
      if (this.#emitted.size >= MAX_ITEMS) throw brokenStream('the answer does not end');
      return { text: '', reasoning: '', isCommentary: false };
    });
  }

  #emit(index: number, type: Delta['type'], delta: string, kind: DeltaKind = {}): void {
    const emitted = this.#emittedOf(index);
    emitted[type] += delta;
    const isText = type === 'text' && !emitted.isCommentary;
    if (isText && !emitted.phase && !kind.refuses) this.#written.push(delta);
    else if (!isText) this.deltas.push('reasoning', delta);
    else this.deltas.push('text', delta, { ...kind, ...(emitted.phase && { phase: emitted.phase }) });
  }

  /** Emits what the deltas left out. */
  #emitRest(index: number, type: Delta['type'], whole: string, kind: DeltaKind = {}): void {
    const emitted = this.#emittedOf(index)[type];
    if (whole.startsWith(emitted)) this.#emit(index, type, whole.slice(emitted.length), kind);
  }
}

/** Small enough for the fractions between positions (`#done`). */
function isPosition(index: unknown): index is number {
  return Number.isInteger(index) && Number(index) >= 0 && Number(index) < 2 ** 32;
}

/** Whether two items of one position may be the same. */
function isSame(a: JsonObject, b: Record<string, unknown>): boolean {
  return a.type === b.type && a.call_id === b.call_id;
}

/** What tells a message or a call of the last event from others, wherever it stands; others are known by position. */
function identityOf(item: Record<string, unknown>): string | undefined {
  if (item.type === 'message') return `message ${textOfParts(item.content)}`;
  return isClientCall(item) ? `${item.type} ${scalarText(item.call_id)}` : undefined;
}

/** The calls in order. `cut`: the answer was cut off, so an incomplete call is dropped. */
function callsOf(items: readonly JsonObject[], cut: boolean): TurnToolCall[] {
  const calls: TurnToolCall[] = [];
  const ids = new Set<string>();
  for (const item of items) {
    if (!isClientCall(item) || !hasName(item)) continue;
    const args = argumentsOf(item);
    if (cut && (item.status === 'incomplete' || parseLimitedJson(args) === undefined)) continue;
    const known = [item.call_id, item.id].find((id) => typeof id === 'string' && id !== '' && !ids.has(id));
    const id = typeof known === 'string' ? known : newCallId();
    ids.add(id);
    calls.push({ id, name: item.name, arguments: args });
  }
  return calls;
}

function argumentsOf(item: JsonObject): string {
  if (item.type === 'custom_tool_call') return JSON.stringify({ input: item.input ?? '' });
  const { arguments: text } = item;
  if (typeof text !== 'string') return isObject(text) ? JSON.stringify(text) : '{}';
  return text.trim() === '' ? '{}' : text;
}

export function isClientCall(item: Record<string, unknown>): boolean {
  return item.type === 'function_call' || item.type === 'custom_tool_call';
}

/** The text of a message's content. */
export function textOfParts(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts = content.map((part) => (isObject(part) ? (part.text ?? part.refusal ?? part.transcript) : undefined));
  return texts.filter((text) => typeof text === 'string').join('');
}

/**
 * Whether an item is no output beside the deltas. Those of the provider's own tools are, such as searches, unless they
 * failed; and one of an image that is among these items has none.
 */
function saysNothing({ type, status }: JsonObject): boolean {
  return type === 'message' || type === 'reasoning' || type === 'image_generation_call' || status === 'failed';
}

/** Whether a message is the model's refusal to answer. */
function refusalOf({ content }: JsonObject): DeltaKind {
  const [first] = Array.isArray(content) ? content : [];
  return isObject(first) && first.type === 'refusal' ? { refuses: true } : {};
}

/** Open models return the reasoning itself, others a summary of it. */
function reasoningOf({ summary, content }: JsonObject): string {
  return (Array.isArray(summary) && textOfParts(summary)) || (Array.isArray(content) ? textOfParts(content) : '');
}
