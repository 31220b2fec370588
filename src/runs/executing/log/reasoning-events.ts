import { itemId } from '../../../base/ids.ts';
import type { UnnumberedEvent } from '../../../protocol/events.ts';
import type { CompactionItem, ReasoningItem } from '../../../protocol/items.ts';
import { itemDone, type LogItem, type Place, type Position, wholeItem } from './log-item.ts';

/**
 * How reasoning appears in a log: as text, as text with the same text as a summary if the request asked for one
 * (`reasoning.summary`), or only as a summary, as in OpenAI's API (`profile: openai`).
 */
export type ReasoningStyle = 'text' | 'text and summary' | 'summary';

/** The delta events of each style. */
export const REASONING_DELTAS = {
  text: ['response.reasoning_text.delta'],
  'text and summary': ['response.reasoning_text.delta', 'response.reasoning_summary_text.delta'],
  summary: ['response.reasoning_summary_text.delta'],
} as const satisfies Record<ReasoningStyle, readonly string[]>;

/** The text of a reasoning item, whatever its style. */
export function textOfReasoning({ content, summary }: ReasoningItem): string {
  return content[0]?.text ?? summary[0]?.text ?? '';
}

export function openParts(style: ReasoningStyle, place: Place): UnnumberedEvent[] {
  const content = { ...place, content_index: 0, part: { type: 'reasoning_text' as const, text: '' } };
  const summary = { ...place, summary_index: 0 as const, part: { type: 'summary_text' as const, text: '' } };
  const events: UnnumberedEvent[] = [];
  if (style !== 'summary') events.push({ type: 'response.content_part.added', ...content });
  if (style !== 'text') events.push({ type: 'response.reasoning_summary_part.added', ...summary });
  return events;
}

export function closeReasoning(
  style: ReasoningStyle,
  open: {
    index: number;
    item: ReasoningItem;
    text: string;
    status: 'completed' | 'incomplete';
    encrypted?: string | undefined;
  },
): LogItem<ReasoningItem> {
  const { index, text, status, encrypted } = open;
  const part = { type: 'reasoning_text' as const, text };
  const summaryPart = { type: 'summary_text' as const, text };
  const item: ReasoningItem = {
    ...open.item,
    summary: style === 'text' ? [] : [summaryPart],
    content: style === 'summary' ? [] : [part],
    ...(encrypted !== undefined && { encrypted_content: encrypted }),
    status,
  };
  const place = { item_id: item.id, output_index: index };
  const content = { ...place, content_index: 0 };
  const summary = { ...place, summary_index: 0 as const };
  const events: UnnumberedEvent[] = [];
  if (style !== 'summary') {
    events.push({ type: 'response.reasoning_text.done', ...content, text });
    events.push({ type: 'response.content_part.done', ...content, part });
  }
  if (style !== 'text') {
    events.push({ type: 'response.reasoning_summary_text.done', ...summary, text });
    events.push({ type: 'response.reasoning_summary_part.done', ...summary, part: summaryPart });
  }
  events.push(itemDone(index, item));
  return { index, item, events };
}

/** A reasoning item whose text the provider does not reveal. */
export function hiddenReasoningLogItem(encrypted: string, { run, index }: Position): LogItem<ReasoningItem> {
  const id = itemId('rs', run, { output: index });
  const initial: ReasoningItem = { id, type: 'reasoning', summary: [], content: [], status: 'in_progress' };
  return wholeItem(index, { ...initial, encrypted_content: encrypted, status: 'completed' }, { initial });
}

/** The item that replaces the part of a thread that was summarised. */
export function compactionLogItem(encrypted: string, { run, index }: Position): LogItem<CompactionItem> {
  const id = itemId('cmp', run, { output: index });
  return wholeItem(index, { id, type: 'compaction', encrypted_content: encrypted });
}
