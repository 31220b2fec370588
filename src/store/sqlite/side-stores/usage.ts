import type { DatabaseSync } from 'node:sqlite';
import { boundedCache } from '../../../base/bounded-cache.ts';
import { emptyUsage, USAGE_COUNTS, type UsageRow, type UsageStore } from '../../side-stores/usage-store.ts';
import { integer, text } from '../rows.ts';
import { SqlitePart, type SqliteParts } from './part.ts';

/** Number of sources whose last batch is remembered. */
const MAX_SOURCES = 1000;
const LABELS = ['day', 'key', 'team', 'model', 'tag'] as const;

/** Usage by day, in the database of the runs. */
export class SqliteUsage extends SqlitePart implements UsageStore {
  readonly #statements;
  /** The last batch of each source: a worker that gets no answer sends it again. No worker outlives this process. */
  readonly #lastBatches = boundedCache<string>(MAX_SOURCES);

  constructor(db: DatabaseSync, parts: SqliteParts) {
    super(parts);
    const columns = [...LABELS, ...USAGE_COUNTS];
    this.#statements = {
      add: db.prepare(
        `INSERT INTO usage (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) ` +
          `ON CONFLICT DO UPDATE SET ${USAGE_COUNTS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`,
      ),
      read: db.prepare('SELECT * FROM usage WHERE day >= ? AND day <= ?'),
      removeBefore: db.prepare('DELETE FROM usage WHERE day < ?'),
    };
  }

  add: UsageStore['add'] = (rows, { source, id }) =>
    this.transact((transaction) => {
      const before = this.#lastBatches.get(source);
      if (before === id) return;
      this.#lastBatches.set(source, id);
      transaction.onRollback(() => this.#lastBatches.set(source, before ?? ''));
      for (const row of rows) {
        this.#statements.add.run(...LABELS.map((label) => row[label]), ...USAGE_COUNTS.map((name) => row[name]));
      }
    });

  read: UsageStore['read'] = ({ from, to }) =>
    this.query(() =>
      this.#statements.read.all(from, to).map((row): UsageRow => {
        const [day = '', key = '', team = '', model = '', tag = ''] = LABELS.map((label) => text(row, label));
        const usage = emptyUsage({ day, key, team, model, tag });
        for (const name of USAGE_COUNTS) usage[name] = integer(row, name);
        return usage;
      }),
    );

  removeBefore: UsageStore['removeBefore'] = (day) => this.transact(() => void this.#statements.removeBefore.run(day));
}
