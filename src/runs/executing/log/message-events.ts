import { itemId, type RunId } from '../../../base/ids.ts';
import type { UnnumberedEvent } from '../../../protocol/events.ts';
import { logprobSize, type MessageItem, type TokenLogprob, type UrlCitation } from '../../../protocol/items.ts';

/** How the message of an answer stands in a log. */

/** The message that is being written. */
export interface OpenMessage {
  index: number;
  item: MessageItem;
  text: string;
  annotations: UrlCitation[];
  logprobs: TokenLogprob[];
}

/** A message without text, and the events that open it and its part. */
export function openedMessage(run: RunId, index: number): { open: OpenMessage; events: UnnumberedEvent[] } {
  const id = itemId('msg', run, { output: index });
  const item: MessageItem = { id, type: 'message', role: 'assistant', status: 'in_progress', content: [] };
  const part = { type: 'output_text' as const, text: '', annotations: [], logprobs: [] };
  return {
    open: { index, item, text: '', annotations: [], logprobs: [] },
    events: [
      { type: 'response.output_item.added', output_index: index, item },
      { type: 'response.content_part.added', item_id: id, output_index: index, content_index: 0, part },
    ],
  };
}

/** A message that a crash left open, to be gone on with. */
export function reopenedMessage(item: MessageItem, index: number): OpenMessage {
  const { text = '', annotations = [], logprobs = [] } = item.content[0] ?? {};
  return { index, item, text, annotations: [...annotations], logprobs: [...logprobs] };
}

export function closedMessage(
  { index, text, annotations, logprobs, item: open }: OpenMessage,
  status: 'completed' | 'incomplete',
): { item: MessageItem; events: UnnumberedEvent[] } {
  const part = { type: 'output_text' as const, text, annotations, logprobs };
  const item: MessageItem = { ...open, status, content: [part] };
  const place = { item_id: item.id, output_index: index, content_index: 0 };
  return {
    item,
    events: [
      { type: 'response.output_text.done', ...place, text, logprobs },
      { type: 'response.content_part.done', ...place, part },
      { type: 'response.output_item.done', output_index: index, item },
    ],
  };
}

/** The first probabilities that take no more than `room` characters. */
export function fittingLogprobs(logprobs: readonly TokenLogprob[], room: number): TokenLogprob[] {
  let size = 0;
  const end = logprobs.findIndex((token) => {
    size += logprobSize([token]);
    return size > room;
  });
  return logprobs.slice(0, end === -1 ? logprobs.length : end);
}
