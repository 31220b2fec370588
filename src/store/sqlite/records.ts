import type { DatabaseSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import type { RunId } from '../../base/ids.ts';
import type { NewRun, RunRecord, RunSummary } from '../run-store.ts';
import type { OpenRuns } from './open-runs.ts';
import { integer, type Row, text, toSummary } from './rows.ts';

/** Memory for records, in UTF-16 code units of their requests and metadata. */
const MAX_KEPT = 8 * 1024 * 1024;
/** Larger records are read anew each time: they would push out too many others. */
const MAX_RECORD = MAX_KEPT / 16;
/** What a record takes beside them. */
const RECORD_SIZE = 1000;

/**
 * Reads and writes of `runs` and `requests`. The caller gives the transaction. Records are kept in memory for those who
 * poll: this process alone changes and removes them, and what can change of one is in `OpenRuns` until it has ended.
 */
export class Records {
  readonly #db: DatabaseSync;
  readonly #open: OpenRuns;
  readonly #kept = new LRUCache<RunId, RunRecord>({
    maxSize: MAX_KEPT,
    maxEntrySize: MAX_RECORD,
    sizeCalculation: ({ request, metadata }) => RECORD_SIZE + request.length + metadata.length,
  });
  readonly #statements;

  constructor(db: DatabaseSync, open: OpenRuns) {
    this.#db = db;
    this.#open = open;
    this.#statements = {
      insert: db.prepare(`
        INSERT INTO runs (id, user, key_id, api, model, kind, status, created_at, started_at, expires_at, claims, attempts,
          last, metadata, listed)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`),
      insertRequest: db.prepare('INSERT INTO requests (run, body) VALUES (?, ?)'),
      get: db.prepare('SELECT runs.*, requests.body FROM runs JOIN requests ON requests.run = runs.key WHERE id = ?'),
      ended: db.prepare('SELECT key, status, last, token, cancel_requested, sealed FROM runs WHERE id = ?'),
      key: db.prepare('SELECT key FROM runs WHERE id = ?'),
      expired: db.prepare(
        'SELECT id FROM runs WHERE ended_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?',
      ),
      remove: [
        'runs WHERE key',
        'requests WHERE run',
        'batches WHERE run',
        'transcript WHERE run',
        'sealed_logs WHERE run',
      ].map((where) => db.prepare(`DELETE FROM ${where} = ?`)),
      probe: db.prepare('INSERT INTO probe (id, at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at = excluded.at'),
    };
  }

  /** The new run's primary key; undefined where the id is taken. */
  insert(run: NewRun): number | undefined {
    const claims = run.claim ? 1 : 0;
    const { changes, lastInsertRowid } = this.#statements.insert.run(
      run.id,
      run.user,
      run.keyId,
      run.api,
      run.model,
      run.kind,
      run.claim ? 'in_progress' : 'queued',
      run.createdAt,
      run.claim ? run.createdAt : null,
      run.expiresAt,
      claims,
      claims,
      run.frameCount,
      run.metadata,
      run.listed,
    );
    if (changes === 0) return undefined;
    const key = Number(lastInsertRowid);
    this.#statements.insertRequest.run(key, run.request);
    return key;
  }

  get(id: RunId): RunRecord | undefined {
    const kept = this.#kept.get(id);
    if (kept?.endedAt === null) {
      const now = this.#unchanged(kept);
      if (now) return now;
    } else if (kept) return kept;
    const row = this.#statements.get.get(id);
    const record = row && { ...this.summary(row), request: text(row, 'body') };
    // What a transaction has written may still be taken back.
    if (record && !this.#db.isTransaction) this.#kept.set(id, Object.freeze(record));
    return record;
  }

  /** The record of an open run as it is now; undefined where it was claimed for the first time, cancelled or ended. */
  #unchanged(kept: RunRecord): RunRecord | undefined {
    const run = this.#open.get(kept.id);
    if (!run || run.queued !== (kept.status === 'queued') || run.cancelRequested !== kept.cancelRequested)
      return undefined;
    return run.last === kept.last ? kept : { ...kept, last: run.last };
  }

  /** Removes everything that belongs to a run. False if there is none. */
  remove(id: RunId): boolean {
    this.#kept.delete(id);
    const row = this.#statements.key.get(id);
    if (!row) return false;
    const key = integer(row, 'key');
    for (const statement of this.#statements.remove) statement.run(key);
    return true;
  }

  /** Where a run's log is, and how long; undefined where there is no such run. */
  logOf(id: RunId): { key: number; last: number; compressed: boolean } | undefined {
    const open = this.#open.get(id);
    if (open) return { key: open.key, last: open.last, compressed: false };
    const row = this.ended(id);
    return row && { key: integer(row, 'key'), last: integer(row, 'last'), compressed: integer(row, 'sealed') === 1 };
  }

  /** What is left to know of an ended run by who comes late. */
  ended(id: RunId): Row | undefined {
    return this.#statements.ended.get(id);
  }

  expired(now: number, limit: number): RunId[] {
    return this.#statements.expired.all(now, limit).map((row) => text(row, 'id'));
  }

  /** A write that changes nothing of meaning. */
  probe(now: number): void {
    this.#statements.probe.run(now);
  }

  /** A row of `runs` as a list shows it. */
  summary(row: Row): RunSummary {
    return toSummary(row, this.#open.get(text(row, 'id'))?.last);
  }
}
