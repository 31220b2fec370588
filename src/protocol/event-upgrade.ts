import type { RunEvent } from './events.ts';
import type { MessagePart, OutputItem, UrlCitation } from './items.ts';
import type { ResponseObject } from './response.ts';

/**
 * Upgrades a stored event to the current format. Fields of responses, items and citations that logs of earlier versions
 * lack are added here and nowhere else; the stored bytes do not change.
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
    access_programs: response.access_programs ?? null,
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
 * In earlier versions markers carried the number of their source, not their number in the order of reading, and
 * sentences were not checked against their sources.
 */
function upgradeCitation(citation: UrlCitation): UrlCitation {
  const { index = citation.source_id, cited_text = null, support = 'unchecked' } = citation;
  return { ...citation, index, cited_text, support };
}
