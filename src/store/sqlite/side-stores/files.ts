import type { DatabaseSync } from 'node:sqlite';
import type { FileRecord, FileStore } from '../../side-stores/file-store.ts';
import { integer, integerOrNull, type Row, text } from '../rows.ts';
import { SqlitePart, type SqliteParts } from './part.ts';

/** Metadata of files, in the database of the runs. */
export class SqliteFiles extends SqlitePart implements FileStore {
  readonly #statements;

  constructor(db: DatabaseSync, parts: SqliteParts) {
    super(parts);
    const page = (order: 'asc' | 'desc', sign: '<' | '>') =>
      db.prepare(
        `SELECT * FROM files WHERE user = ? AND (? = '' OR purpose = ?) AND (created_at, id) ${sign} (?, ?) ` +
          `ORDER BY created_at ${order}, id ${order} LIMIT ?`,
      );
    this.#statements = {
      insert: db.prepare(
        'INSERT INTO files (id, user, name, purpose, type, bytes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ' +
          'ON CONFLICT (id) DO NOTHING',
      ),
      used: db.prepare('SELECT coalesce(sum(bytes), 0) AS used FROM files WHERE user = ?'),
      get: db.prepare('SELECT * FROM files WHERE id = ?'),
      asc: page('asc', '>'),
      desc: page('desc', '<'),
      remove: db.prepare('DELETE FROM files WHERE id = ?'),
      setExpiry: db.prepare('UPDATE files SET expires_at = ? WHERE id = ?'),
      expired: db.prepare('SELECT * FROM files WHERE expires_at <= ? ORDER BY expires_at LIMIT ? OFFSET ?'),
    };
  }

  add: FileStore['add'] = (file, { maxBytes }) =>
    this.transact(() => {
      const { id, user, name, purpose, type, bytes, createdAt, expiresAt } = file;
      if (this.#statements.get.get(id)) return 'added';
      if (integer(this.#statements.used.get(user) ?? {}, 'used') + bytes > maxBytes) return 'full';
      this.#statements.insert.run(id, user, name, purpose, type, bytes, createdAt, expiresAt);
      return 'added';
    });

  get: FileStore['get'] = (id) =>
    this.query(() => {
      const row = this.#statements.get.get(id);
      return row && recordOf(row);
    });

  list: FileStore['list'] = ({ user, limit, order, after, purpose = '' }) =>
    this.query(() => {
      const first = order === 'asc' ? 0 : Number.MAX_SAFE_INTEGER;
      const [at, id] = after ? [after.createdAt, after.id] : [first, ''];
      const rows = this.#statements[order].all(user, purpose, purpose, at, id, limit + 1);
      return { files: rows.slice(0, limit).map(recordOf), hasMore: rows.length > limit };
    });

  remove: FileStore['remove'] = (id) => this.transact(() => Number(this.#statements.remove.run(id).changes) > 0);

  setExpiry: FileStore['setExpiry'] = ({ id, expiresAt }) =>
    this.transact(() => void this.#statements.setExpiry.run(expiresAt, id));

  expired: FileStore['expired'] = ({ now, limit, skip }) =>
    this.query(() => this.#statements.expired.all(now, limit, skip).map(recordOf));
}

function recordOf(row: Row): FileRecord {
  return {
    id: text(row, 'id'),
    user: text(row, 'user'),
    name: text(row, 'name'),
    purpose: text(row, 'purpose'),
    type: text(row, 'type'),
    bytes: integer(row, 'bytes'),
    createdAt: integer(row, 'created_at'),
    expiresAt: integerOrNull(row, 'expires_at'),
  };
}
