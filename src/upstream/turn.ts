import type { ErrorCode } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { RouteConfig } from '../config/schema.ts';
import type { MessagePhase, TokenLogprob } from '../protocol/items.ts';

/**
 * One LLM turn as the research loop sees it. Whatever providers do differently ends on this floor: behind this
 * contract there is one kind of stream and one kind of failure.
 */

/** What a million tokens cost. */
export type RoutePrice = NonNullable<RouteConfig['price']>;

/** A message sent to a provider, in the words of chat completions. */
export type TurnMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | UserPart[] }
  | AssistantMessage
  | { role: 'tool'; tool_call_id: string; content: string };

/** What a user says. `file_data` is a data URL, `data` base64. */
export type UserPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string; detail?: string | undefined } }
  | { type: 'file'; file: { filename: string; file_data: string } }
  | { type: 'input_audio'; input_audio: { data: string; format: string } };

/** What the model said in a finished turn: kept in the transcript, so that it can be sent back. */
export interface AssistantMessage {
  role: 'assistant';
  content: string;
  tool_calls?: TurnToolCall[];
  /**
   * What the provider wants to see again, by the name of its own field (`reasoning_content`, `reasoning_details`,
   * signatures). Sent back only by the dialect and to the provider that produced it.
   */
  replay?: { provider: string; fields: JsonObject };
  /**
   * What stood before this message when it was said is no longer sent: what its provider bound to that (signed
   * thoughts) is not valid any more and must not be sent back.
   */
  rebased?: boolean;
}

/** A whole tool call. `arguments` is the text as the model wrote it, perhaps broken JSON. */
export interface TurnToolCall {
  id: string;
  name: string;
  arguments: string;
}

/** A tool as offered to the model. Names that a provider refuses (dots) are made safe by the dialect and mapped back. */
export interface TurnTool {
  name: string;
  description: string;
  parameters: JsonObject;
  /** Whether arguments must keep to the schema; absent: the provider's own way, without it. */
  strict?: boolean;
  /** Its one string, `input`, keeps to this: only for routes of the Responses API, which calls such tools custom. */
  grammar?: { type: 'grammar'; syntax: 'lark' | 'regex'; definition: string } | undefined;
}

/** Which tools may be called: any, none, at least one, or this one. */
export type TurnToolChoice = 'auto' | 'none' | 'required' | { name: string };

export interface TurnRequest {
  messages: readonly TurnMessage[];
  /** Absent or empty: no tools are offered. */
  tools?: readonly TurnTool[];
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  /** Texts that end the answer where it would say one; of providers of the Messages API alone. */
  stop?: readonly string[];
  /** As `response_format` of chat completions. */
  responseFormat?: JsonObject;
  /**
   * `none`: the tools stay on offer, so that the provider's cache of the prefix holds, and none may be called. Where a
   * provider knows no such thing they are left out.
   */
  toolChoice?: TurnToolChoice;
  oneCallAtOnce?: boolean;
  /** How much the model should think, in the words of the wire; absent: its own way. */
  reasoningEffort?: string;
  /** How much the model should write, in the words of OpenAI; the Messages API has none. */
  verbosity?: string;
  /** Requests of one conversation have the same: providers keep their caches by it. */
  cacheKey?: string;
  /** How many of the first messages later requests will repeat unchanged: where a provider wants its cache marked. */
  stablePrefix?: number;
  /** The route that answered the request before, whose cache is warm: it is asked first as long as it is well. */
  warmRoute?: RouteName;
  /** What is to be continued may be whole already: a turn without output is no failure. */
  mayBeEmpty?: boolean;
  /** How probable the answer's tokens are is wanted, with so many others in place of each; absent: it is not. */
  logprobs?: number;
}

/** Token counts of one turn. `estimated`: the provider reported none. */
export interface TurnUsage {
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  estimated: boolean;
  /** Input tokens that the provider put into its cache, where it tells. */
  cacheWriteTokens?: number;
  /** In the configured currency, of the routes that have a price; absent where none has. */
  cost?: number;
  /** Some of it was spent on a route without a price: `cost` is not all. */
  unpriced?: true;
}

/** A route by its names. */
export interface RouteName {
  provider: string;
  /** The provider's name of the model. */
  model: string;
}

