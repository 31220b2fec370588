import type { DatabaseSync } from 'node:sqlite';
import {
  bytesOf,
  type ConversationItem,
  type ConversationRecord,
  type ConversationStore,
} from '../../side-stores/conversation-store.ts';
import { integer, integerOrNull, type Row, text } from '../rows.ts';
import { SqlitePart, type SqliteParts } from './part.ts';

/** Conversations in the database of the runs. */
export class SqliteConversations extends SqlitePart implements ConversationStore {
  readonly #statements;

  constructor(db: DatabaseSync, parts: SqliteParts) {
    super(parts);
    this.#statements = prepare(db);
  }

  create: ConversationStore['create'] = ({ id, user, createdAt, metadata, items, keepMs }) =>
    this.transact(() => {
      const { changes, lastInsertRowid } = this.#statements.insert.run(
        id,
        user,
        createdAt,
        this.now() + keepMs,
        metadata,
      );
      if (changes > 0) this.#insertItems(Number(lastInsertRowid), items);
    });

  get: ConversationStore['get'] = (id) =>
    this.query(() => {
      const row = this.#find(id);
      return row && this.#record(row);
    });

  setMetadata: ConversationStore['setMetadata'] = (id, metadata, { keepMs }) =>
    this.#change(id, keepMs, (key) => this.#statements.setMetadata.run(metadata, key).changes > 0);

  delete: ConversationStore['delete'] = (id) =>
    this.transact(() => {
      const row = this.#find(id);
      if (!row) return false;
      this.#remove(integer(row, 'key'));
      return true;
    });

  add: ConversationStore['add'] = (id, items, options) =>
    this.transact(() => {
      const row = this.#find(id);
      if (!row) return 'missing';
      const record = this.#record(row);
      if (record.items + items.length > options.max.items) return 'full';
      if (record.bytes + bytesOf(items) > options.max.bytes) return 'full';
      this.#insertItems(integer(row, 'key'), items);
      this.#statements.keep.run(this.now() + options.keepMs, integer(row, 'key'));
      return 'added';
    });

  hold: ConversationStore['hold'] = (id, run, { keepMs, version }) =>
    this.transact(() => {
      const row = this.#find(id);
      if (!row) return 'missing';
      const { holder, ...record } = this.#record(row);
      if (holder && holder.run !== run) return holder;
      if (!holder && record.version !== version) return 'changed';
      this.#statements.hold.run(run, this.now(), this.now() + keepMs, integer(row, 'key'));
      return 'held';
    });

  finish: ConversationStore['finish'] = (id, run, items, { keepMs }) =>
    this.transact(() => {
      const row = this.#find(id);
      if (!row || this.#record(row).holder?.run !== run) return false;
      this.#insertItems(integer(row, 'key'), items);
      this.#statements.hold.run(null, null, this.now() + keepMs, integer(row, 'key'));
      return true;
    });

  items: ConversationStore['items'] = (id, { limit, order, after }) =>
    this.query(() => {
      const row = this.#find(id);
      if (!row) return after === undefined ? { items: [], hasMore: false } : 'unknown_cursor';
      const key = integer(row, 'key');
      const cursor = typeof after === 'string' ? this.#statements.item.get(key, after) : undefined;
      if (typeof after === 'string' && !cursor) return 'unknown_cursor';
      const start = typeof after === 'number' ? after : order === 'asc' ? 0 : Number.MAX_SAFE_INTEGER;
      const place = cursor ? integer(cursor, 'key') : start;
      const rows = this.#statements[order].all(key, place, limit + 1);
      return { items: rows.slice(0, limit).map(itemOf), hasMore: rows.length > limit };
    });

  item: ConversationStore['item'] = (id, item) =>
    this.query(() => {
      const row = this.#find(id);
      const found = row && this.#statements.item.get(integer(row, 'key'), item);
      return found && { ...itemOf(found), place: integer(found, 'key') };
    });

  removeItem: ConversationStore['removeItem'] = (id, item, { keepMs }) =>
    this.#change(id, keepMs, (key) => {
      const row = this.#statements.item.get(key, item);
      if (!row) return false;
      this.#statements.removeItem.run(integer(row, 'key'));
      this.#statements.resize.run(-1, -bytesOf([itemOf(row)]), 1, key);
      return true;
    });

  /** Removes at most `limit` expired conversations. The caller provides the transaction. */
  removeExpired(limit: number): number {
    const rows = this.#statements.expired.all(this.now(), limit);
    for (const row of rows) this.#remove(integer(row, 'key'));
    return rows.length;
  }

  /** False if `change` changed nothing, or there is no such conversation. */
  #change(id: string, keepMs: number, change: (key: number) => boolean): Promise<boolean> {
    return this.transact(() => {
      const row = this.#find(id);
      if (!row || !change(integer(row, 'key'))) return false;
      this.#statements.keep.run(this.now() + keepMs, integer(row, 'key'));
      return true;
    });
  }

  #find(id: string): Row | undefined {
    return this.#statements.get.get(id, this.now());
  }

  #record(row: Row): ConversationRecord {
    const heldBy = row.held_by === null ? null : text(row, 'held_by');
    return {
      id: text(row, 'id'),
      user: text(row, 'user'),
      createdAt: integer(row, 'created_at'),
      metadata: text(row, 'metadata'),
      items: integer(row, 'items'),
      bytes: integer(row, 'bytes'),
      version: integer(row, 'version'),
      holder: heldBy === null ? null : { run: heldBy, heldMs: this.now() - (integerOrNull(row, 'held_since') ?? 0) },
    };
  }

  #insertItems(key: number, items: readonly ConversationItem[]): void {
    const added = items.filter(({ id, json }) => Number(this.#statements.insertItem.run(key, id, json).changes) > 0);
    this.#statements.resize.run(added.length, bytesOf(added), added.length, key);
  }

  #remove(key: number): void {
    this.#statements.removeItems.run(key);
    this.#statements.remove.run(key);
  }
}

