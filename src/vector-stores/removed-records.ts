import { fieldError } from '../base/errors.ts';
import type { Entry, EntryQuery, EntryStore } from '../store/side-stores/entry-store.ts';
import { listNames, OPEN } from './records.ts';

/** How many recent removals a list remembers. */
const MAX_REMOVED = 200;

/** The id after which a page starts, and the parameter that names it. */
export interface ListCursor {
  id: string;
  param: string;
}

/**
 * Remembers a record that is removed from its list: a client that deletes what a page shows then asks for the page
 * after it. `now`: Unix milliseconds; the latest removals are remembered, whatever was removed.
 */
export async function noteRemoval(
  entries: EntryStore,
  list: string,
  { entry: { id, createdAt }, now }: { entry: Entry; now: number },
): Promise<void> {
  const removed = listNames.removedFrom(list);
  // It may have been removed before, at another position.
  await entries.remove(removed, id);
  await entries.add(
    removed,
    { id, state: OPEN, value: String(createdAt), createdAt: now },
    { keepNewest: MAX_REMOVED },
  );
}

/** Resolves a cursor, which may have been removed recently. @throws GatewayError `invalid_parameter`, `store_unavailable`. */
export async function resolveCursor(
  entries: EntryStore,
  list: string,
  { id, param }: ListCursor,
): Promise<NonNullable<EntryQuery['after']>> {
  const entry = await entries.get(list, id);
  if (entry) return entry;
  const note = await entries.get(listNames.removedFrom(list), id);
  if (!note) throw fieldError('invalid_parameter', param, `there is no ${id.slice(0, 80)} in this list.`);
  // Earlier versions stored the creation of the record as that of the note, and no value.
  return { id, createdAt: note.value === '' ? note.createdAt : Number(note.value) };
}
