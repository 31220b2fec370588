import { z } from 'zod';
import { errorObject } from './errors.ts';

/** Chat completions of research models (contract section 7). */

const json = z.unknown();

/** One step of the research, in `message.reasoning_steps` and `delta.reasoning_steps`; `index` is distinct per step. */
export const reasoningStep = z.discriminatedUnion('type', [
  z.object({ index: z.int(), type: z.literal('thinking'), thought: z.string() }),
  z.object({
    index: z.int(),
    type: z.literal('web_search'),
    web_search: z.object({ search_keywords: json, search_results: z.array(json) }),
  }),
  z.object({
    index: z.int(),
    type: z.literal('fetch_url_content'),
    fetch_url_content: z.object({ url: json, title: json, snippet: z.string() }),
  }),
  z.object({
    index: z.int(),
    type: z.literal('execute_python'),
    execute_python: z.object({ code: json, result: z.string() }),
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
});

const searchResult = z.object({ title: z.string(), url: z.string(), snippet: z.string() });
const finishReason = z.enum(['stop', 'length', 'error', 'cancelled']);
const chatAnnotation = z.object({ type: z.literal('url_citation'), url_citation: z.looseObject({ url: z.string() }) });

export const chatCompletion = z.object({
  id: z.string().startsWith('chatcmpl-'),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.literal(0),
      message: z.object({
        role: z.literal('assistant'),
        content: z.string(),
        reasoning_content: z.string(),
        reasoning_steps: z.array(reasoningStep),
        annotations: z.array(chatAnnotation),
      }),
      finish_reason: finishReason,
      logprobs: z.null(),
    }),
  ),
  search_results: z.array(searchResult),
  usage: chatUsage,
});

/** One `data:` payload of a stream; the last has `finish_reason`, `usage` and `search_results`. */
export const chatChunk = z.object({
  id: z.string().startsWith('chatcmpl-'),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.literal(0),
      delta: z.object({
        role: z.literal('assistant').optional(),
        content: z.string().optional(),
        reasoning_content: z.string().optional(),
        reasoning_steps: z.array(reasoningStep).optional(),
        annotations: z.array(chatAnnotation).optional(),
      }),
      finish_reason: finishReason.nullable(),
      logprobs: z.null(),
    }),
  ),
  usage: chatUsage.optional(),
  search_results: z.array(searchResult).optional(),
  error: errorObject.optional(),
});
