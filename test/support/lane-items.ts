import assert from 'node:assert/strict';
import type { RunEvent } from '../../src/protocol/events.ts';

/**
 * Asserts the order that clients rely on: output indexes are consecutive, no item begins while a thought or a message is
 * open, none of another lane begins while calls of a lane are open, and an item keeps the fields it was added with.
 */
export function assertItemsInOrder(events: readonly RunEvent[]): void {
  const open = new Map<number, { type: string; lane: number | undefined }>();
  let next = 0;
  for (const event of events) {
    if (event.type === 'response.output_item.added') {
      const { output_index: index, item } = event;
      assert.equal(index, next++, 'output indexes are consecutive');
      const lane = 'lane' in item ? item.lane : undefined;
      for (const other of open.values()) {
        assert.ok(other.type !== 'reasoning' && other.type !== 'message', `${item.type} begins within ${other.type}`);
        assert.equal(lane, other.lane, 'items of lanes do not interleave');
      }
      open.set(index, { type: item.type, lane });
    } else if (event.type === 'response.output_item.done') {
      const { output_index: index, item } = event;
      assert.equal(
        'lane' in item ? item.lane : undefined,
        open.get(index)?.lane,
        'the lane is there from the beginning',
      );
      assert.ok(open.delete(index), 'an item ends once');
    } else if ('output_index' in event) {
      assert.ok(open.has(event.output_index), `${event.type} of an item that is not open`);
    }
  }
  assert.equal(open.size, 0);
  const last = events.at(-1);
  assert.ok(last && 'response' in last);
  assert.equal(last.response.output.length, next);
}
