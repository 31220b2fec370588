import { isObject } from '../../base/json.ts';
import { partsOf } from '../dialects/content-parts.ts';
import { GrowingText } from '../dialects/growing-text.ts';
import { NativeToolCalls } from '../dialects/native-tool-calls.ts';
import { reasoningOfDelta } from '../dialects/reasoning-fields.ts';
import { ReplayFields } from '../dialects/replay-fields.ts';
import { isStreamError } from '../dialects/stream-errors.ts';
import { brokenStream } from '../routing/attempt-failure.ts';
import type { TurnUsage } from '../turn.ts';
import type { TurnReader } from '../wires/wire.ts';
import { type DecodedTurn, type DecoderOptions, type Delta, Deltas } from './decoded-turn.ts';
import { isCutOff, readFinishReason, type StreamEnd } from './finish-reason.ts';
import { MadeMedia } from './made-media.ts';
import { ModelText } from './model-text.ts';
import { ProviderCitations } from './provider-citations.ts';
import { readUsage, showsExcludedReasoning } from './usage.ts';

/** Reads the payloads of a streamed chat completion, whoever sent them. */
export class TurnDecoder implements TurnReader {
  readonly #options: DecoderOptions;
  readonly #replay = new ReplayFields();
  readonly #growing = { text: new GrowingText(), reasoning: new GrowingText() };
  readonly deltas = new Deltas();
  readonly #citations = new ProviderCitations();
  readonly #calls = new NativeToolCalls(this.deltas);
  readonly #written: ModelText;
  readonly #media: MadeMedia;
  #end: StreamEnd | undefined;
  usage: TurnUsage | undefined;
  /** As the provider wrote it. */
  #reported: unknown;
  readonly #learned: NonNullable<DecoderOptions['learned']>;

  constructor(options: DecoderOptions) {
    this.#options = options;
    this.#learned = options.learned ?? { startsThinking: false, excludesReasoning: false };
    this.#written = new ModelText(this.deltas, { ...options, learned: this.#learned });
    this.#media = new MadeMedia(this.deltas, options, (text) => this.#written.push(text));
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
    this.#citations.readLists(payload);
    for (const choice of choices) if (isObject(choice) && (choice.index ?? 0) === 0) this.#choice(choice);
    // A whole answer ends here, even if its provider does not say why.
    if (payload.object === 'chat.completion' && this.hasOutput) this.#end ??= 'stop';
  }

  finish(): { parts: Delta[]; turn: DecodedTurn } {
    const cut = isCutOff(this.#end);
    this.deltas.push('reasoning', this.#growing.reasoning.end());
    this.#written.push(this.#growing.text.end());
    if (this.deltas.text === '') this.#written.push(this.#media.transcript);
    this.#written.end({ cut, hasCalls: this.#calls.size > 0 });
    if (this.#end === undefined) throw brokenStream('the stream ended without a finish reason');
    if (this.#end === 'broken') throw brokenStream('the provider broke the answer off');
    this.#learned.excludesReasoning ||= showsExcludedReasoning(this.#reported);
    const { calls: native, extras } = this.#calls.finish({ cut });
    const written = this.#written.finish(native, { cut });
    const calls = [...native, ...written];
    const { text } = this.deltas;
    const isEmpty = !this.deltas.hasOutput && calls.length === 0 && !this.#options.mayBeEmpty;
    return this.deltas.finish(
      {
        reason: this.#end,
        calls,
        writtenCalls: written.length,
        text: calls.length > 0 ? text.trim() : text,
        usage: this.usage,
        replay: this.#replay.finish(extras),
      },
      { citations: this.#citations, media: this.#media },
      { isEmpty, reasoningIsText: this.#options.reasoningIsText },
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
    this.deltas.push('reasoning', this.#freshOf('reasoning', reasoningOfDelta(delta)));
    this.#replay.push(delta);
    const { content } = delta;
    if (typeof content === 'string') this.#written.push(this.#freshOf('text', content));
    else if (Array.isArray(content)) this.#addParts(content);
    this.#media.addImages(delta.images);
    this.#media.addSound(delta.audio);
    if (typeof delta.refusal === 'string') this.deltas.push('text', delta.refusal, { refuses: true });
    if (delta.tool_calls) this.#calls.push(delta.tool_calls);
    this.#citations.add(delta.annotations);
    if (delta.function_call) this.#calls.pushFunctionCall(delta.function_call);
  }

  #freshOf(section: 'text' | 'reasoning', chunk: string): string {
    const fresh = this.#growing[section].push(chunk);
    this.deltas.countRepeated(chunk.length - fresh.length);
    return fresh;
  }

  #addParts(content: readonly unknown[]): void {
    for (const part of partsOf(content)) {
      if (part.kind === 'text') this.#written.push(part.text);
      else if (part.kind === 'image') this.#media.addImage(part.text);
      else this.deltas.push('reasoning', part.text);
    }
  }

  /** The last usage counts, but one without tokens does not replace one with tokens. */
  #readUsage(payload: Record<string, unknown>): void {
    const value = payload.usage ?? (isObject(payload.x_groq) ? payload.x_groq.usage : undefined);
    if (!value) return;
    const usage = readUsage(value, this.#learned);
    if (!usage || (usage.inputTokens + usage.outputTokens === 0 && this.usage)) return;
    this.usage = usage;
    this.#reported = value;
  }
}
