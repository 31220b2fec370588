import type { DatabaseSync } from 'node:sqlite';
import type { Entry, EntryStore } from '../../side-stores/entry-store.ts';
import { integer, type Row, text } from '../rows.ts';
import { SqlitePart, type SqliteParts } from './part.ts';

/** Lists of small records, in the database of the runs. */
export class SqliteEntries extends SqlitePart implements EntryStore {
  readonly #statements;
  #lastChange = 0;

  constructor(db: DatabaseSync, parts: SqliteParts) {
    super(parts);
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
      size: db.prepare('SELECT size FROM entry_lists WHERE list = ?'),
      counts: db.prepare('SELECT state, count(*) AS size FROM entries WHERE list = ? GROUP BY state'),
      asc: page('asc'),
      desc: page('desc'),
      ascInState: page('asc', 'AND state = ?'),
      descInState: page('desc', 'AND state = ?'),
      // Revisions follow the clock, so that a list that was empty in between never repeats one.
      change: db.prepare(
        'INSERT INTO entry_lists (list, revision, size) VALUES (?, ?, ?) ' +
          'ON CONFLICT (list) DO UPDATE SET revision = max(revision + 1, excluded.revision), size = size + excluded.size',
      ),
      forget: db.prepare('DELETE FROM entry_lists WHERE list = ? AND size <= 0'),
      revision: db.prepare('SELECT revision FROM entry_lists WHERE list = ?'),
    };
  }

  add: EntryStore['add'] = (list, { id, state, value, createdAt }, options = {}) =>
    this.transact(() => {
      if (this.#statements.get.get(list, id)) return 'there';
      const limit = options.max ?? options.keepNewest;
      const excess = limit === undefined ? 0 : Number(this.#statements.size.get(list)?.size ?? 0) + 1 - limit;
      if (options.max !== undefined && excess > 0) return 'full';
      const removed = excess > 0 ? Number(this.#statements.removeOldest.run(list, list, excess).changes) : 0;
      this.#statements.insert.run(list, id, state, value, createdAt);
      this.#noteChange(list, 1 - removed);
      return 'added';
    });

  get: EntryStore['get'] = (list, id) =>
    this.query(() => {
      const row = this.#statements.get.get(list, id);
      return row && entryOf(row);
    });

  replace: EntryStore['replace'] = (list, { id, state, value }, { before }) =>
    this.transact(() => {
      const { changes } = this.#statements.update.run(state, value, list, id, before.state, before.value);
      if (Number(changes) > 0) this.#noteChange(list, 0);
      return Number(changes) > 0;
    });

  remove: EntryStore['remove'] = (list, id) =>
    this.transact(() => this.#noteRemoval(list, this.#statements.remove.run(list, id)));

  page: EntryStore['page'] = (list, { limit, order, after, state }) =>
    this.query(() => {
      const start = after ? [after.createdAt, after.id] : [order === 'asc' ? -1 : Number.MAX_SAFE_INTEGER, ''];
      const statement = this.#statements[state === undefined ? order : (`${order}InState` as const)];
      const rows = statement.all(list, ...(state === undefined ? [] : [state]), ...start, limit + 1);
      return { entries: rows.slice(0, limit).map(entryOf), hasMore: rows.length > limit };
    });

  counts: EntryStore['counts'] = (list) =>
    this.query(() =>
      Object.fromEntries(this.#statements.counts.all(list).map((row) => [text(row, 'state'), integer(row, 'size')])),
    );

  clear: EntryStore['clear'] = (list) =>
    this.transact(() => void this.#noteRemoval(list, this.#statements.clear.run(list)));

  revision: EntryStore['revision'] = (list) =>
    this.query(() => Number(this.#statements.revision.get(list)?.revision ?? 0));

  #noteRemoval(list: string, { changes }: { changes: number | bigint }): boolean {
    if (Number(changes) === 0) return false;
    this.#noteChange(list, -Number(changes));
    this.#statements.forget.run(list);
    return true;
  }

  /** Increases the revision of the list, and changes its size by `added`. */
  #noteChange(list: string, added: number): void {
    // Microseconds, and no two changes share one.
    this.#lastChange = Math.max(this.#lastChange + 1, this.now() * 1000);
    this.#statements.change.run(list, this.#lastChange, added);
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
