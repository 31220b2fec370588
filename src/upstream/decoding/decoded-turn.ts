import { isObject, type JsonObject } from '../../base/json.ts';
import type { MessagePhase, TokenLogprob } from '../../protocol/items.ts';
import type { RequestTraits } from '../dialects/requests/traits.ts';
import { type AttemptFailure, brokenStream } from '../routing/attempt-failure.ts';
import type { FinishReason, TurnRequest, TurnTool, TurnToolCall, TurnUsage } from '../turn.ts';
import { saysSomething } from './answer-signs.ts';
import { ATTACHMENT_TOKENS } from './estimate.ts';
import type { ProviderCitation, ProviderCitations } from './provider-citations.ts';
import type { TokenLogprobs } from './token-logprobs.ts';

/** A complete turn, once the provider has ended it. */
export interface DecodedTurn {
  reason: FinishReason;
  calls: TurnToolCall[];
  /** How many of the calls were found in the text. */
  writtenCalls: number;
  /** The answer's text without reasoning and tool calls. */
  text: string;
  /** An estimate of the reasoning's tokens. */
  reasoningTokens: number;
  usage: TurnUsage | undefined;
  replay: JsonObject | undefined;
  citations: ProviderCitation[];
  /** The images that the model made, as data URLs. */
  images: readonly string[];
  /** What of the answer is left out, for a warning. */
  leftOut: readonly string[];
}

/** What of an answer is no text. */
type MadeParts = Pick<DecodedTurn, 'images' | 'leftOut'> & { readonly isSpoken: boolean };

export interface DecoderOptions {
  /** Makes the failure of an error object inside the stream. */
  failureOf: (payload: Record<string, unknown>) => AttemptFailure;
  /** The tools on offer; calls to them are also searched for in the text. */
  tools?: readonly TurnTool[] | undefined;
  /** See `quotationsIn`; absent: everything that looks like a call is one. */
  isQuotation?: ((block: string) => boolean) | undefined;
  /** A turn without output is no failure. */
  mayBeEmpty?: boolean;
  /** See `TurnRequest`. */
  reasoningIsText?: TurnRequest['reasoningIsText'];
  takesImages?: boolean;
  /** What earlier answers of the model taught; this one may add to it. Absent: nothing. */
  learned?: Pick<RequestTraits, 'startsThinking' | 'excludesReasoning'> | undefined;
  /** Collects log probabilities, where the turn asked for them. */
  logprobs?: TokenLogprobs | undefined;
}

export type Delta = { type: 'reasoning' | 'text'; delta: string; logprobs?: TokenLogprob[] } & DeltaKind;

/** How the provider classifies text: as a refusal to answer, or as a phase of the answer. */
export interface DeltaKind {
  refuses?: true;
  phase?: MessagePhase;
}

export function isSameKind(a: DeltaKind, b: DeltaKind): boolean {
  return a.refuses === b.refuses && a.phase === b.phase;
}

/** The longest answer, in characters: its text, reasoning and calls. */
const MAX_CHARACTERS = 16 * 1024 * 1024;
/** How much of one answer may repeat what came before, in characters: the stream of such a server grows with its square. */
const MAX_REPEATED = 64 * 1024 * 1024;
/** How much of one answer is stored for sending back, in characters: images that a provider made are the largest. */
const MAX_STORED = 64 * 1024 * 1024;

/** The deltas of a turn until they are taken; neighbours of one kind are joined. */
export class Deltas {
  #parts: Delta[] = [];
  #repeated = 0;
  #stored = 0;
  #half = '';
  text = '';
  reasoning = '';
  characters = 0;
  /** Whether there is any output beyond white space. */
  hasOutput = false;

  /** An estimate of the reasoning's tokens. */
  get reasoningTokens(): number {
    return Math.ceil(this.reasoning.length / 4);
  }

  /** Counts output that is not emitted, or not yet. @throws AttemptFailure for an endless answer. */
  count(output: string): void {
    this.hasOutput ||= saysSomething(output);
    this.countCall(output);
  }

