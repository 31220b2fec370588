import type { DatabaseSync } from 'node:sqlite';
import type { RunId } from '../../base/ids.ts';
import type { NewRun, RunRecord, RunSummary } from '../run-store.ts';
import type { OpenRuns } from './open-runs.ts';
import { integer, type Row, text, toSummary } from './rows.ts';

/** Reads and writes of `runs` and `requests`. The caller gives the transaction. */
export class Records {
  readonly #open: OpenRuns;
  readonly #statements;

  constructor(db: DatabaseSync, open: OpenRuns) {
    this.#open = open;
    this.#statements = {
      insert: db.prepare(`
        INSERT INTO runs (id, user, key_id, api, model, kind, status, created_at, started_at, expires_at, claims, attempts,
          last, metadata)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`),
      insertRequest: db.prepare('INSERT INTO requests (run, body) VALUES (?, ?)'),
      get: db.prepare('SELECT runs.*, requests.body FROM runs JOIN requests ON requests.run = runs.key WHERE id = ?'),
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
    );
    if (changes === 0) return undefined;
    const key = Number(lastInsertRowid);
    this.#statements.insertRequest.run(key, run.request);
    return key;
  }

  get(id: RunId): RunRecord | undefined {
    const row = this.#statements.get.get(id);
    return row && { ...this.summary(row), request: text(row, 'body') };
  }

  /** Removes everything that belongs to a run. False where there is none. */
  remove(id: RunId): boolean {
    const row = this.#statements.key.get(id);
    if (!row) return false;
    const key = integer(row, 'key');
    for (const statement of this.#statements.remove) statement.run(key);
    return true;
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
