import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../base/clock.ts';
import type { RunId } from '../../base/ids.ts';
import type { KeyHolder, RunRecord, SubmissionKey } from '../run-store.ts';
import { text } from './rows.ts';

/** Submission keys; see `SubmissionKey`. The caller provides the transaction. */
export class SqliteSubmissionKeys {
  readonly #clock: Clock;
  readonly #find: (id: RunId) => RunRecord | undefined;
  readonly #statements;

  constructor(db: DatabaseSync, options: { clock: Clock; find(id: RunId): RunRecord | undefined }) {
    this.#clock = options.clock;
    this.#find = options.find;
    this.#statements = {
      insert: db.prepare(`
        INSERT INTO submission_keys (kind, hash, run_id, fingerprint, ttl, expires_at)
        VALUES (:kind, :hash, :runId, :fingerprint, :ttl, :expiresAt)
        ON CONFLICT (kind, hash) DO UPDATE
          SET run_id = :runId, fingerprint = :fingerprint, ttl = :ttl, expires_at = :expiresAt`),
      find: db.prepare(`
        SELECT run_id, fingerprint FROM submission_keys
        WHERE kind = ? AND hash = ? AND (expires_at IS NULL OR expires_at > ?)`),
      ended: db.prepare('UPDATE submission_keys SET expires_at = ? + ttl WHERE run_id = ? AND expires_at IS NULL'),
      removed: db.prepare("DELETE FROM submission_keys WHERE run_id = ? AND kind = 'retry'"),
      removeExpired: db.prepare(`
        DELETE FROM submission_keys WHERE (kind, hash) IN
          (SELECT kind, hash FROM submission_keys WHERE expires_at <= ? LIMIT ?)`),
    };
  }

  insert(runId: RunId, keys: readonly SubmissionKey[]): void {
    for (const { kind, hash, fingerprint, ttlMs } of keys) {
      const expiresAt = kind === 'retry' ? null : this.#clock.now() + ttlMs;
      this.#statements.insert.run({ kind, hash, runId, fingerprint, ttl: ttlMs, expiresAt });
    }
  }

  find(keys: readonly Pick<SubmissionKey, 'kind' | 'hash'>[]): KeyHolder | undefined {
    for (const { kind, hash } of keys) {
      const row = this.#statements.find.get(kind, hash, this.#clock.now());
      if (!row) continue;
      const runId = text(row, 'run_id');
      return { kind, fingerprint: text(row, 'fingerprint'), runId, run: this.#find(runId) };
    }
    return undefined;
  }

  /** Starts the time to live of the `retry` keys of a run that has ended. */
  onRunEnded(id: RunId): void {
    this.#statements.ended.run(this.#clock.now(), id);
  }

  onRunRemoved(id: RunId): void {
    this.#statements.removed.run(id);
  }

  /** Removes at most `limit` expired keys and returns their number. */
  removeExpired(limit: number): number {
    return Number(this.#statements.removeExpired.run(this.#clock.now(), limit).changes);
  }
}