  /** Counts a part of a call, which is no output before its name is known. @throws AttemptFailure for an endless answer. */
  countCall({ length }: string): void {
    this.characters += length;
    if (this.characters > MAX_CHARACTERS) throw brokenStream('the answer does not end');
  }

  /** Counts received text that is no output, because it came before. @throws AttemptFailure for an endless answer. */
  countRepeated(length: number): void {
    this.#repeated += length;
    if (this.#repeated > MAX_REPEATED) throw brokenStream('the answer does not end');
  }

  /**
   * A copy of an object that is sent back to the provider; undefined for any other value.
   * @throws AttemptFailure where the answer has more of them than is stored.
   */
  copyForReplay(value: unknown): JsonObject | undefined {
    if (!isObject(value)) return undefined;
    const json = JSON.stringify(value);
    this.#countStored(json);
    return JSON.parse(json);
  }

  /** Counts an image as output. @throws AttemptFailure for an endless answer. */
  countImage(url: string): void {
    this.#countStored(url);
    this.characters += ATTACHMENT_TOKENS * 4;
    this.hasOutput = true;
  }

  #countStored({ length }: string): void {
    this.#stored += length;
    if (this.#stored > MAX_STORED) throw brokenStream('the answer does not end');
  }

  /** Counts and emits output. */
  push(type: Delta['type'], delta: string, kind: DeltaKind = {}): void {
    if (delta === '') return;
    this.count(delta);
    this.emit(type, delta, kind);
  }

  /** Emits output that was already counted. Half of a character waits for the other half. */
  emit(type: Delta['type'], output: string, kind: DeltaKind = {}): void {
    const received = this.#half + output;
    const delta = withoutHalf(received);
    this.#half = received.slice(delta.length);
    if (delta === '') return;
    if (type === 'text') this.text += delta;
    else this.reasoning += delta;
    const last = this.#parts.at(-1);
    if (last?.type === type && isSameKind(last, kind)) last.delta += delta;
    else this.#parts.push({ type, delta, ...kind });
  }

  /** All text so far was reasoning: it leaves `text`, and what was not taken yet is emitted as reasoning. */
  reclassifyAsReasoning(): void {
    this.reasoning += this.text;
    this.text = '';
    for (const part of this.#parts) part.type = 'reasoning';
  }

  take(): Delta[] {
    const parts = this.#parts;
    if (parts.length > 0) this.#parts = [];
    return parts;
  }

  /**
   * The last deltas and the complete turn. `isEmpty`: there was no output; `reasoningIsText`: see `TurnRequest`.
   * @throws AttemptFailure for an empty turn that ended with `stop`.
   */
  finish(
    turn: Pick<DecodedTurn, 'reason' | 'calls' | 'usage' | 'replay'> & Partial<Omit<DecodedTurn, 'citations'>>,
    { citations, media }: { citations: ProviderCitations; media: MadeParts },
    { isEmpty, reasoningIsText }: { isEmpty: boolean; reasoningIsText: TurnRequest['reasoningIsText'] },
  ): { parts: Delta[]; turn: DecodedTurn } {
    const { calls } = turn;
    const isCalling = turn.reason === 'stop' || turn.reason === 'tool_calls';
    const reason = !isCalling ? turn.reason : calls.length > 0 ? 'tool_calls' : 'stop';
    let { text = this.text } = turn;
    const thoughts = this.reasoning.trim();
    const isText = reasoningIsText === 'any' || (reasoningIsText === 'json' && /^[{[]/.test(thoughts));
    if (isText && reason === 'stop' && text.trim() === '') {
      text = thoughts;
      this.emit('text', text);
    } else if (reason === 'stop' && isEmpty) {
      const what = media.isSpoken ? 'the answer is sound without its words, which is not supported' : 'an empty answer';
      throw brokenStream(what).with({ saysNothing: true });
    }
    text = withoutHalf(text);
    const counted = { writtenCalls: 0, reasoningTokens: this.reasoningTokens };
    const { images, leftOut } = media;
    const whole = { ...counted, ...turn, text, reason, citations: citations.of(text), images, leftOut };
    return { parts: this.take(), turn: whole };
  }
}

/** A text without the first half of a surrogate pair at its end: some providers split or cut there. */
function withoutHalf(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}
