import { z } from 'zod';
import type { ErrorCode } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { storedObject } from '../base/stored-object.ts';
import type { RouteConfig } from '../config/schema.ts';
import type { MessagePhase, TokenLogprob } from '../protocol/items.ts';
import type { ProviderCitation } from './decoding/provider-citations.ts';

/**
 * One LLM turn as the research loop sees it. No difference between providers leaves this folder: behind this contract
 * there is one kind of stream and one kind of failure. What runs store of turns are schemas.
 */

const jsonObject = z.custom<JsonObject>(isObject);

/** The price of a million tokens. */
export type RoutePrice = NonNullable<RouteConfig['price']>;

/** A complete tool call. `arguments` is the text as the model wrote it, which may be broken JSON. */
export const turnToolCall = storedObject({ id: z.string(), name: z.string(), arguments: z.string() });
export type TurnToolCall = z.output<typeof turnToolCall>;

/** The model's message of a finished turn, stored in the transcript so that it can be sent back. */
export const assistantMessage = storedObject({
  role: z.literal('assistant'),
  content: z.string(),
  tool_calls: z.array(turnToolCall).optional(),
  /**
   * What the provider wants back in later turns, by its own field names (`reasoning_content`, `reasoning_details`,
   * signatures). The dialect sends it back only to the provider that produced it.
   */
  replay: storedObject({ provider: z.string(), fields: jsonObject }).optional(),
  /**
   * The images that the model made, as data URLs; '' for one that is no longer kept. No wire has them in a message of the
   * assistant: see `showImages`.
   */
  images: z.array(z.string()).optional(),
  /**
   * Set in requests only. The history before this message has changed since the model wrote it: signed reasoning, which is
   * bound to that history, is no longer valid and must not be sent back.
   */
  rebased: z.boolean().optional(),
});
export type AssistantMessage = z.output<typeof assistantMessage>;

const image = storedObject({ url: z.string(), detail: z.string().optional() });
/** A part of a user's message. `file_data` is a data URL, `data` base64. */
const userPart = z.discriminatedUnion('type', [
  storedObject({ type: z.literal('text'), text: z.string() }),
  storedObject({ type: z.literal('image_url'), image_url: image }),
  storedObject({ type: z.literal('file'), file: storedObject({ filename: z.string(), file_data: z.string() }) }),
  storedObject({
    type: z.literal('input_audio'),
    input_audio: storedObject({ data: z.string(), format: z.string() }),
  }),
]);
export type UserPart = z.output<typeof userPart>;

/** A message sent to a provider, in the form of chat completions. */
export const turnMessage = z.discriminatedUnion('role', [
  storedObject({ role: z.literal('system'), content: z.string() }),
  storedObject({ role: z.literal('user'), content: z.union([z.string(), z.array(userPart)]) }),
  assistantMessage,
  storedObject({ role: z.literal('tool'), tool_call_id: z.string(), content: z.string() }),
]);
export type TurnMessage = z.output<typeof turnMessage>;

/** The grammar of a custom tool's one string, `input`; only for routes of the Responses API. */
const grammar = storedObject({ type: z.literal('grammar'), syntax: z.enum(['lark', 'regex']), definition: z.string() });
/** A tool as offered to the model. `ToolNames` replaces characters that providers refuse (dots) and maps names back. */
export const turnTool = storedObject({
  name: z.string(),
  description: z.string(),
  parameters: jsonObject,
  /** Whether arguments must match the schema; absent: as the provider does by default. */
  strict: z.boolean().optional(),
  grammar: grammar.optional(),
});
export type TurnTool = z.output<typeof turnTool>;

/** Which tools may be called: any, none, at least one, or this one. */
export const turnToolChoice = z.union([z.enum(['auto', 'none', 'required']), storedObject({ name: z.string() })]);
export type TurnToolChoice = z.output<typeof turnToolChoice>;

export interface TurnRequest {
  messages: readonly TurnMessage[];
  /** Absent or empty: no tools are offered. */
  tools?: readonly TurnTool[];
  /** Tools of other turns, for a turn that offers none: a model may still write their calls into its text. */
  earlierTools?: readonly TurnTool[];
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  /** Stop sequences; only the Messages API is sent these. */
  stop?: readonly string[];
  /** As `response_format` of chat completions. */
  responseFormat?: JsonObject;
  /**
   * `none`: the tools are still sent, so that the provider's prompt cache holds, but none may be called. Where a provider
   * refuses `tool_choice`, they are left out.
   */
  toolChoice?: TurnToolChoice;
  oneCallAtOnce?: boolean;
  /** How much the model should think, as the wire spells it; absent: the model's default. */
  reasoningEffort?: string;
  /** How much the model should write, as OpenAI spells it; the Messages API has no such parameter. */
  verbosity?: string;
  /** The same for all requests of a conversation: providers look up their prompt cache by it. */
  cacheKey?: string;
  /** How many of the first messages later requests repeat unchanged, for providers that want their cache marked. */
  stablePrefix?: number;
  /** The route that answered the previous request and has a warm cache: it is tried first while it is healthy. */
  warmRoute?: RouteName;
  /** A turn without output is no failure: the answer that it should continue may be complete already. */
  mayBeEmpty?: boolean;
  /**
   * If the model writes nothing but reasoning, that is its text: servers take an answer for reasoning if the model does
   * not think first (SGLang, vLLM). `json`: only if it is JSON.
   */
  reasoningIsText?: 'any' | 'json';
  /** Whether images that the model makes belong to the answer; absent: they are left out with a warning. */
  takesImages?: boolean;
  /** Asks for the log probabilities of the answer's tokens, with this many alternatives for each. */
  logprobs?: number;
}

