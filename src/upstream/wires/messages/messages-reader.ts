import { isObject, type JsonObject } from '../../../base/json.ts';
import { imageUrlIn } from '../../../protocol/made-images.ts';
import { parseLimitedJson } from '../../../protocol/requests/json-spans.ts';
import { type DecodedTurn, type DecoderOptions, type Delta, Deltas } from '../../decoding/decoded-turn.ts';
import { isCutOff, readFinishReason } from '../../decoding/finish-reason.ts';
import { MadeMedia } from '../../decoding/made-media.ts';
import { ModelText } from '../../decoding/model-text.ts';
import { ProviderCitations } from '../../decoding/provider-citations.ts';
import { readUsage } from '../../decoding/usage.ts';
import { newCallId } from '../../dialects/native-tool-calls.ts';
import { isMessageError } from '../../dialects/stream-errors.ts';
import { brokenStream } from '../../routing/attempt-failure.ts';
import type { TurnToolCall, TurnUsage } from '../../turn.ts';
import { hasName } from '../named-calls.ts';
import type { TurnReader } from '../wire.ts';

/** How many content blocks one answer may have. */
const MAX_BLOCKS = 1024;
/** How many different counts the usage of one answer may have. */
const MAX_COUNTS = 100;

interface Block {
  content: JsonObject;
  /** The JSON of a call's input received so far. */
  input: string;
  /** Whether the provider said that the block is whole. */
  isWhole: boolean;
}

/** Reads the events of Anthropic's Messages API. Every block is stored as it came, with unknown fields. */
export class MessagesReader implements TurnReader {
  readonly #options: DecoderOptions;
  readonly deltas = new Deltas();
  #written: ModelText;
  readonly #media: MadeMedia;
  #blocks = new Map<number, Block>();
  #last: Block | undefined;
  #counts: Record<string, number> = {};
  #stopReason: string | undefined;
  /** Whether the last event has come. */
  finished = false;

  constructor(options: DecoderOptions) {
    this.#options = options;
    this.#written = new ModelText(this.deltas, options);
    this.#media = new MadeMedia(this.deltas, options, (text) => this.#written.push(text));
  }

