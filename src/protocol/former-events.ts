import type { RunEvent } from './events.ts';
import type { MessagePart, OutputItem, UrlCitation } from './items.ts';
import type { ResponseObject } from './response.ts';

/**
 * A stored event as it is written today. What later versions require of responses, items and citations, and logs of
 * earlier ones lack, is added here and nowhere else; the stored bytes stay what they are.
 */
export function asWrittenNow(event: RunEvent): RunEvent {
  switch (event.type) {
    case 'response.output_text.annotation.added':
      return { ...event, annotation: citationNow(event.annotation) };
    case 'response.content_part.added':
    case 'response.content_part.done':
      return event.part.type === 'output_text' ? { ...event, part: partNow(event.part) } : event;
    case 'response.output_item.added':
    case 'response.output_item.done':
      return { ...event, item: itemNow(event.item) };
    default:
      return 'response' in event ? { ...event, response: responseNow(event.response) } : event;
  }
}

function responseNow(response: ResponseObject): ResponseObject {
  return {
    ...response,
    output: response.output.map(itemNow),
    plan: response.plan ?? null,
    warnings: response.warnings ?? [],
    claims: response.claims ?? null,
  };
}

function itemNow(item: OutputItem): OutputItem {
  return item.type === 'message' ? { ...item, content: item.content.map(partNow) } : item;
}

function partNow(part: MessagePart): MessagePart {
  if (part.type === 'refusal') return part;
  return { ...part, annotations: part.annotations.map(citationNow) };
}

/**
 * Markers bore the number of their source before they were numbered in the order of reading, and sentences were not held
 * against their sources.
 */
function citationNow(citation: UrlCitation): UrlCitation {
  const { index = citation.source_id, cited_text = null, support = 'unchecked' } = citation;
  return { ...citation, index, cited_text, support };
}
