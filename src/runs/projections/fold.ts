import type { UnnumberedEvent } from '../../protocol/events.ts';
import { answerPart, type OutputItem, type TokenLogprob } from '../../protocol/items.ts';
import { parsePlan, UPDATE_PLAN } from '../../protocol/plan.ts';
import type { ResponseObject } from '../../protocol/response.ts';

/**
 * Folds one more event into a response and returns it; changes `response` in place. The response object at any point of a
 * log is the fold of its events up to there, and of nothing else.
 */
export function applyEvent(response: ResponseObject | undefined, event: UnnumberedEvent): ResponseObject | undefined {
  if ('response' in event) return event.response;
  if (response) foldInto(response, event);
  return response;
}

/** Types of events that repeat what is folded already, or what the item will say when it is done. */
type Repeating =
  | `response.${string}.${'in_progress' | 'searching' | 'interpreting' | 'generating' | 'completed' | 'failed' | 'done'}`
  | `response.${string}_call${string}.${'added' | 'delta'}`;

function foldInto(response: ResponseObject, event: Exclude<UnnumberedEvent, { response: ResponseObject }>): void {
  const item = 'output_index' in event ? response.output[event.output_index] : undefined;
  switch (event.type) {
    case 'response.output_item.added':
    case 'response.output_item.done':
      response.output[event.output_index] = event.item;
      if (event.item.type === 'message' && event.type === 'response.output_item.done') {
        response.output_text = answerPart(event.item)?.text ?? '';
      }
      if (event.item.type === 'tool_call' && event.item.name === UPDATE_PLAN && event.item.status === 'completed') {
        response.plan = parsePlan(event.item.arguments) ?? response.plan;
      }
      return;
    case 'response.content_part.added':
    case 'response.content_part.done':
      if (item?.type === 'message' && event.part.type !== 'reasoning_text') item.content[0] = event.part;
      if (item?.type === 'reasoning' && event.part.type === 'reasoning_text') item.content[0] = event.part;
      return;
    case 'response.reasoning_summary_part.added':
    case 'response.reasoning_summary_part.done':
      if (item?.type === 'reasoning') item.summary[0] = event.part;
      return;
    case 'response.reasoning_text.delta':
    case 'response.reasoning_summary_text.delta':
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      addText(response, event.output_index, event);
      return;
    case 'response.code_interpreter_call_code.done':
      if (item?.type === 'code_interpreter_call') item.code = event.code;
      return;
    case 'response.mcp_call_arguments.done':
      if (item?.type === 'mcp_call') item.arguments = event.arguments;
      return;
    case 'response.output_text.annotation.added':
      if (item?.type === 'message') answerPart(item)?.annotations.push(event.annotation);
      return;
    default:
      event.type satisfies Repeating;
  }
}

/** The types of events that add text. */
export type TextDelta =
  | 'response.reasoning_text.delta'
  | 'response.reasoning_summary_text.delta'
  | 'response.output_text.delta'
  | 'response.refusal.delta';

/** Adds a delta to the text of an item. */
export function addText(
  response: ResponseObject,
  index: number,
  { type, delta, logprobs = [] }: { type: TextDelta; delta: string; logprobs?: readonly TokenLogprob[] },
): void {
  const item: OutputItem | undefined = response.output[index];
  if (item?.type === 'reasoning') {
    const [part] = type === 'response.reasoning_summary_text.delta' ? item.summary : item.content;
    if (part) part.text += delta;
  }
  if (item?.type === 'message') {
    const [part] = item.content;
    if (part?.type === 'refusal') part.refusal += delta;
    else if (part) {
      part.text += delta;
      for (const each of logprobs) part.logprobs.push(each);
    }
    response.output_text = answerPart(item)?.text ?? '';
  }
}
