import { isObject, type JsonObject } from '../../base/json.ts';
import type { MessagePhase, TokenLogprob } from '../../protocol/items.ts';
import type { RequestTraits } from '../dialects/requests/traits.ts';
import { type AttemptFailure, brokenStream } from '../routing/attempt-failure.ts';
import type { FinishReason, TurnTool, TurnToolCall, TurnUsage } from '../turn.ts';
import { saysSomething } from './answer-signs.ts';
import type { TokenLogprobs } from './token-logprobs.ts';

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
  /** What answers of the model taught so far; this one may teach more. Absent: nothing. */
  learned?: Pick<RequestTraits, 'startsThinking' | 'reasoningBeside'> | undefined;
  /** Takes what the provider tells of tokens, where the turn asked for it. */
  logprobs?: TokenLogprobs | undefined;
}

export type Delta = { type: 'reasoning' | 'text'; delta: string; logprobs?: TokenLogprob[] } & DeltaKind;

/** What text is besides: words of a model that will not answer, or what of the answer its provider says it to be. */
export interface DeltaKind {
  refuses?: true;
  phase?: MessagePhase;
}

/** Whether deltas of one type are of one kind, too. */
export function isSameKind(one: DeltaKind, other: DeltaKind): boolean {
  return one.refuses === other.refuses && one.phase === other.phase;
}

/** What of one answer is kept to be sent back, in characters: pictures that a provider made are the longest. */
const MOST_KEPT = 64 * 1024 * 1024;

/** Deltas of a turn until they are taken: those of one kind that stand together become one. */
export class Deltas {
  readonly #mostCharacters: number;
  #parts: Delta[] = [];
  #reasoning = 0;
  #kept = 0;
  text = '';
  characters = 0;
  /** Whether there is any output beyond white space. */
  hasOutput = false;

  /** `mostCharacters`: a turn that brings more is a fault of its stream. */
  constructor({ mostCharacters }: { mostCharacters: number }) {
    this.#mostCharacters = mostCharacters;
  }

  /** An estimate of the reasoning's tokens. */
  get reasoningTokens(): number {
    return Math.ceil(this.#reasoning / 4);
  }

  /** Counts output that is not shown, or not yet. @throws AttemptFailure for an answer without end. */
  count(output: string): void {
    this.characters += output.length;
    this.hasOutput ||= saysSomething(output);
    if (this.characters > this.#mostCharacters) throw brokenStream('the answer does not end');
  }

  /**
   * A copy of what the provider is to see again, whatever it holds; undefined for what is no object.
   * @throws AttemptFailure where it is more than an answer has.
   */
  keep(value: unknown): JsonObject | undefined {
    if (!isObject(value)) return undefined;
    const json = JSON.stringify(value);
    this.#kept += json.length;
    if (this.#kept > MOST_KEPT) throw brokenStream('the answer does not end');
    return JSON.parse(json);
  }

  /** Counts and shows output. */
  push(type: Delta['type'], delta: string, how: DeltaKind = {}): void {
    if (delta === '') return;
    this.count(delta);
    this.show(type, delta, how);
  }

  /** Shows what was counted when it came. */
  show(type: Delta['type'], delta: string, how: DeltaKind = {}): void {
    if (type === 'text') this.text += delta;
    else this.#reasoning += delta.length;
    const last = this.#parts.at(-1);
    if (last?.type === type && isSameKind(last, how)) last.delta += delta;
    else this.#parts.push({ type, delta, ...how });
  }

  /** What came as text so far was reasoning: it is kept out of the text, and shown so if it was not taken yet. */
  wasReasoning(): void {
    this.text = '';
    for (const part of this.#parts) part.type = 'reasoning';
  }

  take(): Delta[] {
    const parts = this.#parts;
    if (parts.length > 0) this.#parts = [];
    return parts;
  }

  /**
   * The last deltas and the whole turn. `isEmpty`: the provider said nothing.
   * @throws AttemptFailure for a turn that says nothing and ended as if it were whole.
   */
  finish(
    turn: Pick<DecodedTurn, 'reason' | 'calls' | 'usage' | 'replay'> & Partial<DecodedTurn>,
    { isEmpty }: { isEmpty: boolean },
  ): { parts: Delta[]; turn: DecodedTurn } {
    const { calls } = turn;
    const asCalled = calls.length > 0 && turn.reason === 'stop' ? 'tool_calls' : turn.reason;
    const reason = calls.length === 0 && asCalled === 'tool_calls' ? 'stop' : asCalled;
    if (reason === 'stop' && isEmpty) throw brokenStream('an empty answer').with({ saysNothing: true });
    const { text, reasoningTokens } = this;
    return { parts: this.take(), turn: { writtenCalls: 0, text, reasoningTokens, ...turn, reason } };
  }
}
