import { isObject, type JsonObject } from '../../base/json.ts';
import { partsOf } from '../dialects/content-parts.ts';
import { NativeToolCalls } from '../dialects/native-tool-calls.ts';
import { reasoningOfDelta } from '../dialects/reasoning-fields.ts';
import { ReplayFields } from '../dialects/replay-fields.ts';
import { isStreamError } from '../dialects/stream-errors.ts';
import { TextToolCalls } from '../dialects/text-tool-calls/text-tool-calls.ts';
import { ThinkTags } from '../dialects/think-tags.ts';
import { type AttemptFailure, brokenStream } from '../routing/attempt-failure.ts';
import type { FinishReason, TurnTool, TurnToolCall, TurnUsage } from '../turn.ts';
import { saysSomething } from './answer-signs.ts';
import { readFinishReason, type StreamEnd } from './finish-reason.ts';
import { readUsage, showsReasoningBeside } from './usage.ts';

/** The most text that one turn may bring, in characters: beyond it the stream is a fault. */
const MAX_CHARACTERS = 2 * 1024 * 1024;

export type Delta = { type: 'reasoning' | 'text'; delta: string };

/** A turn as a whole, once the provider has told that it is over. */
export interface DecodedTurn {
  reason: FinishReason;
  calls: TurnToolCall[];
  /** How many of the calls were written as text. */
  writtenCalls: number;
  /** The answer's text without reasoning and tool calls. */
  text: string;
  /** An estimate of the reasoning's tokens. */
  reasoningTokens: number;
  usage: TurnUsage | undefined;
  replay: JsonObject | undefined;
}

export interface DecoderOptions {
  /** Makes the failure of an error object inside the stream. */
  failureOf: (payload: Record<string, unknown>) => AttemptFailure;
  /** Tools on offer: calls to them are also looked for in the text. */
  tools?: readonly TurnTool[] | undefined;
  /** See `quotationsIn`; absent: whatever looks like a call is one. */
  isQuotation?: ((block: string) => boolean) | undefined;
  /** A turn without output is a turn. */
  mayBeEmpty?: boolean;
  /** The model begins with reasoning without an opening tag. */
  startsThinking?: boolean;
  /** See `RequestTraits`. */
  reasoningBeside?: boolean;
}

/**
 * Reads the payloads of a streamed chat completion, whoever sent them. Deltas are collected until `take`: those of one
 * kind that stand together become one.
 */
export class TurnDecoder {
  readonly #options: DecoderOptions;
  readonly #calls = new NativeToolCalls();
  readonly #replay = new ReplayFields();
  readonly #think: ThinkTags;
  readonly #textCalls: TextToolCalls | undefined;
  #parts: Delta[] = [];
  /** Content waiting to be split, of the network chunk at hand. */
  #content = '';
  #text = '';
  #outputCharacters = 0;
  #isVisible = false;
  #reasoningCharacters = 0;
  #end: StreamEnd | undefined;
  #usage: TurnUsage | undefined;
  #reasoningBeside: boolean;

