import type { RunId } from '../../../base/ids.ts';
import type { UnnumberedEvent } from '../../../protocol/events.ts';
import type { OutputItem } from '../../../protocol/items.ts';

/** Where a new item goes: its run, and its index in the output. */
export interface Position {
  run: RunId;
  index: number;
}

/** An output item, its index in the output, and the events that announce it or its change. */
export interface LogItem<T extends OutputItem = OutputItem> {
  index: number;
  item: T;
  events: UnnumberedEvent[];
}

/** How an event refers to its item. */
export interface Place {
  output_index: number;
  item_id: string;
}

/** An item that begins at `index` of the output, announced as `initial`, and the events that follow at once. */
export function beginItem<T extends OutputItem>(
  index: number,
  item: T,
  { initial = item, events = () => [] }: { initial?: OutputItem; events?(place: Place): UnnumberedEvent[] } = {},
): LogItem<T> {
  const added: UnnumberedEvent = { type: 'response.output_item.added', output_index: index, item: initial };
  return { index, item, events: [added, ...events({ output_index: index, item_id: item.id })] };
}

/** An item that is complete from the start: announced as `initial`, then the given events, then done. */
export function wholeItem<T extends OutputItem>(
  index: number,
  item: T,
  options?: Parameters<typeof beginItem<T>>[2],
): LogItem<T> {
  const { events } = beginItem(index, item, options);
  return { index, item, events: [...events, itemDone(index, item)] };
}

export function itemDone(index: number, item: OutputItem): UnnumberedEvent {
  return { type: 'response.output_item.done', output_index: index, item };
}
