import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../base/clock.ts';
import type { RunId } from '../../base/ids.ts';
import type { AppendBatch, AppendResult } from '../run-store.ts';
import { restoreOnRollback, type SqliteClaims } from './claims.ts';
import type { OpenRun } from './open-runs.ts';
import { integer, type Row, text } from './rows.ts';
import { StoredLogs } from './stored-logs.ts';
import type { Transaction } from './writer.ts';

/** Refers to the log of an ended run. */
export interface LogRef {
  id: RunId;
  key: number;
  last: number;
}

/** Writes event logs and transcripts. The caller provides the transaction. */
export class SqliteLog extends StoredLogs {
  readonly #claims: SqliteClaims;
  readonly #clock: Clock;
  readonly #statements;

  constructor(db: DatabaseSync, options: { claims: SqliteClaims; clock: Clock }) {
    super(db);
    this.#claims = options.claims;
    this.#clock = options.clock;
    this.#statements = {
      insert: db.prepare('INSERT INTO batches (run, first, last, end, frames) VALUES (?, ?, ?, ?, ?)'),
      insertEntry: db.prepare('INSERT INTO transcript (run, entry) VALUES (?, ?)'),
      end: db.prepare(
        'UPDATE runs SET status = ?, ended_at = ?, expires_at = ?, last = ?, attempts = 0, token = ?, ' +
          'listed = coalesce(?, listed) WHERE key = ?',
      ),
      uncompressed: db.prepare(
        'SELECT key, id, last FROM runs WHERE ended_at <= ? AND sealed = 0 AND ended_at IS NOT NULL ORDER BY ended_at LIMIT ?',
      ),
      markCompressed: db.prepare('UPDATE runs SET sealed = 1 WHERE key = ? AND id = ? AND sealed = 0'),
      leaveUncompressed: db.prepare('UPDATE runs SET sealed = 2 WHERE key = ? AND id = ?'),
      insertCompressed: db.prepare('INSERT INTO sealed_logs (run, log) VALUES (?, ?)'),
      removeBatches: db.prepare('DELETE FROM batches WHERE run = ?'),
    };
  }

  insertFirst(key: number, count: number, frames: Uint8Array): void {
    if (count > 0) this.#statements.insert.run(key, 1, count, 0, frames);
  }

  /** Appends to an open run. Every check precedes the first write. */
  append(run: OpenRun, batch: AppendBatch, transaction: Transaction): AppendResult {
    const refusal = refusalOf(run, batch);
    if (refusal) return refusal;

    restoreOnRollback(run, transaction);
    const { transcript, end } = batch;
    if (batch.count > 0) {
      run.last = batch.first + batch.count - 1;
      this.#statements.insert.run(run.key, batch.first, run.last, end ? 1 : 0, batch.frames);
    }
    if (transcript && transcript.length > 0) {
      for (const entry of transcript) this.#statements.insertEntry.run(run.key, entry);
      run.entries += transcript.length;
      if (batch.progress && !end && run.attempts !== 0) this.#claims.setAttempts(run, 0);
    }
    if (end) {
      const expiresAt = this.#clock.now() + end.retainMs;
      this.#statements.end.run(end.status, end.at, expiresAt, run.last, batch.token, end.listed ?? null, run.key);
    }
    return { result: 'ok', last: run.last, cancel: run.cancelRequested };
  }

  /** Ended runs with an uncompressed log, oldest first. */
  uncompressed(endedBefore: number, limit: number): LogRef[] {
    const rows = this.#statements.uncompressed.all(endedBefore, limit);
    return rows.map((row) => ({ id: text(row, 'id'), key: integer(row, 'key'), last: integer(row, 'last') }));
  }

  /** Replaces the batches with the compressed log. False if the run was removed meanwhile. */
  replaceBatches(run: LogRef, compressed: Uint8Array): boolean {
    // The key alone is not enough: the key of a removed run may be reused.
    if (this.#statements.markCompressed.run(run.key, run.id).changes === 0) return false;
    this.#statements.insertCompressed.run(run.key, compressed);
    this.#statements.removeBatches.run(run.key);
    return true;
  }

  /** Marks a damaged log, so that it does not keep others from being compressed. */
  leaveUncompressed(run: LogRef): void {
    this.#statements.leaveUncompressed.run(run.key, run.id);
  }
}

/** Why an append to an open run is refused; undefined if it is not. */
function refusalOf(run: OpenRun, batch: AppendBatch): AppendResult | undefined {
  if (run.claim?.token !== batch.token) return { result: 'fenced' };
  const { last, cancelRequested } = run;
  if (isRepeat(run, batch)) return { result: 'duplicate', last, cancel: cancelRequested };
  if (batch.first !== last + 1) return { result: 'gap', last };
  if (batch.end && batch.end.status !== 'cancelled' && cancelRequested) return { result: 'cancelled', last };
  return undefined;
}

function isRepeat(run: OpenRun, batch: AppendBatch): boolean {
  if (batch.count > 0) return batch.first + batch.count - 1 <= run.last;
  if (batch.entriesBefore === undefined || batch.transcript === undefined) return false;
  return batch.transcript.length > 0 && batch.entriesBefore + batch.transcript.length <= run.entries;
}

/** The result of an append that comes after the end, from the row of the run. */
export function appendAfterEnd(row: Row | undefined, batch: AppendBatch): AppendResult {
  if (!row) return { result: 'missing' };
  const last = integer(row, 'last');
  if (batch.token !== row.token || batch.count === 0 || batch.first + batch.count - 1 > last)
    return { result: 'closed' };
  return { result: 'duplicate', last, cancel: integer(row, 'cancel_requested') === 1 };
}
