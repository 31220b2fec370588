import { z } from 'zod';

/**
 * Lists of small records: keys that operators created, the audit log, vector stores and their contents. What a record
 * means is up to its owner; the store knows only its state and its place in the list. One contract, several backends,
 * one suite (`test/contract/entries.ts`). Times are Unix milliseconds.
 *
 * Every method may throw `GatewayError('store_unavailable')`.
 */
export interface EntryStore {
  /**
   * Adds a record. `there`: the list already has one of this id, which stays as it is. `full`: the list would have more
   * than `max`. With `keepNewest`, the oldest records beyond that number are removed instead.
   */
  add(list: string, entry: Entry, options?: { max?: number; keepNewest?: number }): Promise<'added' | 'there' | 'full'>;
  get(list: string, id: string): Promise<Entry | undefined>;
  /** Replaces `before` with `entry`. False, and nothing changes, if the record is no longer `before`. */
  replace(list: string, entry: Entry, options: { before: Entry }): Promise<boolean>;
  /** False if there is none. */
  remove(list: string, id: string): Promise<boolean>;
  /** Records in order of creation, ties in a stable order. */
  page(list: string, query: EntryQuery): Promise<{ entries: Entry[]; hasMore: boolean }>;
  counts(list: string): Promise<Record<string, number>>;
  /** Removes all records of a list. */
  clear(list: string): Promise<void>;
  /** A number that increases with each change of the list; 0 while the list is empty. */
  revision(list: string): Promise<number>;
}

export const entryRecord = z.object({
  /** Unique within a list. */
  id: z.string(),
  state: z.string(),
  /** A few kilobytes at most. */
  value: z.string(),
  createdAt: z.int(),
});
export type Entry = z.output<typeof entryRecord>;

export interface EntryQuery {
  /** 1 to 10 000. */
  limit: number;
  order: 'asc' | 'desc';
  /** Only records that follow this one in the list; it may be gone. */
  after?: Pick<Entry, 'id' | 'createdAt'> | undefined;
  /** Only records in this state. */
  state?: string | undefined;
}