  constructor(options: DecoderOptions) {
    this.#options = options;
    this.#reasoningBeside = options.reasoningBeside ?? false;
    const textCalls = options.tools?.length
      ? new TextToolCalls(options.tools, (text) => this.#emit('text', text), options.isQuotation)
      : undefined;
    this.#textCalls = textCalls;
    this.#think = new ThinkTags(
      (section, text) => (textCalls && section === 'text' ? textCalls.push(text) : this.#emit(section, text)),
      { startsInside: options.startsThinking ?? false, onBareClosing: () => this.#wasReasoning() },
    );
  }

  /** Whether the provider told why it stopped. */
  get finished(): boolean {
    return this.#end !== undefined;
  }

  get usage(): TurnUsage | undefined {
    return this.#usage;
  }

  /** Whether the model has said anything beyond white space, delivered or not. */
  get hasOutput(): boolean {
    return this.#isVisible || this.#calls.size > 0;
  }

  /** Characters of output so far, for an estimate. */
  get outputCharacters(): number {
    return this.#outputCharacters;
  }

  /** What the turn taught about reasoning without an opening tag; undefined: nothing new. */
  get startsThinking(): boolean | undefined {
    if (this.#think.sawBareClosing) return true;
    return this.#think.missedClosing && this.#text !== '' ? false : undefined;
  }

  /** Whether reasoning was seen to be counted beside the completion. */
  get reasoningBeside(): boolean {
    return this.#reasoningBeside;
  }

  /** @throws AttemptFailure for an error inside the stream. */
  accept(payload: Record<string, unknown>): void {
    const { choices } = payload;
    this.#readUsage(payload);
    if (isStreamError(payload)) throw this.#options.failureOf(payload);
    if (!Array.isArray(choices)) return;
    for (const choice of choices) if (isObject(choice) && (choice.index ?? 0) === 0) this.#choice(choice);
  }

  /** The deltas since the last call. */
  take(): Delta[] {
    this.#splitContent();
    const parts = this.#parts;
    if (parts.length > 0) this.#parts = [];
    return parts;
  }

  /** Ends the turn: the last deltas, and the turn as a whole. @throws AttemptFailure where it is none. */
  finish(): { parts: Delta[]; turn: DecodedTurn } {
    this.#splitContent();
    const cut = this.#end === 'length';
    this.#think.end({ cut: cut || this.#calls.size > 0 });
    this.#textCalls?.end({ cut });
    if (this.#end === undefined) throw brokenStream('the stream ended without a finish reason');
    if (this.#end === 'broken') throw brokenStream('the provider broke the answer off');
    const { calls: native, extras } = this.#calls.finish({ cut });
    const written = this.#writtenCalls(native);
    const calls = [...native, ...written];
    const reason = this.#reason(this.#end, calls);
    if (reason === 'stop' && !this.hasOutput && !this.#options.mayBeEmpty) throw brokenStream('an empty answer');
    return {
      parts: this.take(),
      turn: {
        reason,
        calls,
        writtenCalls: written.length,
        text: calls.length > 0 ? this.#text.trim() : this.#text,
        reasoningTokens: Math.ceil(this.#reasoningCharacters / 4),
        usage: this.#usage,
        replay: this.#replay.finish(extras),
      },
    };
  }

  /** Calls written as text that did not also come as native ones. */
  #writtenCalls(native: readonly TurnToolCall[]): TurnToolCall[] {
    const written = this.#textCalls?.calls ?? [];
    return written.filter(
      (call) => !native.some((other) => other.name === call.name && other.arguments === call.arguments),
    );
  }

  #reason(end: FinishReason, calls: readonly TurnToolCall[]): FinishReason {
    if (calls.length > 0 && end === 'stop') return 'tool_calls';
    return calls.length === 0 && end === 'tool_calls' ? 'stop' : end;
  }

  #choice(choice: Record<string, unknown>): void {
    const delta = isObject(choice.delta) ? choice.delta : this.#wholeMessage(choice);
    if (delta) this.#delta(delta);
    if (choice.usage) this.#readUsage(choice);
    const end = readFinishReason(choice.finish_reason);
    if (end !== undefined) this.#end = end;
  }

  /** A message where a delta should be: an answer that was not streamed, or a last chunk that repeats everything. */
  #wholeMessage(choice: Record<string, unknown>): Record<string, unknown> | undefined {
    if (isObject(choice.message)) return this.hasOutput ? undefined : choice.message;
    return typeof choice.text === 'string' ? { content: choice.text } : undefined;
  }

  #delta(delta: Record<string, unknown>): void {
    const reasoning = reasoningOfDelta(delta);
    if (reasoning !== '') {
      this.#splitContent();
      this.#count(reasoning);
      this.#emit('reasoning', reasoning);
    }
    this.#replay.push(delta);
    const { content } = delta;
    if (typeof content === 'string') this.#addContent(content);
    else if (Array.isArray(content)) this.#addParts(content);
    if (typeof delta.refusal === 'string') this.#addContent(delta.refusal);
    if (delta.tool_calls) this.#calls.push(delta.tool_calls);
    if (delta.function_call) this.#calls.pushFunctionCall(delta.function_call);
  }

  #addContent(text: string): void {
    if (text === '') return;
    this.#count(text);
    this.#content += text;
  }

  #addParts(content: readonly unknown[]): void {
    for (const part of partsOf(content)) {
      if (part.kind === 'text') this.#addContent(part.text);
      else if (part.text !== '') {
        this.#splitContent();
        this.#count(part.text);
        this.#emit('reasoning', part.text);
      }
    }
  }

  #splitContent(): void {
    if (this.#content === '') return;
    const content = this.#content;
    this.#content = '';
    this.#think.push(content);
  }

  #emit(type: 'reasoning' | 'text', delta: string): void {
    if (type === 'text') this.#text += delta;
    else this.#reasoningCharacters += delta.length;
    const last = this.#parts.at(-1);
    if (last?.type === type) last.delta += delta;
    else this.#parts.push({ type, delta });
  }

  /** What came as text so far was reasoning: kept out of the message, and told so where it was not yet given. */
  #wasReasoning(): void {
    this.#text = '';
    for (const part of this.#parts) part.type = 'reasoning';
  }

  #count(output: string): void {
    this.#outputCharacters += output.length;
    this.#isVisible ||= saysSomething(output);
    if (this.#outputCharacters > MAX_CHARACTERS) throw brokenStream('the answer does not end');
  }

  /** The last usage counts; one without any tokens does not replace one with them. */
  #readUsage(payload: Record<string, unknown>): void {
    const value = payload.usage ?? (isObject(payload.x_groq) ? payload.x_groq.usage : undefined);
    if (!value) return;
    if (!this.#reasoningBeside) this.#reasoningBeside = showsReasoningBeside(value);
    const usage = readUsage(value, { reasoningBeside: this.#reasoningBeside });
    if (usage && (usage.inputTokens + usage.outputTokens > 0 || !this.#usage)) this.#usage = usage;
  }
}
