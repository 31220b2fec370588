import { fieldError } from '../base/errors.ts';
import type { EntryStore } from './side-stores/entry-store.ts';

/** How many recent removals a list remembers. */
const MAX_REMOVED = 200;

/** The id that a page of a list follows or precedes, and the parameter that names it. */
export interface ListCursor {
  id: string;
  param: string;
}

/** The name of the list of what was recently removed from a list. */
export function removedFrom(list: string): string {
  return `removed from ${list}`;
}

/**
 * Remembers the place of a record that is about to be removed from its list: a client that deletes what a page shows then asks for
 * the page after it. `now`: Unix milliseconds; the latest removals are remembered, whatever was removed.
 */
export async function noteRemoval(
  entries: EntryStore,
  list: string,
  { id, place, now }: { id: string; place: number; now: number },
): Promise<void> {
  const removed = removedFrom(list);
  // It may have been removed before, at another place.
  await entries.remove(removed, id);
  await entries.add(removed, { id, state: 'open', value: String(place), createdAt: now }, { keepNewest: MAX_REMOVED });
}

/**
 * The place of the record that a cursor names: what `find` returns, or where it was before it was removed.
 * @throws GatewayError `invalid_parameter` if it never was in the list, or was removed long ago; `store_unavailable`.
 */
export async function resolveCursor(
  entries: EntryStore,
  list: string,
  { id, param, find }: ListCursor & { find(): Promise<number | undefined> },
): Promise<number> {
  const place = (await find()) ?? (await removedPlace(entries, list, id));
  if (place !== undefined) return place;
  throw fieldError('invalid_parameter', param, `there is no ${id.slice(0, 80)} in this list.`);
}

/** The place of a record that was removed recently. @throws GatewayError `store_unavailable`. */
export async function removedPlace(entries: EntryStore, list: string, id: string): Promise<number | undefined> {
  const note = await entries.get(removedFrom(list), id);
  // Earlier versions stored the place as the creation of the note, and no value.
  return note && (note.value === '' ? note.createdAt : Number(note.value));
}
