import type { RunId } from '../../base/ids.ts';

/**
 * Conversations: ordered items of one user that responses read and append to (docs/api.md, "Conversations"). One
 * contract, several backends, one suite (`test/contract/side-stores.test.ts`). The caller checks who owns a
 * conversation. Times are Unix milliseconds, by the store's clock.
 *
 * Every method may throw `GatewayError('store_unavailable')`.
 */
export interface ConversationStore {
  /** Creates a conversation. Does nothing if the id exists, for a retry after an unknown outcome. */
  create(conversation: NewConversation): Promise<void>;
  get(id: string): Promise<ConversationRecord | undefined>;
  /** False if there is none. */
  setMetadata(id: string, metadata: string, options: { keepMs: number }): Promise<boolean>;
  /** Removes a conversation with its items. False if there is none. */
  delete(id: string): Promise<boolean>;
  /** Appends all items or none. `full`: there would be more than `max`. An item whose id exists stays as it is. */
  add(
    id: string,
    items: readonly ConversationItem[],
    options: { keepMs: number; max: { items: number; bytes: number } },
  ): Promise<'added' | 'missing' | 'full'>;
  /**
   * Reserves the conversation for a run, which alone may `finish` it; repeating it for the same run is fine. Returns
   * the holder if another run has it. `changed`: no run holds it, but its items are no longer those of `version`.
   */
  hold(
    id: string,
    run: RunId,
    options: { keepMs: number; version: number },
  ): Promise<'held' | 'missing' | 'changed' | { run: RunId; heldMs: number }>;
  /**
   * Appends the items of the run that holds the conversation and releases it, in one step: retries, by whomever, have
   * no further effect. False if this run does not hold it (any more).
   */
  finish(id: string, run: RunId, items: readonly ConversationItem[], options: { keepMs: number }): Promise<boolean>;
  /**
   * Items in order; `asc` is oldest first. `after`: an item, or the place of one that was removed. `unknown_cursor`: the
   * conversation has no such item.
   */
  items(
    id: string,
    page: { limit: number; order: 'asc' | 'desc'; after?: string | number | undefined },
  ): Promise<{ items: ConversationItem[]; hasMore: boolean } | 'unknown_cursor'>;
  /** `place`: for `items`, even if the item was removed. No later item gets the same one. */
  item(id: string, item: string): Promise<(ConversationItem & { place: number }) | undefined>;
  /** False if there is none. */
  removeItem(id: string, item: string, options: { keepMs: number }): Promise<boolean>;
}

/** An item as JSON text, which holds its id. */
export interface ConversationItem {
  id: string;
  json: string;
}

/** A conversation to create. It is removed `keepMs` milliseconds after its last change. */
export interface NewConversation {
  /** A UUID. */
  id: string;
  user: string;
  createdAt: number;
  /** JSON text. */
  metadata: string;
  items: readonly ConversationItem[];
  keepMs: number;
}

export interface ConversationRecord {
  id: string;
  user: string;
  createdAt: number;
  metadata: string;
  /** Number of items, and their bytes together. */
  items: number;
  bytes: number;
  /** Increases with every item that is added or removed. */
  version: number;
  /** The run that holds it, and for how long it has held it. */
  holder: { run: RunId; heldMs: number } | null;
}

/** The bytes of items as they count toward the limit. */
export function bytesOf(items: readonly ConversationItem[]): number {
  return items.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
}
