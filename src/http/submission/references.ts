import { fieldError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Caller, Runs } from '../../runs/runs.ts';

/** References looked up for one request at most: each may read the log of another run. */
const MAX_REFERENCES = 500;
/** What they may name together, in characters of JSON: it stands in memory and in the store. */
const MAX_REFERRED = 32 * 1024 * 1024;

/** Gives the stored item of the caller's own runs. @throws GatewayError `not_found`; `param` names the field. */
export type FindItem = (id: string, param: string) => Promise<JsonObject>;

/** Whose references are looked up, and where. */
export interface Referring {
  runs: Pick<Runs, 'findItems'>;
  caller: Caller;
  /** The field of the items, for errors. */
  field: string;
}

/**
 * Looks up what one request refers to. What `items` name is read ahead, so that a run is read once however many of its
 * items are named. @throws GatewayError `not_found`, `invalid_parameter` where too much is named.
 */
export function boundedLookUp(
  items: readonly { type?: unknown; id?: unknown }[],
  { runs, caller, field }: Referring,
): FindItem {
  const found = new Map<string, string>();
  let [count, length, known] = [0, 0, 0];
  const check = () => {
    if (count <= MAX_REFERENCES && length <= MAX_REFERRED && known <= MAX_REFERRED) return;
    const what = `at most ${MAX_REFERENCES} references can be looked up, to items of 32 MiB together.`;
    throw fieldError('invalid_parameter', field, what);
  };
  const read = async (ids: readonly string[]) => {
    for await (const { id, json } of runs.findItems(caller, ids)) {
      found.set(id, json);
      known += json.length;
      check();
    }
  };
  const named = new Set(items.flatMap(({ type, id }) => (type === 'item_reference' ? [String(id)] : [])));
  let ahead: Promise<void> | undefined;
  return async (id, param) => {
    ahead ??= read([...named].slice(0, MAX_REFERENCES));
    await ahead;
    if (!found.has(id)) await read([id]);
    const json = found.get(id);
    if (json === undefined) throw fieldError('not_found', param, 'there is no item with this id.');
    count += 1;
    length += json.length;
    check();
    return JSON.parse(json);
  };
}
