import { z } from 'zod';
import { itemHead, lane, openAiItems, shellItems, toolSearchItems } from './openai-items.ts';

/** Output items and their parts (docs/api.md, "The response object"). */

const probable = { token: z.string(), logprob: z.number(), bytes: z.array(z.int().min(0).max(255)) };
/** A token of an answer, how probable it was, and the most probable ones in its place. */
export const tokenLogprob = z.object({ ...probable, top_logprobs: z.array(z.object(probable)) });
export type TokenLogprob = z.output<typeof tokenLogprob>;

/** About what probabilities take as JSON, in characters. */
export function logprobSize(logprobs: readonly TokenLogprob[]): number {
  const size = ({ bytes }: { bytes: readonly number[] }) => 64 + bytes.length * 5;
  return logprobs.reduce((sum, token) => {
    return token.top_logprobs.reduce((more, other) => more + size(other), sum + size(token));
  }, 0);
}

export const urlCitation = z.object({
  /** With OpenAI's items, what cites a file of the user's is a `file_citation`. */
  type: z.enum(['url_citation', 'file_citation']),
  /** Of a `file_citation`. */
  file_id: z.string().optional(),
  filename: z.string().optional(),
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
  /** The words of the source that carry what is cited, as the run was shown them; null where none were found. */
  cited_text: z.string().max(400).nullable(),
  /** Whether `cited_text` says it; `unchecked`: the source was listed by a search and never read. */
  support: z.enum(['quoted', 'partial', 'none', 'unchecked']),
  /** Where it stands in a document of the user's: on which page, or under which headings. */
  page: z.int().positive().optional(),
  section: z.string().optional(),
  /** The value of a structured answer that is cited for, as a JSON Pointer (RFC 6901). */
  path: z.string().optional(),
});

export const reasoningText = z.object({ type: z.literal('reasoning_text'), text: z.string() });
export const outputText = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(urlCitation),
  /** Empty unless the request asked for them. */
  logprobs: z.array(tokenLogprob),
});

/** What stands in place of an answer where a model says that it will not give one. */
export const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });

export const summaryPart = z.object({ type: z.literal('summary_text'), text: z.string() });

export const reasoningItem = z.object({
  ...itemHead('rs', 'reasoning'),
  /** Empty unless the request asked for a summary. */
  summary: z.array(summaryPart),
  content: z.array(reasoningText),
  /** What its provider wants back, for this gateway and user alone; where the request included it. */
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

/** Notes of a model before its answer, or the answer: of providers that tell them apart. */
export const messagePhase = z.enum(['commentary', 'final_answer']);
export type MessagePhase = z.output<typeof messagePhase>;

export const messageItem = z.object({
  ...itemHead('msg', 'message'),
  role: z.literal('assistant'),
  status: z.enum(['in_progress', 'completed', 'incomplete']),
  phase: messagePhase.optional(),
  /** Responses of plain models may have a refusal. */
  content: z.array(z.discriminatedUnion('type', [outputText, refusalPart])),
});

/**
 * A call of a function of the client's own (docs/api.md, "Responses of plain models"). The client answers it with its
 * output.
 */
export const functionCallItem = z.object({
  ...itemHead('fc', 'function_call'),
  call_id: z.string(),
  name: z.string(),
  /** Present where the function stands in one. */
  namespace: z.string().optional(),
  /** As the model wrote them: it is the client's to judge whether they are JSON. */
  arguments: z.string(),
  status: z.enum(['in_progress', 'completed', 'incomplete']),
});

/** A call of a tool of the client's own that takes a text. The client answers it as a function. */
export const customToolCallItem = z.object({
  ...itemHead('ctc', 'custom_tool_call'),
  call_id: z.string(),
  name: z.string(),
  /** Present where the tool stands in one. */
  namespace: z.string().optional(),
  input: z.string(),
  status: z.enum(['in_progress', 'completed', 'incomplete']),
});

/** Stands for all that was said before it: accepted in any later `input` of the same user. */
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

/** The text of a message that answers; undefined of one that is empty or refuses. */
export function answerIn(message: MessageItem | undefined) {
  const part = message?.content[0];
  return part?.type === 'output_text' ? part : undefined;
}

/** What a message says, whatever that is. */
export function messageWords({ content: [part] }: MessageItem): string {
  if (part === undefined) return '';
  return part.type === 'refusal' ? part.refusal : part.text;
}
