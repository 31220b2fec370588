import { LRUCache } from 'lru-cache';

/**
 * A cache of the `max` latest entries. It grows with them: with the library's own `max`, 10 000 entries cost 1.5 ms of
 * CPU and 300 KB at the start of every process, used or not.
 */
export function boundedCache<Value extends {}>(max: number): LRUCache<string, Value> {
  return new LRUCache<string, Value>({ maxSize: max, sizeCalculation: () => 1 });
}