const count = z.int().nonnegative();
export const turnUsage = storedObject({
  inputTokens: count,
  cachedTokens: count,
  outputTokens: count,
  reasoningTokens: count,
  /** The provider reported none, or no credible ones. */
  estimated: z.boolean(),
  /** Input tokens that the provider wrote to its cache, where it reports them. */
  cacheWriteTokens: z.number().optional(),
  /** The cost on routes with a price, in the configured currency; absent where no route has one. */
  cost: z.number().nonnegative().optional(),
  /** Some tokens were used on a route without a price, so `cost` is incomplete. */
  unpriced: z.literal(true).optional(),
});
export type TurnUsage = z.output<typeof turnUsage>;

/** A parameter that was left out of the request to a route or changed for it, and the warning for the client. */
export interface Adaptation {
  param: string;
  message: string;
}

/** The names that identify a route. */
export interface RouteName {
  provider: string;
  /** The provider's name of the model. */
  model: string;
}

export interface AnsweringRoute extends RouteName {
  contextLength?: number | undefined;
  price?: RoutePrice | undefined;
}

/** Why the model stopped. A stream that ends without a reason is a failure, not a `stop`. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/**
 * The parts of a turn in order. Deltas that arrived in one network chunk come as one. `finish` comes last, exactly once,
 * with the usage and the message to store.
 */
export type TurnPart =
  | { type: 'reasoning'; delta: string }
  /** `refuses`: the provider marks this text as the model's refusal to answer. */
  | { type: 'text'; delta: string; logprobs?: TokenLogprob[]; refuses?: true; phase?: MessagePhase }
  | { type: 'tool_call'; call: TurnToolCall }
  | {
      type: 'finish';
      reason: FinishReason;
      usage: TurnUsage;
      message: AssistantMessage;
      /** Of pages that the provider found itself. */
      citations?: readonly ProviderCitation[];
      /** What of the answer is left out, for warnings. */
      leftOut?: readonly string[];
      route?: AnsweringRoute;
      adapted?: readonly Adaptation[];
    };

export type TurnFailureKind =
  /** Nothing answered in time, or the stream stalled. */
  | 'timeout'
  /** Every route limits our rate. */
  | 'rate_limit'
  /** The request does not fit the model's context. The loop compacts it and asks again. */
  | 'context_length'
  /** The provider refused the request itself (4xx). Asking again cannot help. */
  | 'refused'
  /** Everything else: connection, 5xx, broken stream. */
  | 'failed';

/** The error code (docs/api.md, "Errors") for each kind of failure. */
export const CODE_OF_FAILURE: Readonly<Record<TurnFailureKind, ErrorCode>> = {
  timeout: 'upstream_timeout',
  rate_limit: 'rate_limit_exceeded',
  context_length: 'context_length_exceeded',
  refused: 'upstream_error',
  failed: 'upstream_error',
};

/**
 * A turn that cannot go on. `started`: parts were already delivered, so the loop decides what to do (asking again takes
 * the next route). Otherwise every route and retry has been tried. The message holds no credential.
 */
export class TurnError extends Error {
  override readonly name = 'TurnError';
  readonly kind: TurnFailureKind;
  readonly started: boolean;
  /** Tokens used by all attempts, so that the run's usage covers everything that was paid for. */
  readonly usage: TurnUsage;
  readonly retryAfterMs: number | undefined;
  /** How often the turn may be asked for in total, by `max_retries` of its routes. */
  readonly maxTries: number;
  /** The last route blamed the request, so no other provider would accept it. */
  readonly blamesRequest: boolean;
  /** The last route's answer was empty. */
  readonly saysNothing: boolean;

  constructor(
    kind: TurnFailureKind,
    message: string,
    details: {
      started: boolean;
      usage?: TurnUsage;
      retryAfterMs?: number | undefined;
      maxTries?: number;
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
    this.maxTries = details.maxTries ?? Number.POSITIVE_INFINITY;
    this.blamesRequest = details.blamesRequest ?? false;
    this.saysNothing = details.saysNothing ?? false;
  }
}

/** The failure of a stream that ended without a finish reason. */
export function unfinishedStream(): TurnError {
  return new TurnError('failed', 'the provider ended its stream without finishing', { started: true });
}

export function noUsage(): TurnUsage {
  return { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, estimated: false };
}

/**
 * The model of one run: its routes in order, with the key's own routing and credentials applied. It remembers what it
 * learned during the run, such as which routes broke a stream.
 */
export interface ChatModel {
  /**
   * Asks for one turn. Ending the iteration early, or aborting the signal, closes the provider's connection within a
   * second.
   * @throws TurnError, what `sink` threw, or the signal's reason after an abort.
   */
  turn(request: TurnRequest, options: TurnOptions): AsyncIterable<TurnPart>;
}

export interface TurnOptions {
  signal: AbortSignal;
  sink?: DeltaSink | undefined;
}

export type TurnDelta = Extract<TurnPart, { delta: string }>;

/**
 * Takes a delta at the moment it comes from the network, while the iteration waits for the next part: the delta then
 * costs no promise on its way to the log. Returns false if it cannot take the delta now, which then comes with the
 * iteration. An exception ends the turn.
 */
export type DeltaSink = (delta: TurnDelta) => boolean;