export interface AnsweringRoute extends RouteName {
  contextLength?: number | undefined;
  price?: RoutePrice | undefined;
}

/** Why the model stopped. A stream that ends without telling is a failure, not a `stop`. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/**
 * Parts of a turn in order. Deltas that arrived in one network chunk come as one. `finish` is last, exactly once,
 * and carries the usage and the message to keep.
 */
export type TurnPart =
  | { type: 'reasoning'; delta: string }
  /** `refuses`: the model says in it that it will not answer, and its provider tells that apart. */
  | { type: 'text'; delta: string; logprobs?: TokenLogprob[]; refuses?: true; phase?: MessagePhase }
  | { type: 'tool_call'; call: TurnToolCall }
  | { type: 'finish'; reason: FinishReason; usage: TurnUsage; message: AssistantMessage; route?: AnsweringRoute };

export type TurnFailureKind =
  /** Nothing answered in time, or the stream stalled. */
  | 'timeout'
  /** The provider limits our rate; every route said so. */
  | 'rate_limit'
  /** The request does not fit the model's context. The loop compacts and asks again. */
  | 'context_length'
  /** The provider refused the request itself (4xx). Asking again cannot help. */
  | 'refused'
  /** Everything else: connection, 5xx, broken stream. */
  | 'failed';

/** The code of docs/api.md, "Errors", of a request that failed so. */
export const CODE_OF_FAILURE: Readonly<Record<TurnFailureKind, ErrorCode>> = {
  timeout: 'upstream_timeout',
  rate_limit: 'rate_limit_exceeded',
  context_length: 'context_length_exceeded',
  refused: 'upstream_error',
  failed: 'upstream_error',
};

/**
 * A turn that cannot go on. `started` says whether parts were delivered: then the loop decides how to go on (asking
 * again takes the next route). Before that every route and retry has been tried already.
 * The message names no credential.
 */
export class TurnError extends Error {
  override readonly name = 'TurnError';
  readonly kind: TurnFailureKind;
  readonly started: boolean;
  /** Tokens spent on the attempt(s), so that nothing paid for is left out of the run's usage. */
  readonly usage: TurnUsage;
  readonly retryAfterMs: number | undefined;
  /** How often such a turn may be asked for in all, by `max_retries` of its routes. */
  readonly mostTries: number;
  /** The last route said that the request is wrong, whoever is asked. */
  readonly blamesRequest: boolean;
  /** The last route answered, and said nothing. */
  readonly saysNothing: boolean;

  constructor(
    kind: TurnFailureKind,
    message: string,
    details: {
      started: boolean;
      usage?: TurnUsage;
      retryAfterMs?: number | undefined;
      mostTries?: number;
      blamesRequest?: boolean;
      saysNothing?: boolean;
      cause?: unknown;
    },
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.started = details.started;
    this.usage = details.usage ?? noUsage();
    this.retryAfterMs = details.retryAfterMs;
    this.mostTries = details.mostTries ?? Number.POSITIVE_INFINITY;
    this.blamesRequest = details.blamesRequest ?? false;
    this.saysNothing = details.saysNothing ?? false;
  }
}

export function noUsage(): TurnUsage {
  return { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, estimated: false };
}

/**
 * The model of one run: its routes in order, with the key's own routing and credentials applied. It remembers what it
 * learned during the run, such as routes that broke a stream.
 */
export interface ChatModel {
  /**
   * Asks for one turn. Ending the iteration early, or aborting the signal, closes the provider's connection within a
   * second.
   * @throws TurnError, what `pass` threw, or the signal's reason after an abort.
   */
  turn(request: TurnRequest, options: TurnOptions): AsyncIterable<TurnPart>;
}

export interface TurnOptions {
  signal: AbortSignal;
  pass?: PassDelta | undefined;
}

export type TurnDelta = Extract<TurnPart, { delta: string }>;

/**
 * Takes a delta while the iteration waits for the next part, in the moment in which it comes from the network: it then
 * costs no promise on its way to the log. False where it cannot be taken now: then it comes with the iteration. What
 * it throws ends the turn.
 */
export type PassDelta = (delta: TurnDelta) => boolean;
