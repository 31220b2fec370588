import { parseItemId } from '../../base/ids.ts';
import { inItsTurn } from '../../base/load/event-loop.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { RunRecord } from '../../store/run-store.ts';
import type { NamedItem } from '../runs.ts';
import { readInput } from '../stored/stored-request.ts';

/** The items of a run that have these ids, as JSON. Its input and its response are read once, where they are named. */
export async function* namedItems(
  run: RunRecord,
  ids: readonly string[],
  response: () => Promise<ResponseObject>,
): AsyncGenerator<NamedItem> {
  const { input, output } = Object.groupBy(ids, (id) =>
    'input' in (parseItemId(id)?.place ?? {}) ? 'input' : 'output',
  );
  yield* foundAmong(input && (await inItsTurn(() => readInput(run))), new Set(input));
  yield* foundAmong(output && (await response()).output, new Set(output));
}

function* foundAmong(items: readonly { id?: unknown }[] = [], ids: ReadonlySet<unknown>): Generator<NamedItem> {
  for (const item of items) if (ids.has(item.id)) yield { id: String(item.id), json: JSON.stringify(item) };
}
