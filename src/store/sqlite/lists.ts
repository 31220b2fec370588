import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Logger } from '../../base/logger.ts';
import type { Bucket, IndexRange, ListPosition, RunIndexes } from '../list-page.ts';
import type { RunApi, RunSummary } from '../run-store.ts';
import { integer, type Row, text, unlessUnreadable } from './rows.ts';

/** An index entry with the row of its run. */
export interface ListEntry extends ListPosition {
  row: Row;
}

interface OrderedStatements {
  newestFirst: StatementSync;
  oldestFirst: StatementSync;
}

/** The lists of users: an index of all runs of a user and interface, and one by model and bucket (see `Bucket`). */
export class SqliteLists {
  readonly #summary: (row: Row) => RunSummary | undefined;
  readonly #all: OrderedStatements;
  readonly #part: OrderedStatements;
  readonly #models;
  readonly #position;

  constructor(db: DatabaseSync, { summary, log }: { summary(row: Row): RunSummary; log: Logger }) {
    this.#summary = (row) => unlessUnreadable(() => summary(row), { run: row.id, log });
    this.#all = prepare(db, 'user = :user AND api = :api');
    this.#part = prepare(db, 'user = :user AND api = :api AND model = :model AND bucket = :bucket');
    // Skips from model to model along the index instead of scanning all runs.
    this.#models = db.prepare(`
      WITH RECURSIVE models (model) AS (
        SELECT min(model) FROM runs WHERE user = :user AND api = :api
        UNION ALL
        SELECT (SELECT min(runs.model) FROM runs WHERE user = :user AND api = :api AND runs.model > models.model)
        FROM models WHERE models.model IS NOT NULL
      )
      SELECT model FROM models WHERE model IS NOT NULL`);
    this.#position = db.prepare('SELECT created_at, key FROM runs WHERE id = ?');
  }

  indexesOf({ user, api }: { user: string; api: RunApi }): RunIndexes<ListEntry> {
    return {
      models: async () => this.#models.all({ user, api }).map((row) => text(row, 'model')),
      position: async (id) => {
        const row = this.#position.get(id);
        return row && positionOf(row);
      },
      edge: (at, side) => ({ at, tie: side === 'before' ? 0 : Number.MAX_SAFE_INTEGER }),
      entries: async (index, range) =>
        index === 'all'
          ? findEntries(this.#all, { user, api }, range)
          : findEntries(this.#part, { user, api, model: index.model, bucket: index.bucket }, range),
      summaries: async (entries) => entries.map(({ row }) => this.#summary(row)),
    };
  }
}

function prepare(db: DatabaseSync, where: string): OrderedStatements {
  const statement = (beyond: '<' | '>', order: 'ASC' | 'DESC') =>
    db.prepare(`
      SELECT * FROM runs WHERE ${where} AND (created_at, key) ${beyond} (:at, :tie)
      ORDER BY created_at ${order}, key ${order} LIMIT :count`);
  return { newestFirst: statement('<', 'DESC'), oldestFirst: statement('>', 'ASC') };
}

function findEntries(
  statements: OrderedStatements,
  index: { user: string; api: RunApi; model?: string; bucket?: Bucket },
  { newestFirst, from, count }: IndexRange,
): ListEntry[] {
  const at = from?.at ?? (newestFirst ? Number.MAX_SAFE_INTEGER : -1);
  const rows = statements[newestFirst ? 'newestFirst' : 'oldestFirst'].all({
    ...index,
    at,
    tie: from?.tie ?? 0,
    count,
  });
  return rows.map((row) => ({ ...positionOf(row), row }));
}

function positionOf(row: Row): ListPosition {
  return { at: integer(row, 'created_at'), tie: integer(row, 'key') };
}
