import { inSlices } from '../../base/load/event-loop.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import type { ContentPart } from '../../protocol/requests/content-parts.ts';
import type { ConversationMessage } from '../run/request.ts';
import { PLAIN_TAG } from '../text/fence.ts';
import { markerAt } from './marker.ts';

/** Makes the markers of earlier answers safe to read for a model: copied, they would cite sources of other numbers. */

/** An answer, or the start of one that was cut off: its text and annotations as the log has them. */
export interface PartialAnswer {
  text: string;
  annotations: readonly UrlCitation[];
}

/**
 * An answer from an offset on, with the numbers that `numberOf` gives to its sources in its markers. Markers without any
 * such number are left out.
 */
export function renumbered(
  { text, annotations }: PartialAnswer,
  numberOf: (source: number) => number | undefined,
  from = 0,
): string {
  let own = '';
  let copied = from;
  for (const [start, marked] of Map.groupBy(annotations, ({ start_index }) => start_index)) {
    if (start < from || text[start] !== '[') continue;
    const numbers = marked.flatMap(({ source_id: id }) => (id === null ? [] : (numberOf(id) ?? [])));
    own += text.slice(copied, start) + (numbers.length === 0 ? '' : `[${numbers.join(', ')}]`);
    copied = marked[0]?.end_index ?? copied;
  }
  return own + text.slice(copied);
}

/** How much text of a thread is read, from its end, in UTF-16 code units. */
const MAX_READ = 1_000_000;

/** Messages without the markers of the assistant, whose sources are not known. What was fenced is data and stays. */
export async function withoutForeignMarkers(messages: readonly ConversationMessage[]): Promise<ConversationMessage[]> {
  let left = MAX_READ;
  const cleanPart = (part: ContentPart): ContentPart => {
    if (part.type !== 'text' || part.text.includes(PLAIN_TAG)) return part;
    left -= part.text.length;
    return left < 0 ? part : { ...part, text: withoutMarkers(part.text) };
  };
  const clean: ConversationMessage[] = [];
  await inSlices(messages.toReversed(), (message) => {
    const isForeign = message.role === 'assistant' && left > 0;
    clean.push(isForeign ? { ...message, content: message.content.map(cleanPart) } : message);
  });
  return clean.reverse();
}

/** Code, which has no markers, or the start of what may be one. */
const CODE_OR_BRACKET = /```[\s\S]*?(?:```|$)|`[^`\n]*`|[[【［]/g;

function withoutMarkers(text: string): string {
  let kept = '';
  let from = 0;
  for (const { index, 0: found } of text.matchAll(CODE_OR_BRACKET)) {
    const marker = found.length === 1 && index >= from ? markerAt(text, index, { final: true }) : undefined;
    if (marker === undefined || marker === 'more') continue;
    kept += text.slice(from, text[index - 1] === ' ' ? Math.max(from, index - 1) : index);
    from = marker.end;
  }
  return kept + text.slice(from);
}
