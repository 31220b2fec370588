import { inSlices } from '../../base/load/event-loop.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import type { ContentPart } from '../../protocol/requests/content-parts.ts';
import { splitDelta } from '../run/live-steps.ts';
import type { ConversationMessage } from '../run/request.ts';
import { PLAIN_TAG } from '../text/fence.ts';
import { type AnswerPart, AnswerScanner } from './answer-scanner.ts';

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

/** Messages without the markers of the assistant, whose sources are not known. What was fenced is data and stays. */
export async function withoutForeignMarkers(messages: readonly ConversationMessage[]): Promise<ConversationMessage[]> {
  const clean: ConversationMessage[] = [];
  for (const { role, content } of messages) {
    const parts = content.map((part) =>
      role === 'assistant' && part.type === 'text' && !part.text.includes(PLAIN_TAG)
        ? withoutMarkers(part.text).then((text): ContentPart => ({ type: 'text', text }))
        : part,
    );
    clean.push({ role, content: await Promise.all(parts) });
  }
  return clean;
}

async function withoutMarkers(text: string): Promise<string> {
  if (!/[[【［]/.test(text)) return text;
  const scanner = new AnswerScanner((raw) => raw.length);
  let rest = '';
  const add = (parts: readonly AnswerPart[]) => {
    for (const part of parts) rest = part.type === 'marker' ? rest.replace(/ $/, '') : rest + part.text;
  };
  await inSlices(splitDelta(text), (piece) => add(scanner.push(piece)));
  add(scanner.end());
  return rest;
}
