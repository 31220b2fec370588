import { z } from 'zod';
import { outputItem, outputText, reasoningText, refusalPart, summaryPart, tokenLogprob, urlCitation } from './items.ts';
import { openAiEvents, shellEvents } from './openai/items.ts';
import { responseObject } from './response.ts';

/**
 * The events of a run (docs/api.md, "Events"). There are no other types, because newer SDK helpers throw on unknown
 * ones. Events of summaries and of OpenAI's items occur only in runs whose request asked for them.
 */

const numbered = { sequence_number: z.int().positive() };
const ofItem = { ...numbered, output_index: z.int().nonnegative() };
const inItem = { ...ofItem, item_id: z.string() };
const inPart = { ...inItem, content_index: z.int().nonnegative() };
const inSummary = { ...inItem, summary_index: z.literal(0) };
const logprobs = z.array(tokenLogprob);

const part = z.discriminatedUnion('type', [outputText, refusalPart, reasoningText]);

export const runEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('response.created'), ...numbered, response: responseObject }),
  z.object({ type: z.literal('response.in_progress'), ...numbered, response: responseObject }),
  z.object({ type: z.literal('response.output_item.added'), ...ofItem, item: outputItem }),
  z.object({ type: z.literal('response.content_part.added'), ...inPart, part }),
  z.object({ type: z.literal('response.reasoning_text.delta'), ...inPart, delta: z.string() }),
  z.object({ type: z.literal('response.reasoning_text.done'), ...inPart, text: z.string() }),
  z.object({ type: z.literal('response.output_text.delta'), ...inPart, delta: z.string(), logprobs }),
  z.object({
    type: z.literal('response.output_text.annotation.added'),
    ...inPart,
    annotation_index: z.int().nonnegative(),
    annotation: urlCitation,
  }),
  z.object({ type: z.literal('response.output_text.done'), ...inPart, text: z.string(), logprobs }),
  z.object({ type: z.literal('response.refusal.delta'), ...inPart, delta: z.string() }),
  z.object({ type: z.literal('response.refusal.done'), ...inPart, refusal: z.string() }),
  z.object({ type: z.literal('response.content_part.done'), ...inPart, part }),
  z.object({ type: z.literal('response.output_item.done'), ...ofItem, item: outputItem }),
  z.object({ type: z.literal('response.reasoning_summary_part.added'), ...inSummary, part: summaryPart }),
  z.object({ type: z.literal('response.reasoning_summary_text.delta'), ...inSummary, delta: z.string() }),
  z.object({ type: z.literal('response.reasoning_summary_text.done'), ...inSummary, text: z.string() }),
  z.object({ type: z.literal('response.reasoning_summary_part.done'), ...inSummary, part: summaryPart }),
  z.object({ type: z.literal('response.function_call_arguments.delta'), ...inItem, delta: z.string() }),
  z.object({
    type: z.literal('response.function_call_arguments.done'),
    ...inItem,
    name: z.string(),
    arguments: z.string(),
  }),
  z.object({ type: z.literal('response.custom_tool_call_input.delta'), ...inItem, delta: z.string() }),
  z.object({ type: z.literal('response.custom_tool_call_input.done'), ...inItem, input: z.string() }),
  ...shellEvents,
  ...openAiEvents,
  z.object({ type: z.literal('response.completed'), ...numbered, response: responseObject }),
  z.object({ type: z.literal('response.incomplete'), ...numbered, response: responseObject }),
  z.object({ type: z.literal('response.failed'), ...numbered, response: responseObject }),
]);

/** One event of a run's log. */
export type RunEvent = z.output<typeof runEvent>;

/** An event that has no sequence number yet. */
export type UnnumberedEvent = RunEvent extends infer E
  ? E extends RunEvent
    ? Omit<E, 'sequence_number'>
    : never
  : never;

type TerminalType = 'response.completed' | 'response.incomplete' | 'response.failed';

/** Whether an event ends a run's log. */
export function isTerminal<E extends { type: string }>(event: E): event is Extract<E, { type: TerminalType }> {
  return ['response.completed', 'response.incomplete', 'response.failed'].includes(event.type);
}
