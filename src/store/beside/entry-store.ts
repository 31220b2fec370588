/**
 * Lists of small records: keys that operators made, the audit, vector stores and what they hold. What a record means is
 * its owner's; the store knows its place in the list and its state. One contract, several backends, one contract suite
 * (`test/contract/entries.ts`). Times are Unix milliseconds.
 *
 * Every method may throw `GatewayError('store_unavailable')`.
 */
export interface EntryStore {
  /**
   * Adds a record. `there`: one of this id is in the list, and stays as it is. `full`: the list would have more than
   * `most`. With `newest`, those that are older than so many are removed instead.
   */
  add(list: string, entry: Entry, options?: { most?: number; newest?: number }): Promise<'added' | 'there' | 'full'>;
  get(list: string, id: string): Promise<Entry | undefined>;
  /** Puts `entry` in the place of `before`. False, and nothing is changed, where another has it, or nothing. */
  replace(list: string, entry: Entry, options: { before: Entry }): Promise<boolean>;
  /** False if there was none. */
  remove(list: string, id: string): Promise<boolean>;
  /** Records in the order of their creation, ties in a stable order. */
  page(list: string, query: EntryQuery): Promise<{ entries: Entry[]; hasMore: boolean }>;
  /** How many there are in each state. */
  counts(list: string): Promise<Record<string, number>>;
  /** Removes all of a list. */
  clear(list: string): Promise<void>;
  /** A number that grows with each change of the list; 0 while it is empty. */
  revision(list: string): Promise<number>;
}

export interface Entry {
  /** One of it is in a list. */
  id: string;
  state: string;
  /** Some kilobytes at most. */
  value: string;
  createdAt: number;
}

export interface EntryQuery {
  /** 1 to 10 000. */
  limit: number;
  order: 'asc' | 'desc';
  /** Only records behind this one in the order of the list. */
  after?: Pick<Entry, 'id' | 'createdAt'> | undefined;
  /** Only records in this state. */
  state?: string | undefined;
}
