import type { DatabaseSync } from 'node:sqlite';
import { type DeliveryStore, LONGEST_WAIT_MS } from '../../side-stores/delivery-store.ts';
import { integer, text } from '../rows.ts';
import { SqlitePart, type SqliteParts } from './part.ts';

/** The schedule of deliveries or readings, in the database of the runs. */
export class SqliteDeliveries extends SqlitePart implements DeliveryStore {
  readonly #statements;

  constructor(db: DatabaseSync, parts: SqliteParts, table: 'deliveries' | 'readings') {
    super(parts);
    this.#statements = {
      schedule: db.prepare(
        `INSERT INTO ${table} (run, due_at) VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET due_at = min(coalesce(due_at, excluded.due_at), excluded.due_at)`,
      ),
      due: db.prepare(`SELECT run FROM ${table} WHERE due_at <= ? ORDER BY due_at LIMIT ?`),
      early: db.prepare(`SELECT run FROM ${table} WHERE due_at > ? ORDER BY due_at LIMIT ?`),
      postpone: db.prepare(`UPDATE ${table} SET due_at = ? WHERE run = ?`),
      get: db.prepare(`SELECT state FROM ${table} WHERE run = ?`),
      put: db.prepare(
        `INSERT INTO ${table} (run, state, due_at, expires_at) VALUES (?, ?, ?, ?) ` +
          'ON CONFLICT (run) DO UPDATE SET state = excluded.state, due_at = excluded.due_at, expires_at = excluded.expires_at',
      ),
      remove: db.prepare(`DELETE FROM ${table} WHERE run = ?`),
      removeExpired: db.prepare(
        `DELETE FROM ${table} WHERE run IN (SELECT run FROM ${table} WHERE expires_at <= ? AND due_at IS NULL LIMIT ?)`,
      ),
      count: db.prepare(`SELECT count(*) AS waiting FROM ${table} WHERE due_at IS NOT NULL`),
    };
  }

  schedule: DeliveryStore['schedule'] = (run, { dueInMs }) =>
    this.transact(() => void this.#statements.schedule.run(run, this.now() + dueInMs));

  takeDue: DeliveryStore['takeDue'] = async ({ limit, leaseMs }) => {
    const find = () => {
      const now = this.now();
      const due = this.#statements.due.all(now, limit);
      const found = due.length > 0 ? due : this.#statements.early.all(now + LONGEST_WAIT_MS, limit);
      return found.map((row) => text(row, 'run'));
    };
    // Called every second: a transaction that finds nothing costs as much as one that writes.
    if ((await this.query(find)).length === 0) return [];
    return await this.transact(() => {
      const runs = find();
      for (const run of runs) this.#statements.postpone.run(this.now() + leaseMs, run);
      return runs;
    });
  };

  get: DeliveryStore['get'] = (run) => this.query(() => this.#state(run));

  put: DeliveryStore['put'] = (run, { before, state, dueInMs, keepMs }) =>
    this.transact(() => {
      if (this.#state(run) !== before) return false;
      const dueAt = dueInMs === undefined ? null : this.now() + dueInMs;
      this.#statements.put.run(run, state, dueAt, this.now() + keepMs);
      return true;
    });

  remove: DeliveryStore['remove'] = (run) => this.transact(() => void this.#statements.remove.run(run));

  count: DeliveryStore['count'] = () => this.query(() => integer(this.#statements.count.get() ?? {}, 'waiting'));

  /** Removes at most `limit` expired entries that are never due again; their number. Runs in a transaction. */
  removeExpired(limit: number): number {
    return Number(this.#statements.removeExpired.run(this.now(), limit).changes);
  }

  #state(run: string): string | undefined {
    const state = this.#statements.get.get(run)?.state;
    return typeof state === 'string' ? state : undefined;
  }
}
