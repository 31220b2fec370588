import { z } from 'zod';
import { openAiItems } from './openai-items.ts';

/** Output items and their parts (contract section 3.3). */

/** An array that is always empty; there because clients expect it. */
export const emptyArray = z.array(z.never()).meta({ type: 'array', items: {}, maxItems: 0 });

export const urlCitation = z.object({
  type: z.literal('url_citation'),
  /** In UTF-16 code units of the part's text. */
  start_index: z.int().nonnegative(),
  end_index: z.int().nonnegative(),
  url: z.string(),
  title: z.string(),
  /** Its number in the text, in the order of reading; null for a bare URL that has none. */
  index: z.int().positive().nullable(),
  /** Its number in the run's tool results; null for a URL that the run never saw. */
  source_id: z.int().positive().nullable(),
  /** True only if this run read the URL, or was shown it in a search result and did not fail to read it. */
  verified: z.boolean(),
});

export const reasoningText = z.object({ type: z.literal('reasoning_text'), text: z.string() });
export const outputText = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(urlCitation),
  logprobs: emptyArray,
});

export const summaryText = z.object({ type: z.literal('summary_text'), text: z.string() });

export const reasoningItem = z.object({
  id: z.string().startsWith('rs_'),
  type: z.literal('reasoning'),
  /** Empty unless the request asked for a summary. */
  summary: z.array(summaryText),
  content: z.array(reasoningText),
  status: z.enum(['in_progress', 'completed', 'incomplete']),
});

export const toolCallItem = z.object({
  id: z.string().startsWith('tc_'),
  type: z.literal('tool_call'),
  name: z.string(),
  /** JSON text; `{"raw": "<text>"}` where the model's own could not be repaired. */
  arguments: z.string(),
  /** JSON text for built-in tools; absent until the call is done. */
  result: z.string().optional(),
  status: z.enum(['in_progress', 'completed', 'failed']),
});

export const messageItem = z.object({
  id: z.string().startsWith('msg_'),
  type: z.literal('message'),
  role: z.literal('assistant'),
  status: z.enum(['in_progress', 'completed', 'incomplete']),
  content: z.array(outputText),
});

export const outputItem = z.discriminatedUnion('type', [reasoningItem, toolCallItem, messageItem, ...openAiItems]);

export type UrlCitation = z.output<typeof urlCitation>;
export type ReasoningItem = z.output<typeof reasoningItem>;
export type ToolCallItem = z.output<typeof toolCallItem>;
export type MessageItem = z.output<typeof messageItem>;
export type OutputItem = z.output<typeof outputItem>;
