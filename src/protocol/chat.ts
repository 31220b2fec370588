import { z } from 'zod';
import { storedError } from './errors.ts';
import { tokenLogprob, urlCitation } from './items.ts';
import { claims, cost } from './response.ts';
import { warning } from './warnings.ts';

/** Chat completions of research models (docs/api.md, "Chat completions"). */

const searchResult = z.object({
  title: z.string(),
  url: z.string(),
  snippet: z.string(),
  /** The number of the source in the run. */
  source_id: z.int().nullable(),
});

/** One step of the research, in `message.reasoning_steps` and `delta.reasoning_steps`; `index` is distinct per step. */
export const reasoningStep = z.discriminatedUnion('type', [
  z.object({ index: z.int(), type: z.literal('thinking'), thought: z.string() }),
  z.object({
    index: z.int(),
    type: z.literal('web_search'),
    web_search: z.object({ search_keywords: z.array(z.string()), search_results: z.array(searchResult) }),
  }),
  z.object({
    index: z.int(),
    type: z.literal('fetch_url_content'),
    fetch_url_content: z.object({ url: z.string(), title: z.string(), snippet: z.string() }),
  }),
  z.object({
    index: z.int(),
    type: z.literal('execute_python'),
    execute_python: z.object({ code: z.string(), result: z.string() }),
  }),
  z.object({
    index: z.int(),
    type: z.literal('tool_call'),
    tool_call: z.object({ name: z.string(), arguments: z.string(), result: z.string() }),
  }),
]);

export const chatUsage = z.object({
  prompt_tokens: z.int().nonnegative(),
  completion_tokens: z.int().nonnegative(),
  total_tokens: z.int().nonnegative(),
  prompt_tokens_details: z.object({ cached_tokens: z.int().nonnegative() }),
  completion_tokens_details: z.object({ reasoning_tokens: z.int().nonnegative() }),
  num_search_queries: z.int().nonnegative().optional(),
  /** As in the response object. */
  estimated: z.literal(true).optional(),
  cost: cost.optional(),
});

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'error', 'cancelled']);
/** A call of one of the client's functions. `index` is present in streams only. */
const toolCall = z.object({
  index: z.int().nonnegative().optional(),
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});
/** A cited source. Each is listed once: the n-th is the text's `[n]`. */
const chatAnnotation = z.object({
  type: z.literal('url_citation'),
  url_citation: urlCitation.omit({ type: true, file_id: true, filename: true }),
});
/** An image that the model made; plain models only. */
const chatImage = z.object({
  index: z.int().nonnegative(),
  type: z.literal('image_url'),
  image_url: z.object({ url: z.string() }),
});
/** Plain models only, if requested. */
const chatLogprobs = z.object({ content: z.array(tokenLogprob), refusal: z.null() });
const message = z.object({
  role: z.literal('assistant'),
  content: z.string(),
  reasoning_content: z.string(),
  reasoning_steps: z.array(reasoningStep),
  annotations: z.array(chatAnnotation),
  tool_calls: z.array(toolCall).optional(),
  images: z.array(chatImage).optional(),
  /** What a plain model says instead of an answer, else null. */
  refusal: z.string().nullable().optional(),
});
/** The sources of a completion, beside its text. */
const sources = {
  search_results: z.array(searchResult),
  /** The URL of `[n]` is at index n - 1. */
  citations: z.array(z.string()),
  warnings: z.array(warning),
  /** Those of the response object: how well the sentences are supported by their sources. */
  claims: claims.nullable(),
};

export const chatCompletion = z.object({
  id: z.string().startsWith('chatcmpl-'),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.literal(0),
      message,
      finish_reason: finishReason,
      logprobs: chatLogprobs.nullable(),
    }),
  ),
  ...sources,
  usage: chatUsage,
  /** Present only if `finish_reason` is `error`. */
  error: storedError.optional(),
});

/**
 * One `data:` payload of a stream. The last one has `finish_reason`, `usage` and the sources; with
 * `stream_options.include_usage` the usage is in a further chunk without choices.
 */
export const chatChunk = z.object({
  id: z.string().startsWith('chatcmpl-'),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.literal(0),
      delta: message.partial(),
      finish_reason: finishReason.nullable(),
      logprobs: chatLogprobs.nullable(),
    }),
  ),
  usage: chatUsage.nullable().optional(),
  ...z.object(sources).partial().shape,
  error: storedError.optional(),
});

export type ReasoningStep = z.output<typeof reasoningStep>;
export type SearchResult = z.output<typeof searchResult>;
export type ChatAnnotation = z.output<typeof chatAnnotation>;
export type ChatUsage = z.output<typeof chatUsage>;
export type ChatCompletion = z.output<typeof chatCompletion>;
export type ChatChunk = z.output<typeof chatChunk>;
export type ChatToolCall = z.output<typeof toolCall>;
export type ChatFinishReason = z.output<typeof finishReason>;
