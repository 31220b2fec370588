import { parseItemId } from '../../base/ids.ts';
import { runInTurn } from '../../base/load/event-loop.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { RunRecord } from '../../store/run-store.ts';

import { readInput } from '../stored/stored-request.ts';

/** An item of a run, as JSON. */
export interface NamedItem {
  id: string;
  json: string;
}

/** The items of a run that have these ids, as JSON. Input and response are read at most once, and only if an id needs them. */
export async function* namedItems(
  run: RunRecord,
  ids: readonly string[],
  response: () => Promise<ResponseObject>,
): AsyncGenerator<NamedItem> {
  const { input, output } = Object.groupBy(ids, (id) =>
    'input' in (parseItemId(id)?.place ?? {}) ? 'input' : 'output',
  );
  yield* itemsWithIds(input && (await runInTurn(() => readInput(run))), new Set(input));
  yield* itemsWithIds(output && (await response()).output, new Set(output));
}

function* itemsWithIds(items: readonly { id?: unknown }[] = [], ids: ReadonlySet<unknown>): Generator<NamedItem> {
  for (const item of items) if (ids.has(item.id)) yield { id: String(item.id), json: JSON.stringify(item) };
}
