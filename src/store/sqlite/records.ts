import type { DatabaseSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import type { RunId } from '../../base/ids.ts';
import { type NewRun, type RunRecord, type RunSummary, recordOf } from '../run-store.ts';
import type { OpenRuns } from './open-runs.ts';
import { integer, type Row, text, toSummary } from './rows.ts';

/** Size of the record cache, in UTF-16 code units of requests and metadata. */
const MAX_CACHE_UNITS = 8 * 1024 * 1024;
/** Larger records are not cached: they would evict too many others. */
const MAX_RECORD_UNITS = MAX_CACHE_UNITS / 16;
/** What a record takes in addition to its request and metadata. */
const RECORD_OVERHEAD = 1000;

/**
 * Reads and writes `runs` and `requests`. The caller provides the transaction. Records are cached for clients that
 * poll: only this process changes or removes them, and `OpenRuns` has whatever can still change of an open run.
 */
export class SqliteRecords {
  readonly #db: DatabaseSync;
  readonly #open: OpenRuns;
  readonly #cache = new LRUCache<RunId, RunRecord>({
    maxSize: MAX_CACHE_UNITS,
    maxEntrySize: MAX_RECORD_UNITS,
    sizeCalculation: ({ request, metadata }) => RECORD_OVERHEAD + request.length + metadata.length,
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
      get: db.prepare('SELECT * FROM runs WHERE id = ?'),
      getRequest: db.prepare('SELECT body FROM requests WHERE run = ?'),
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

  /** Inserts a run and returns its primary key; undefined if the id exists. */
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
    this.#cache.set(run.id, Object.freeze(recordOf(run)));
    return key;
  }

  get(id: RunId): RunRecord | undefined {
    const cached = this.#cache.get(id);
    if (cached?.endedAt === null) {
      const now = this.#refresh(cached);
      if (now) return now;
    } else if (cached) return cached;
    const row = this.#statements.get.get(id);
    const request = row && (cached?.request ?? this.#requestOf(integer(row, 'key')));
    const record = row && request !== undefined ? { ...this.summary(row), request } : undefined;
    // The transaction in progress may still roll back what was read.
    if (record && !this.#db.isTransaction) this.#cache.set(id, Object.freeze(record));
    return record;
  }

  #requestOf(key: number): string | undefined {
    const row = this.#statements.getRequest.get(key);
    return row && text(row, 'body');
  }

  /** The cached record of an open run with its current `last`; undefined if anything else of it has changed since. */
  #refresh(cached: RunRecord): RunRecord | undefined {
    const run = this.#open.get(cached.id);
    if (!run || run.queued !== (cached.status === 'queued') || run.cancelRequested !== cached.cancelRequested)
      return undefined;
    return run.last === cached.last ? cached : { ...cached, last: run.last };
  }

  /** Removes everything that belongs to a run. False if there is none. */
  remove(id: RunId): boolean {
    this.#cache.delete(id);
    const row = this.#statements.key.get(id);
    if (!row) return false;
    const key = integer(row, 'key');
    for (const statement of this.#statements.remove) statement.run(key);
    return true;
  }

  /** Locates the log of a run; undefined if there is no such run. */
  logOf(id: RunId): { key: number; last: number; compressed: boolean } | undefined {
    const open = this.#open.get(id);
    if (open) return { key: open.key, last: open.last, compressed: false };
    const row = this.findEnded(id);
    return row && { key: integer(row, 'key'), last: integer(row, 'last'), compressed: integer(row, 'sealed') === 1 };
  }

  /** The row that answers late appends and cancels of an ended run, and reads of its log. */
  findEnded(id: RunId): Row | undefined {
    return this.#statements.ended.get(id);
  }

  findExpired(now: number, limit: number): RunId[] {
    return this.#statements.expired.all(now, limit).map((row) => text(row, 'id'));
  }

  /** A write without meaning, to test whether the database can be written to. */
  probe(now: number): void {
    this.#statements.probe.run(now);
  }

  /** Converts a row of `runs` to a list entry. */
  summary(row: Row): RunSummary {
    return toSummary(row, this.#open.get(text(row, 'id'))?.last);
  }
}
