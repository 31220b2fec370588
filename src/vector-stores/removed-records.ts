import { fieldError } from '../base/errors.ts';
import type { Entry, EntryQuery, EntryStore } from '../store/beside/entry-store.ts';
import { lists, OPEN } from './records.ts';

/** What is known of records of a list that were removed, the last ones. */
const MOST_REMOVED = 200;

/** What a page of a list begins behind, and the parameter that says so. */
export interface Cursor {
  id: string;
  param: string;
}

/**
 * Notes that a record leaves its list: whoever deletes what a page shows asks for the next page behind it. `now`: Unix
 * milliseconds; the notes that are kept are the latest ones, whatever was removed.
 */
export async function noteRemoval(
  entries: EntryStore,
  list: string,
  { entry: { id, createdAt }, now }: { entry: Entry; now: number },
): Promise<void> {
  const removed = lists.removedFrom(list);
  // It may have been here before, in another place.
  await entries.remove(removed, id);
  await entries.add(removed, { id, state: OPEN, value: String(createdAt), createdAt: now }, { newest: MOST_REMOVED });
}

/** Where a page of a list begins: behind a record that is there, or was. @throws GatewayError `not_found`, `store_unavailable`. */
export async function placeInList(
  entries: EntryStore,
  list: string,
  { id, param }: Cursor,
): Promise<NonNullable<EntryQuery['after']>> {
  const entry = await entries.get(list, id);
  if (entry) return entry;
  const note = await entries.get(lists.removedFrom(list), id);
  if (!note) throw fieldError('not_found', param, `there is no ${id.slice(0, 80)} in this list.`);
  // Notes of earlier versions were made at the time of what left, and have no value.
  return { id, createdAt: note.value === '' ? note.createdAt : Number(note.value) };
}
