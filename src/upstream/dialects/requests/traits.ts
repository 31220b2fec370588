/**
 * What a route wants its requests to look like. Starts from the provider's dialect and learns from refusals: each file
 * of this folder holds one trait, how a refusal teaches it, and how it shapes the request.
 */
export interface RequestTraits {
  /** Which field bounds the output. */
  outputLimitField: 'max_tokens' | 'max_completion_tokens';
  /** The largest output that the model allows, where a refusal named it. */
  outputLimit: number | undefined;
  /** Who speaks instructions; `user`: they go into the first user message. */
  instructionRole: 'system' | 'developer' | 'user';
  /** Roles that were refused for instructions. */
  refusedRoles: Set<'system' | 'developer'>;
  /** Roles must alternate: neighbours of one role are joined. */
  alternatingRoles: boolean;
  /** The last message must not be the assistant's. */
  endsWithUser: boolean;
  /** Whether tools are offered as such or in the text. */
  toolProtocol: 'native' | 'text';
  /** `short`: nine letters and digits (Mistral). */
  toolCallIds: 'any' | 'short';
  /** What an assistant message without text has as its content. */
  emptyContent: 'null' | 'text';
  /** Tool schemas are reduced to the keywords that everybody knows. */
  plainSchemas: boolean;
  /** Whether `reasoning_content` must be there even for messages that came without one. */
  reasoningRequired: boolean;
  /** Top-level parameters that were refused. */
  refusedParameters: Set<string>;
  /** Fields of replayed messages that were refused. */
  refusedReplay: Set<string>;
  /** `prompt_cache_key` is sent; who does not know it ignores or refuses it. */
  promptCacheKey: boolean;
  /** Whether the cache is marked in the messages of a chat completion: some providers cache nothing else. */
  cacheMarks: boolean;
  /** Items of the Responses API go back with the calls of a turn behind what was said in it. */
  callsLast: boolean;
  /** How a model of the Messages API is asked to think; `summarized`: by its own measure, with readable thoughts. */
  thinking: 'summarized' | 'adaptive' | 'enabled' | 'off';
  /** Reasoning is counted beside the completion, and the total leaves it out. */
  reasoningBeside: boolean;
  /** The model begins with reasoning and writes only the closing tag. */
  startsThinking: boolean;
}

export function defaultTraits(): RequestTraits {
  return {
    outputLimitField: 'max_tokens',
    outputLimit: undefined,
    instructionRole: 'system',
    refusedRoles: new Set(),
    alternatingRoles: false,
    endsWithUser: false,
    toolProtocol: 'native',
    toolCallIds: 'any',
    emptyContent: 'null',
    plainSchemas: false,
    reasoningRequired: false,
    refusedParameters: new Set(),
    refusedReplay: new Set(),
    promptCacheKey: true,
    cacheMarks: false,
    callsLast: false,
    thinking: 'summarized',
    reasoningBeside: false,
    startsThinking: false,
  };
}

/** A provider's refusal of a request, as far as it teaches something. */
export interface RefusedRequest {
  status: number;
  /** The body of the answer. */
  text: string;
  /** The request that was refused. */
  body: Readonly<Record<string, unknown>>;
}

/** Reads one trait from a refusal. True: something new was learned, so that asking again may succeed. */
export type Lesson = (refusal: RefusedRequest, traits: RequestTraits) => boolean;

/** Whether a refusal is about this field: it names it and says that it is not wanted. */
export function refuses(text: string, field: string): boolean {
  const named = new RegExp(`(?<!\\w)${field}(?!\\w)`, 'i').test(text);
  return named && NOT_WANTED.test(text);
}

const NOT_WANTED =
  /not support|unsupported|unknown|unrecognized|unexpected|extra (?:input|field|param)|extra_forbidden|not permitted|not allowed|disallowed|forbidden|does ?n[o']t support|invalid|only the default|deprecated|is not enabled|not one of|cannot|can't|not available|additional propert|must not|no such|not accept|not recognized|not valid|mutually exclusive|should not|remove/i;
