import type { RunEvent, UnnumberedEvent } from '../../protocol/events.ts';
import type { OutputItem } from '../../protocol/items.ts';
import type { ResponseObject } from '../../protocol/response.ts';

/**
 * The response object at a point of the log is the fold of its events up to there, and of nothing else. This is one
 * more event; `response` itself is changed.
 */
export function applyEvent(response: ResponseObject | undefined, event: UnnumberedEvent): ResponseObject | undefined {
  if ('response' in event) return event.response;
  if (!response) return undefined;
  switch (event.type) {
    case 'response.output_item.added':
    case 'response.output_item.done':
      response.output[event.output_index] = event.item;
      if (event.item.type === 'message' && event.type === 'response.output_item.done') {
        response.output_text = event.item.content[0]?.text ?? '';
      }
      return response;
    case 'response.content_part.added':
    case 'response.content_part.done':
      return setPart(response, event.output_index, event.part);
    case 'response.reasoning_text.delta':
    case 'response.output_text.delta':
      return addText(response, event.output_index, event.delta);
    case 'response.output_text.annotation.added': {
      const item = response.output[event.output_index];
      if (item?.type === 'message') item.content[0]?.annotations.push(event.annotation);
      return response;
    }
    // Their text is that of the deltas.
    case 'response.reasoning_text.done':
    case 'response.output_text.done':
      return response;
  }
}

type Part = Extract<RunEvent, { type: 'response.content_part.added' }>['part'];

function setPart(response: ResponseObject, index: number, part: Part): ResponseObject {
  const item = response.output[index];
  if (item?.type === 'message' && part.type === 'output_text') item.content[0] = part;
  if (item?.type === 'reasoning' && part.type === 'reasoning_text') item.content[0] = part;
  return response;
}

/** Adds a delta to the text of an item. */
export function addText(response: ResponseObject, index: number, delta: string): ResponseObject {
  const item: OutputItem | undefined = response.output[index];
  const part = item?.type === 'tool_call' ? undefined : item?.content[0];
  if (part) part.text += delta;
  if (item?.type === 'message') response.output_text = part?.text ?? '';
  return response;
}
