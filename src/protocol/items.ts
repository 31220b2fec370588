import { z } from 'zod';
import { itemHead, lane, openAiItems, shellItems, toolSearchItems } from './openai/items.ts';

/** Output items and their parts (docs/api.md, "The response object"). */

const logprobFields = { token: z.string(), logprob: z.number(), bytes: z.array(z.int().min(0).max(255)) };
/** The log probability of a token, and of the most likely alternatives to it. */
export const tokenLogprob = z.object({ ...logprobFields, top_logprobs: z.array(z.object(logprobFields)) });
export type TokenLogprob = z.output<typeof tokenLogprob>;

/** The approximate size of log probabilities as JSON, in characters. */
export function logprobSize(logprobs: readonly TokenLogprob[]): number {
  const sizeOf = ({ bytes }: { bytes: readonly number[] }) => 64 + bytes.length * 5;
  return logprobs.reduce((total, token) => {
    return token.top_logprobs.reduce((sum, alternative) => sum + sizeOf(alternative), total + sizeOf(token));
  }, 0);
}

export const urlCitation = z.object({
  /** With OpenAI's items, a citation of a user's file is a `file_citation`. */
  type: z.enum(['url_citation', 'file_citation']),
  /** `file_id` and `filename`: `file_citation` only. */
  file_id: z.string().optional(),
  filename: z.string().optional(),
  /** In UTF-16 code units of the part's text. */
  start_index: z.int().nonnegative(),
  end_index: z.int().nonnegative(),
  url: z.string(),
  title: z.string(),
  /** The number of its marker in the text, in the order of reading; null for a bare URL. */
  index: z.int().positive().nullable(),
  /** The number of the source in the run's tool results; null for a URL that the run never saw. */
  source_id: z.int().positive().nullable(),
  /** True only if this run read the URL, or found it in search results and did not fail to read it. */
  verified: z.boolean(),
  /** The passage of the source that supports the sentence, as the run read it; null if none was found. */
  cited_text: z.string().max(400).nullable(),
  /** How far `cited_text` supports the sentence; `unchecked`: the source was found by a search but never read. */
  support: z.enum(['quoted', 'partial', 'none', 'unchecked']),
  /** The place in a user's document: the page, or the headings above it. */
  page: z.int().positive().optional(),
  section: z.string().optional(),
  /** For a structured answer: the value that the citation supports, as a JSON Pointer (RFC 6901). */
  path: z.string().optional(),
});

export const reasoningText = z.object({ type: z.literal('reasoning_text'), text: z.string() });
export const outputText = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(urlCitation),
  /** Empty unless requested. */
  logprobs: z.array(tokenLogprob),
});

/** What a model says instead of an answer when it refuses to give one. */
export const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });

export const summaryPart = z.object({ type: z.literal('summary_text'), text: z.string() });

export const reasoningItem = z.object({
  ...itemHead('rs', 'reasoning'),
  /** Empty unless a summary was requested. */
  summary: z.array(summaryPart),
  content: z.array(reasoningText),
  /** What the provider wants back with later turns, sealed for this gateway and user; if the request included it. */
  encrypted_content: z.string().optional(),
  lane,
  status: z.enum(['in_progress', 'completed', 'incomplete']),
});

export const toolCallItem = z.object({
  ...itemHead('tc', 'tool_call'),
  name: z.string(),
  /** JSON text; `{"raw": "<text>"}` where the model's own could not be repaired. */
  arguments: z.string(),
  /** JSON text for built-in tools; absent until the call is done. */
  result: z.string().optional(),
  lane,
  status: z.enum(['in_progress', 'completed', 'failed']),
});

/** Whether a message is the answer or notes before it, for providers that make the distinction. */
export const messagePhase = z.enum(['commentary', 'final_answer']);
export type MessagePhase = z.output<typeof messagePhase>;

export const messageItem = z.object({
  ...itemHead('msg', 'message'),
  role: z.literal('assistant'),
  status: z.enum(['in_progress', 'completed', 'incomplete']),
  phase: messagePhase.optional(),
  /** A refusal occurs in responses of plain models only. */
  content: z.array(z.discriminatedUnion('type', [outputText, refusalPart])),
});

/**
 * A call of one of the client's functions (docs/api.md, "Responses of plain models"). The client answers it with the
 * function's output.
 */
export const functionCallItem = z.object({
  ...itemHead('fc', 'function_call'),
  call_id: z.string(),
  name: z.string(),
  /** Present if the function belongs to a namespace. */
  namespace: z.string().optional(),
  /** As the model wrote them: the client has to check whether they are JSON. */
  arguments: z.string(),
  status: z.enum(['in_progress', 'completed', 'incomplete']),
});

/** A call of one of the client's custom tools, which take a text. The client answers it like a function call. */
export const customToolCallItem = z.object({
  ...itemHead('ctc', 'custom_tool_call'),
  call_id: z.string(),
  name: z.string(),
  /** Present if the tool belongs to a namespace. */
  namespace: z.string().optional(),
  input: z.string(),
  status: z.enum(['in_progress', 'completed', 'incomplete']),
});

/** Replaces everything before it in a thread. Accepted in any later `input` of the same user. */
export const compactionItem = z.object({
  ...itemHead('cmp', 'compaction'),
  encrypted_content: z.string(),
});

export const outputItem = z.discriminatedUnion('type', [
  reasoningItem,
  toolCallItem,
  messageItem,
  functionCallItem,
  customToolCallItem,
  compactionItem,
  ...shellItems,
  ...toolSearchItems,
  ...openAiItems,
]);

export type UrlCitation = z.output<typeof urlCitation>;
export type ReasoningItem = z.output<typeof reasoningItem>;
export type ToolCallItem = z.output<typeof toolCallItem>;
export type MessageItem = z.output<typeof messageItem>;
export type MessagePart = MessageItem['content'][number];
export type FunctionCallItem = z.output<typeof functionCallItem>;
export type CustomToolCallItem = z.output<typeof customToolCallItem>;
export type CompactionItem = z.output<typeof compactionItem>;
export type OutputItem = z.output<typeof outputItem>;

/** The text part of a message; undefined if the message is empty or a refusal. */
export function answerPart(message: MessageItem | undefined) {
  const part = message?.content[0];
  return part?.type === 'output_text' ? part : undefined;
}

/** The text of a message, be it an answer or a refusal. */
export function messageText({ content: [part] }: MessageItem): string {
  if (part === undefined) return '';
  return part.type === 'refusal' ? part.refusal : part.text;
}
