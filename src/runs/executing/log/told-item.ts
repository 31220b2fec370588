import type { UnnumberedEvent } from '../../../protocol/events.ts';
import type { OutputItem } from '../../../protocol/items.ts';

/** An item and the events that tell of it. */
export interface ToldItem<T extends OutputItem> {
  item: T;
  events: UnnumberedEvent[];
}

/** What an event says of the item that it is about. */
interface Place {
  output_index: number;
  item_id: string;
}

/** An item that begins as item `index` of its run, shown as `shown`, and what is told of it at once. */
export function begunItem<T extends OutputItem>(
  index: number,
  item: T,
  { shown = item, events = () => [] }: { shown?: OutputItem; events?(place: Place): UnnumberedEvent[] } = {},
): ToldItem<T> {
  const added: UnnumberedEvent = { type: 'response.output_item.added', output_index: index, item: shown };
  return { item, events: [added, ...events({ output_index: index, item_id: item.id })] };
}

/** An item that is told whole: begun as `shown`, what is told of it then, and done. */
export function wholeItem<T extends OutputItem>(
  index: number,
  item: T,
  options?: Parameters<typeof begunItem<T>>[2],
): ToldItem<T> {
  const { events } = begunItem(index, item, options);
  return { item, events: [...events, itemDone(index, item)] };
}

export function itemDone(index: number, item: OutputItem): UnnumberedEvent {
  return { type: 'response.output_item.done', output_index: index, item };
}
