import { isJsonObject, type JsonValue, parseJson } from '../../base/json.ts';
import type { OutputItem } from '../../protocol/items.ts';
import { hasSourceNumbers } from '../../research/run/own-tools.ts';

/** A day or a month in ISO 8601, with or without a time after it. */
const DATE = /^\d{4}-\d\d(?:-\d\d)?(?!\d)/;

/**
 * When sources were published, by their id in the tool results, if those tell. A page's own date takes precedence over one
 * from a search.
 */
export function sourceDates(output: readonly OutputItem[]): Map<number, string> {
  const listed = new Map<number, string>();
  const read = new Map<number, string>();
  for (const item of output) {
    if (item.type !== 'tool_call' || !item.result?.includes('"published"')) continue;
    const result = parseJson(item.result);
    if (!isJsonObject(result) || !hasSourceNumbers(item, result)) continue;
    add(read, result);
    if (Array.isArray(result.results)) for (const found of result.results) add(listed, found);
  }
  return new Map([...listed, ...read]);
}

function add(dates: Map<number, string>, source: JsonValue): void {
  if (!isJsonObject(source)) return;
  const { source_id: id, published } = source;
  if (typeof id !== 'number' || typeof published !== 'string') return;
  const date = DATE.exec(published)?.[0];
  if (date !== undefined && !dates.has(id)) dates.set(id, date);
}
