import { fieldError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Runs } from '../../runs/runs.ts';
import type { Caller } from '../../runs/submission.ts';

/** The most references of one request: each may read the log of another run. */
const MAX_REFERENCES = 500;
/** The most that all of them may refer to, in characters of JSON: it is kept in memory and in the store. */
const MAX_CHARACTERS = 32 * 1024 * 1024;

/** Finds a stored item of the caller's own runs. @throws GatewayError `not_found`; `param` names the field. */
export type FindItem = (id: string, param: string) => Promise<JsonObject>;

/** Whose references are looked up, and in which runs. */
export interface ReferenceContext {
  runs: Pick<Runs, 'findItems'>;
  caller: Caller;
  /** The field of the items, for errors. */
  field: string;
}

/**
 * Creates the lookup for the references of one request. All references in `items` are read together on the first lookup,
 * so that each run is read only once. @throws GatewayError `not_found`, `invalid_parameter` if there are too many.
 */
export function createItemLookup(
  items: readonly { type?: unknown; id?: unknown }[],
  { runs, caller, field }: ReferenceContext,
): FindItem {
  const found = new Map<string, string>();
  let [count, length, loaded] = [0, 0, 0];
  const check = () => {
    if (count <= MAX_REFERENCES && length <= MAX_CHARACTERS && loaded <= MAX_CHARACTERS) return;
    const what = `at most ${MAX_REFERENCES} references can be looked up, to items of 32 MiB together.`;
    throw fieldError('invalid_parameter', field, what);
  };
  const read = async (ids: readonly string[]) => {
    for await (const { id, json } of runs.findItems(caller, ids)) {
      found.set(id, json);
      loaded += json.length;
      check();
    }
  };
  const named = new Set(items.flatMap(({ type, id }) => (type === 'item_reference' ? [String(id)] : [])));
  let prefetch: Promise<void> | undefined;
  return async (id, param) => {
    prefetch ??= read([...named].slice(0, MAX_REFERENCES));
    await prefetch;
    if (!found.has(id)) await read([id]);
    const json = found.get(id);
    if (json === undefined) throw fieldError('not_found', param, 'there is no item with this id.');
    count += 1;
    length += json.length;
    check();
    return JSON.parse(json);
  };
}
