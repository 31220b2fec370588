import type { RunId } from '../../base/ids.ts';

/**
 * Conversations: items of one user in the order in which they came, that responses read and add to
 * (docs/api.md, "Conversations"). One contract, several backends, one suite
 * (`test/contract/conversations.test.ts`). Whose a conversation is, is the caller's to look at. Times are Unix
 * milliseconds, by the store's clock.
 *
 * Every method may throw `GatewayError('store_unavailable')`.
 */
export interface ConversationStore {
  /** Creates one; an id that is taken is left as it is, for a repeat after an unknown outcome. */
  create(conversation: NewConversation): Promise<void>;
  get(id: string): Promise<ConversationRecord | undefined>;
  /** False if there is none. */
  setMetadata(id: string, metadata: string, options: { keepMs: number }): Promise<boolean>;
  /** Removes it with its items. False if there was none. */
  delete(id: string): Promise<boolean>;
  /**
   * Adds items behind the others, all or none. `full`: there would be more than `most`, and nothing was added.
   * @throws nothing for an item whose id is there: it is left as it is.
   */
  add(
    id: string,
    items: readonly ConversationItem[],
    options: { keepMs: number; most: { items: number; bytes: number } },
  ): Promise<'added' | 'missing' | 'full'>;
  /**
   * Gives it to a run, which alone may `finish` it; to the same run again and again. Else tells which run has it, and for
   * how long. `changed`: nobody has it, and its items are not those of `version` any more.
   */
  hold(
    id: string,
    run: RunId,
    options: { keepMs: number; version: number },
  ): Promise<'held' | 'missing' | 'changed' | { run: RunId; heldMs: number }>;
  /**
   * Adds what the run that holds it has come to, and lets it go, in one step: however often this is repeated, and by
   * whom, it happens once. False where this run does not hold it (any more).
   */
  finish(id: string, run: RunId, items: readonly ConversationItem[], options: { keepMs: number }): Promise<boolean>;
  /** Items in order, `asc`: the oldest first. `unknown_cursor`: there is no item `after` in it. */
  items(
    id: string,
    page: { limit: number; order: 'asc' | 'desc'; after?: string | undefined },
  ): Promise<{ items: ConversationItem[]; hasMore: boolean } | 'unknown_cursor'>;
  item(id: string, item: string): Promise<ConversationItem | undefined>;
  /** False if there was none. */
  removeItem(id: string, item: string, options: { keepMs: number }): Promise<boolean>;
}

/** An item as JSON text, which holds its id. */
export interface ConversationItem {
  id: string;
  json: string;
}

/** It is removed `keepMs` after the last change. */
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
  /** How many items it has, and their bytes together. */
  items: number;
  bytes: number;
  /** Grows with every item that is added or removed. */
  version: number;
  /** The run that holds it, and for how long. */
  holder: { run: RunId; heldMs: number } | null;
}

/** The bytes of an item as they count. */
export function sizeOf(items: readonly ConversationItem[]): number {
  return items.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
}