function itemOf(row: Row): ConversationItem {
  return { id: text(row, 'id'), json: text(row, 'json') };
}

function prepare(db: DatabaseSync) {
  const page = 'SELECT id, json FROM conversation_items WHERE conversation = ? AND key';
  return {
    insert: db.prepare(`
      INSERT INTO conversations (id, user, created_at, expires_at, metadata) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (id) DO NOTHING`),
    get: db.prepare('SELECT * FROM conversations WHERE id = ? AND expires_at > ?'),
    resize: db.prepare(
      'UPDATE conversations SET items = items + ?, bytes = bytes + ?, version = version + ? WHERE key = ?',
    ),
    setMetadata: db.prepare('UPDATE conversations SET metadata = ? WHERE key = ?'),
    keep: db.prepare('UPDATE conversations SET expires_at = ? WHERE key = ?'),
    hold: db.prepare('UPDATE conversations SET held_by = ?, held_since = ?, expires_at = ? WHERE key = ?'),
    insertItem: db.prepare(`
      INSERT INTO conversation_items (conversation, id, json) VALUES (?, ?, ?)
      ON CONFLICT (conversation, id) DO NOTHING`),
    item: db.prepare('SELECT key, id, json FROM conversation_items WHERE conversation = ? AND id = ?'),
    asc: db.prepare(`${page} > ? ORDER BY key LIMIT ?`),
    desc: db.prepare(`${page} < ? ORDER BY key DESC LIMIT ?`),
    removeItem: db.prepare('DELETE FROM conversation_items WHERE key = ?'),
    expired: db.prepare('SELECT key FROM conversations WHERE expires_at <= ? ORDER BY expires_at LIMIT ?'),
    removeItems: db.prepare('DELETE FROM conversation_items WHERE conversation = ?'),
    remove: db.prepare('DELETE FROM conversations WHERE key = ?'),
  };
}
