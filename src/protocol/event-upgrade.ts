import type { RunEvent } from './events.ts';
import type { MessagePart, OutputItem, UrlCitation } from './items.ts';
import type { ResponseObject } from './response.ts';

/**
 * A stored event as it is written today. What later versions require of responses, items and citations, and logs of
 * earlier ones lack, is added here and nowhere else; the stored bytes stay what they are.
 */
export function upgradeEvent(event: RunEvent): RunEvent {
  switch (event.type) {
    case 'response.output_text.annotation.added':
      return { ...event, annotation: upgradeCitation(event.annotation) };
    case 'response.content_part.added':
    case 'response.content_part.done':
      return event.part.type === 'output_text' ? { ...event, part: upgradePart(event.part) } : event;
    case 'response.output_item.added':
    case 'response.output_item.done':
      return { ...event, item: upgradeItem(event.item) };
    default:
      return 'response' in event ? { ...event, response: upgradeResponse(event.response) } : event;
  }
}

function upgradeResponse(response: ResponseObject): ResponseObject {
  return {
    ...response,
    output: response.output.map(upgradeItem),
    plan: response.plan ?? null,
    warnings: response.warnings ?? [],
    claims: response.claims ?? null,
  };
}

function upgradeItem(item: OutputItem): OutputItem {
  return item.type === 'message' ? { ...item, content: item.content.map(upgradePart) } : item;
}

function upgradePart(part: MessagePart): MessagePart {
  if (part.type === 'refusal') return part;
  return { ...part, annotations: part.annotations.map(upgradeCitation) };
}

/**
 * Markers bore the number of their source before they were numbered in the order of reading, and sentences were not held
 * against their sources.
 */
function upgradeCitation(citation: UrlCitation): UrlCitation {
  const { index = citation.source_id, cited_text = null, support = 'unchecked' } = citation;
  return { ...citation, index, cited_text, support };
}