  get usage(): TurnUsage | undefined {
    const { input_tokens: input = 0, output_tokens: output = 0 } = this.#counts;
    if (this.#counts.input_tokens === undefined && output === 0) return undefined;
    return readUsage({
      ...this.#counts,
      input_tokens: input,
      reasoning_tokens: Math.min(output, this.deltas.reasoningTokens),
    });
  }

  get hasOutput(): boolean {
    return this.deltas.hasOutput || this.#blocks.values().some(({ content }) => isCall(content));
  }

  get isThinking(): boolean {
    const last = this.#last;
    return last !== undefined && !last.isWhole && last.content.type === 'thinking' && last.content.thinking === '';
  }

  accept(payload: Record<string, unknown>): void {
    const { type } = payload;
    if (isMessageError(payload)) throw this.#options.failureOf(payload);
    const index = typeof payload.index === 'number' ? payload.index : this.#blocks.size;
    if (type === 'message') this.#start(payload);
    else if (type === 'message_start') this.#start(payload.message);
    else if (type === 'content_block_start') this.#open(index, payload.content_block);
    else if (type === 'content_block_delta') this.#delta(index, payload.delta);
    else if (type === 'content_block_stop') this.#close(index);
    else if (type === 'message_delta') {
      this.#readUsage(payload.usage);
      this.#readEnd(payload.delta);
    }
    this.finished ||= type === 'message' || type === 'message_stop';
  }

  finish(): { parts: Delta[]; turn: DecodedTurn } {
    const reason = readFinishReason(this.#stopReason) ?? 'stop';
    const cut = isCutOff(reason);
    const native = this.#calls(cut);
    this.#written.end({ cut, hasCalls: native.length > 0 });
    if (!this.finished) throw brokenStream('the stream ended without its last event');
    if (reason === 'broken') throw brokenStream('the provider broke the answer off');
    const written = this.#written.finish(native, { cut });
    const calls = [...native, ...written];
    const { text } = this.#written;
    const isSilent = !this.hasOutput && this.#media.images.length === 0;
    const isEmpty = isSilent && !this.#options.mayBeEmpty;
    const received = [...this.#blocks.values()].map(({ content }) => content);
    const blocks = received.filter((content) => content.type !== 'tool_use' || isCall(content));
    const citations = new ProviderCitations();
    let at = 0;
    for (const { text: own, citations: cited } of blocks) {
      if (typeof own !== 'string') continue;
      citations.add(cited, { at, length: own.length });
      at += own.length;
    }
    const replay = blocks.length > 0 ? { content: blocks } : undefined;
    return this.deltas.finish(
      { reason, calls, writtenCalls: written.length, text, usage: this.usage, replay },
      { citations, media: this.#media },
      { isEmpty, reasoningIsText: this.#options.reasoningIsText },
    );
  }

  /** A message starts, or restarts because a proxy retried; deltas already emitted stay emitted. */
  #start(message: unknown): void {
    if (!isObject(message)) return;
    this.#blocks = new Map();
    this.#written = new ModelText(this.deltas, this.#options);
    this.#counts = {};
    this.#stopReason = undefined;
    this.#readUsage(message.usage);
    if (!Array.isArray(message.content)) return;
    for (const [index, block] of message.content.entries()) {
      this.#open(index, block);
      this.#close(index);
    }
    this.#readEnd(message);
  }

  #open(index: number, value: unknown): void {
    // The API takes images from the user alone, so they are sent back as the user's.
    if (isObject(value) && value.type === 'image') return void this.#media.addImage(imageUrlIn(value));
    const content = this.deltas.copyForReplay(value);
    if (!content) return;
    if (this.#blocks.size >= MAX_BLOCKS) throw brokenStream('the answer does not end');
    this.#last = { content, input: '', isWhole: false };
    this.#blocks.set(index, this.#last);
    if (content.type === 'text' && typeof content.text === 'string') this.#written.push(content.text);
    if (content.type === 'thinking' && typeof content.thinking === 'string') {
      this.deltas.push('reasoning', content.thinking);
    }
  }

  #delta(index: number, delta: unknown): void {
    const block = this.#blocks.get(index);
    if (!block || !isObject(delta)) return;
    const { content } = block;
    const added = (field: string) => (typeof delta[field] === 'string' ? delta[field] : '');
    const append = (field: 'text' | 'thinking') => {
      content[field] = `${typeof content[field] === 'string' ? content[field] : ''}${added(field)}`;
      if (field === 'text') this.#written.push(added(field));
      else this.deltas.push('reasoning', added(field));
    };
    if (delta.type === 'text_delta') append('text');
    else if (delta.type === 'thinking_delta') append('thinking');
    else if (delta.type === 'signature_delta' && added('signature') !== '') content.signature = added('signature');
    else if (delta.type === 'input_json_delta') {
      block.input += added('partial_json');
      this.deltas.countCall(added('partial_json'));
    } else if (delta.type === 'citations_delta') {
      const citation = this.deltas.copyForReplay(delta.citation);
      if (!Array.isArray(content.citations)) content.citations = [];
      if (citation) content.citations.push(citation);
    }
  }

  #close(index: number): void {
    const block = this.#blocks.get(index);
    if (!block || block.isWhole) return;
    block.isWhole = true;
    const input = block.input.trim() === '' ? undefined : parseLimitedJson(block.input);
    if (input !== undefined) block.content.input = input;
  }

  #readEnd(delta: unknown): void {
    if (isObject(delta) && typeof delta.stop_reason === 'string') this.#stopReason = delta.stop_reason;
  }

  /** Counts are cumulative: later ones replace earlier ones, and absent ones stay as they were. */
  #readUsage(usage: unknown): void {
    if (!isObject(usage)) return;
    const reported = Object.entries(usage).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
    const counts = { ...this.#counts, ...Object.fromEntries(reported) };
    if (Object.keys(counts).length <= MAX_COUNTS) this.#counts = counts;
  }

  /** `cut`: the answer was cut off, so a call with broken input is dropped. */
  #calls(cut: boolean): TurnToolCall[] {
    const calls: TurnToolCall[] = [];
    const ids = new Set<string>();
    for (const { content, input } of this.#blocks.values()) {
      if (!isCall(content)) continue;
      const written = input.trim();
      if (cut && written !== '' && parseLimitedJson(written) === undefined) continue;
      const id = typeof content.id === 'string' && content.id !== '' && !ids.has(content.id) ? content.id : newCallId();
      ids.add(id);
      calls.push({ id, name: content.name, arguments: written || JSON.stringify(content.input ?? {}) });
    }
    return calls;
  }
}

function isCall(content: JsonObject): content is JsonObject & { name: string } {
  return content.type === 'tool_use' && hasName(content);
}
