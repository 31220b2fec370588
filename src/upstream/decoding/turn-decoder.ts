import { isObject } from '../../base/json.ts';
import { partsOf } from '../dialects/content-parts.ts';
import { GrowingText } from '../dialects/growing-text.ts';
import { NativeToolCalls } from '../dialects/native-tool-calls.ts';
import { reasoningOfDelta } from '../dialects/reasoning-fields.ts';
import { ReplayFields } from '../dialects/replay-fields.ts';
import { isStreamError } from '../dialects/stream-errors.ts';
import { TextToolCalls } from '../dialects/text-tool-calls/text-tool-calls.ts';
import { ThinkTags } from '../dialects/think-tags.ts';
import { brokenStream } from '../routing/attempt-failure.ts';
import type { TurnToolCall, TurnUsage } from '../turn.ts';
import type { TurnReader } from '../wires/wire.ts';
import { type DecodedTurn, type DecoderOptions, type Delta, Deltas } from './decoded-turn.ts';
import { readFinishReason, type StreamEnd } from './finish-reason.ts';
import { readUsage, showsExcludedReasoning } from './usage.ts';

/** Reads the payloads of a streamed chat completion, whoever sent them. */
export class TurnDecoder implements TurnReader {
  readonly #options: DecoderOptions;
  readonly #replay = new ReplayFields();
  readonly #growing = { text: new GrowingText(), reasoning: new GrowingText() };
  readonly #think: ThinkTags;
  readonly #textCalls: TextToolCalls | undefined;
  readonly deltas = new Deltas({ maxCharacters: 2 * 1024 * 1024 });
  readonly #calls = new NativeToolCalls(this.deltas);
  #end: StreamEnd | undefined;
  usage: TurnUsage | undefined;
  readonly #learned: NonNullable<DecoderOptions['learned']>;

  constructor(options: DecoderOptions) {
    this.#options = options;
    this.#learned = options.learned ?? { startsThinking: false, excludesReasoning: false };
    const textCalls = options.tools?.length
      ? new TextToolCalls(options.tools, (text) => this.deltas.emit('text', text), options.isQuotation)
      : undefined;
    this.#textCalls = textCalls;
    this.#think = new ThinkTags(
      (section, text) => (textCalls && section === 'text' ? textCalls.push(text) : this.deltas.emit(section, text)),
      { startsInside: this.#learned.startsThinking, onBareClosing: () => this.#onBareClosing() },
    );
  }

  get finished(): boolean {
    return this.#end !== undefined;
  }

  get hasOutput(): boolean {
    return this.deltas.hasOutput || this.#calls.size > 0;
  }

  accept(payload: Record<string, unknown>): void {
    const { choices } = payload;
    this.#readUsage(payload);
    if (isStreamError(payload)) throw this.#options.failureOf(payload);
    if (!Array.isArray(choices)) return;
    for (const choice of choices) if (isObject(choice) && (choice.index ?? 0) === 0) this.#choice(choice);
  }

  finish(): { parts: Delta[]; turn: DecodedTurn } {
    const cut = this.#end === 'length';
    this.deltas.push('reasoning', this.#growing.reasoning.end());
    this.#addContent(this.#growing.text.end());
    this.#think.end({ cut: cut || this.#calls.size > 0 });
    this.#textCalls?.end({ cut });
    if (this.#end === undefined) throw brokenStream('the stream ended without a finish reason');
    if (this.#end === 'broken') throw brokenStream('the provider broke the answer off');
    const { calls: native, extras } = this.#calls.finish({ cut });
    const written = this.#writtenCalls(native);
    const calls = [...native, ...written];
    const { text } = this.deltas;
    const finished = this.deltas.finish(
      {
        reason: this.#end,
        calls,
        writtenCalls: written.length,
        text: calls.length > 0 ? text.trim() : text,
        usage: this.usage,
        replay: this.#replay.finish(extras),
      },
      { isEmpty: !this.hasOutput && !this.#options.mayBeEmpty, reasoningIsText: this.#options.reasoningIsText },
    );
    if (this.#think.missedClosing && this.deltas.text !== '') this.#learned.startsThinking = false;
    return finished;
  }

  #onBareClosing(): void {
    this.deltas.reclassifyAsReasoning();
    this.#learned.startsThinking = true;
  }

  /**
   * Calls written as text that did not also come natively. If the answer holds nothing but reasoning, calls in it count
   * too: some models call without ending their reasoning first (Qwen3.5, Kimi K2).
   */
  #writtenCalls(native: readonly TurnToolCall[]): TurnToolCall[] {
    const { tools = [], isQuotation } = this.#options;
    let written = this.#textCalls?.calls ?? [];
    if (tools.length > 0 && native.length + written.length === 0 && this.deltas.text.trim() === '') {
      const inReasoning = new TextToolCalls(tools, () => {}, isQuotation);
      inReasoning.push(this.deltas.reasoning);
      inReasoning.end({ cut: this.#end === 'length' });
      written = inReasoning.calls.filter(({ name }) => tools.some((tool) => tool.name === name));
    }
    return written.filter(
      (call) => !native.some((other) => other.name === call.name && other.arguments === call.arguments),
    );
  }

  #choice(choice: Record<string, unknown>): void {
    const delta = isObject(choice.delta) ? choice.delta : this.#wholeMessage(choice);
    if (delta) {
      // Some providers also send log probabilities of reasoning and calls, whose text is in other fields. Content may be
      // empty here: a token can be a part of a character.
      if (typeof delta.content === 'string' && isObject(choice.logprobs))
        this.#options.logprobs?.add(choice.logprobs.content);
      this.#delta(delta);
    }
    if (choice.usage) this.#readUsage(choice);
    const end = readFinishReason(choice.finish_reason);
    if (end !== undefined) this.#end = end;
  }

  /** The message of a choice without a delta: an answer that was not streamed, or a last chunk that repeats everything. */
  #wholeMessage(choice: Record<string, unknown>): Record<string, unknown> | undefined {
    if (isObject(choice.message)) return this.hasOutput ? undefined : choice.message;
    return typeof choice.text === 'string' ? { content: choice.text } : undefined;
  }

  #delta(delta: Record<string, unknown>): void {
    this.deltas.push('reasoning', this.#growing.reasoning.push(reasoningOfDelta(delta)));
    this.#replay.push(delta);
    const { content } = delta;
    if (typeof content === 'string') this.#addContent(this.#growing.text.push(content));
    else if (Array.isArray(content)) this.#addParts(content);
    if (typeof delta.refusal === 'string') this.deltas.push('text', delta.refusal, { refuses: true });
    if (delta.tool_calls) this.#calls.push(delta.tool_calls);
    if (delta.function_call) this.#calls.pushFunctionCall(delta.function_call);
  }

  #addContent(text: string): void {
    if (text === '') return;
    this.deltas.count(text);
    this.#think.push(text);
  }

  #addParts(content: readonly unknown[]): void {
    for (const part of partsOf(content)) {
      if (part.kind === 'text') this.#addContent(part.text);
      else this.deltas.push('reasoning', part.text);
    }
  }

  /** The last usage counts, but one without tokens does not replace one with tokens. */
  #readUsage(payload: Record<string, unknown>): void {
    const value = payload.usage ?? (isObject(payload.x_groq) ? payload.x_groq.usage : undefined);
    if (!value) return;
    this.#learned.excludesReasoning ||= showsExcludedReasoning(value);
    const usage = readUsage(value, this.#learned);
    if (usage && (usage.inputTokens + usage.outputTokens > 0 || !this.usage)) this.usage = usage;
  }
}
