import type { DatabaseSync } from 'node:sqlite';
import type { FileRecord, FileStore } from '../../beside/file-store.ts';
import { integer, integerOrNull, type Row, text } from '../rows.ts';
import type { Writer } from '../writer.ts';

/** What is known of files, in the database of the runs. */
export class SqliteFiles implements FileStore {
  readonly #options: { writer: Writer; read<T>(read: () => T): T };
  readonly #statements;

  constructor(db: DatabaseSync, options: { writer: Writer; read<T>(read: () => T): T }) {
    this.#options = options;
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
      expired: db.prepare('SELECT * FROM files WHERE expires_at <= ? ORDER BY expires_at LIMIT ?'),
    };
  }

  add: FileStore['add'] = (file, { most }) =>
    this.#options.writer.run(() => {
      const { id, user, name, purpose, type, bytes, createdAt, expiresAt } = file;
      if (this.#statements.get.get(id)) return 'added';
      if (integer(this.#statements.used.get(user) ?? {}, 'used') + bytes > most) return 'full';
      this.#statements.insert.run(id, user, name, purpose, type, bytes, createdAt, expiresAt);
      return 'added';
    });

  get: FileStore['get'] = async (id) =>
    this.#options.read(() => {
      const row = this.#statements.get.get(id);
      return row && recordOf(row);
    });

  list: FileStore['list'] = async ({ user, limit, order, after, purpose = '' }) =>
    this.#options.read(() => {
      const first = order === 'asc' ? 0 : Number.MAX_SAFE_INTEGER;
      const [at, id] = after ? [after.createdAt, after.id] : [first, ''];
      const rows = this.#statements[order].all(user, purpose, purpose, at, id, limit + 1);
      return { files: rows.slice(0, limit).map(recordOf), hasMore: rows.length > limit };
    });

  remove: FileStore['remove'] = (id) =>
    this.#options.writer.run(() => Number(this.#statements.remove.run(id).changes) > 0);

  expired: FileStore['expired'] = async ({ now, limit }) =>
    this.#options.read(() => this.#statements.expired.all(now, limit).map(recordOf));
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
