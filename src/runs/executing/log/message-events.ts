import { itemId } from '../../../base/ids.ts';
import type { UnnumberedEvent } from '../../../protocol/events.ts';
import {
  answerPart,
  logprobSize,
  type MessageItem,
  type MessagePart,
  type MessagePhase,
  messageText,
  type TokenLogprob,
  type UrlCitation,
} from '../../../protocol/items.ts';
import { beginItem, itemDone, type LogItem, type Position } from './log-item.ts';

/** How the message of an answer appears in a log. */

/** The message that is being written. */
export interface OpenMessage {
  index: number;
  item: MessageItem;
  /** Whether it is a refusal. */
  refuses: boolean;
  text: string;
  annotations: UrlCitation[];
  logprobs: TokenLogprob[];
}

function partOf({ refuses, text, annotations, logprobs }: Omit<OpenMessage, 'index' | 'item'>): MessagePart {
  return refuses ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations, logprobs };
}

/** A message without text, and the events that open it and its part. */
export function openMessage(
  { refuses, phase }: { refuses: boolean; phase?: MessagePhase | undefined },
  { run, index }: Position,
): { open: OpenMessage; events: UnnumberedEvent[] } {
  const id = itemId('msg', run, { output: index });
  const base = { id, type: 'message', role: 'assistant', ...(phase && { phase }) } as const;
  const item: MessageItem = { ...base, status: 'in_progress', content: [] };
  const part = partOf({ refuses, text: '', annotations: [], logprobs: [] });
  const { events } = beginItem(index, item, {
    events: ({ item_id, output_index }) => [
      { type: 'response.content_part.added', item_id, output_index, content_index: 0, part },
    ],
  });
  return { open: { index, item, refuses, text: '', annotations: [], logprobs: [] }, events };
}

/** A message that a crash left open, to be continued. */
export function reopenMessage(item: MessageItem, index: number): OpenMessage {
  const { annotations = [], logprobs = [] } = answerPart(item) ?? {};
  const refuses = item.content[0]?.type === 'refusal';
  return { index, item, refuses, text: messageText(item), annotations: [...annotations], logprobs: [...logprobs] };
}

export function closeMessage(open: OpenMessage, status: 'completed' | 'incomplete'): LogItem<MessageItem> {
  const { index, refuses, text, logprobs } = open;
  const part = partOf(open);
  const item: MessageItem = { ...open.item, status, content: [part] };
  const place = { item_id: item.id, output_index: index, content_index: 0 };
  return {
    index,
    item,
    events: [
      refuses
        ? { type: 'response.refusal.done', ...place, refusal: text }
        : { type: 'response.output_text.done', ...place, text, logprobs },
      { type: 'response.content_part.done', ...place, part },
      itemDone(index, item),
    ],
  };
}

/** As many leading logprobs as fit into `room` characters. */
export function fittingLogprobs(logprobs: readonly TokenLogprob[], room: number): TokenLogprob[] {
  let size = 0;
  const end = logprobs.findIndex((token) => {
    size += logprobSize([token]);
    return size > room;
  });
  return logprobs.slice(0, end === -1 ? logprobs.length : end);
}
