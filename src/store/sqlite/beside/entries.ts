import type { DatabaseSync } from 'node:sqlite';
import type { Entry, EntryStore } from '../../beside/entry-store.ts';
import { integer, type Row, text } from '../rows.ts';
import type { Writer } from '../writer.ts';

/** Lists of small records, in the database of the runs. */
export class SqliteEntries implements EntryStore {
  readonly #options: { writer: Writer; read<T>(read: () => T): T };
  readonly #statements;

  constructor(db: DatabaseSync, options: { writer: Writer; read<T>(read: () => T): T }) {
    this.#options = options;
    const page = (order: 'asc' | 'desc', where = '') => {
      const sign = order === 'asc' ? '>' : '<';
      return db.prepare(
        `SELECT * FROM entries WHERE list = ? ${where} AND (created_at, id) ${sign} (?, ?) ` +
          `ORDER BY created_at ${order}, id ${order} LIMIT ?`,
      );
    };
    this.#statements = {
      insert: db.prepare('INSERT INTO entries (list, id, state, value, created_at) VALUES (?, ?, ?, ?, ?)'),
      get: db.prepare('SELECT * FROM entries WHERE list = ? AND id = ?'),
      update: db.prepare(
        'UPDATE entries SET state = ?, value = ? WHERE list = ? AND id = ? AND state = ? AND value = ?',
      ),
      remove: db.prepare('DELETE FROM entries WHERE list = ? AND id = ?'),
      removeOldest: db.prepare(
        'DELETE FROM entries WHERE list = ? AND id IN (SELECT id FROM entries WHERE list = ? ORDER BY created_at, id LIMIT ?)',
      ),
      clear: db.prepare('DELETE FROM entries WHERE list = ?'),
      size: db.prepare('SELECT count(*) AS size FROM entries WHERE list = ?'),
      counts: db.prepare('SELECT state, count(*) AS size FROM entries WHERE list = ? GROUP BY state'),
      asc: page('asc'),
      desc: page('desc'),
      ascInState: page('asc', 'AND state = ?'),
      descInState: page('desc', 'AND state = ?'),
      change: db.prepare(
        'INSERT INTO entry_lists (list, revision) VALUES (?, 1) ON CONFLICT (list) DO UPDATE SET revision = revision + 1',
      ),
      revision: db.prepare('SELECT revision FROM entry_lists WHERE list = ?'),
    };
  }

  add: EntryStore['add'] = (list, { id, state, value, createdAt }, { most, newest } = {}) =>
    this.#options.writer.run(() => {
      if (this.#statements.get.get(list, id)) return 'there';
      const limit = most ?? newest;
      const over = limit === undefined ? 0 : this.#size(list) + 1 - limit;
      if (most !== undefined && over > 0) return 'full';
      if (over > 0) this.#statements.removeOldest.run(list, list, over);
      this.#statements.insert.run(list, id, state, value, createdAt);
      this.#statements.change.run(list);
      return 'added';
    });

  get: EntryStore['get'] = async (list, id) =>
    this.#options.read(() => {
      const row = this.#statements.get.get(list, id);
      return row && entryOf(row);
    });

  replace: EntryStore['replace'] = (list, { id, state, value }, { before }) =>
    this.#options.writer.run(() =>
      this.#changed(list, this.#statements.update.run(state, value, list, id, before.state, before.value)),
    );

  remove: EntryStore['remove'] = (list, id) =>
    this.#options.writer.run(() => this.#changed(list, this.#statements.remove.run(list, id)));

  page: EntryStore['page'] = async (list, { limit, order, after, state }) =>
    this.#options.read(() => {
      const behind = after ? [after.createdAt, after.id] : [order === 'asc' ? -1 : Number.MAX_SAFE_INTEGER, ''];
      const statement = this.#statements[state === undefined ? order : (`${order}InState` as const)];
      const rows = statement.all(list, ...(state === undefined ? [] : [state]), ...behind, limit + 1);
      return { entries: rows.slice(0, limit).map(entryOf), hasMore: rows.length > limit };
    });

  counts: EntryStore['counts'] = async (list) =>
    this.#options.read(() =>
      Object.fromEntries(this.#statements.counts.all(list).map((row) => [text(row, 'state'), integer(row, 'size')])),
    );

  clear: EntryStore['clear'] = (list) =>
    this.#options.writer.run(() => void this.#changed(list, this.#statements.clear.run(list)));

  revision: EntryStore['revision'] = async (list) =>
    this.#options.read(() => Number(this.#statements.revision.get(list)?.revision ?? 0));

  #changed(list: string, { changes }: { changes: number | bigint }): boolean {
    if (Number(changes) === 0) return false;
    this.#statements.change.run(list);
    return true;
  }

  #size(list: string): number {
    return integer(this.#statements.size.get(list) ?? {}, 'size');
  }
}

function entryOf(row: Row): Entry {
  return {
    id: text(row, 'id'),
    state: text(row, 'state'),
    value: text(row, 'value'),
    createdAt: integer(row, 'created_at'),
  };
}
