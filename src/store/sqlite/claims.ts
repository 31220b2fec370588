import type { DatabaseSync } from 'node:sqlite';
import type { CancelResult, FencingToken } from '../run-store.ts';
import { claimNumber, newToken } from '../token.ts';
import type { OpenRun, OpenRuns } from './open-runs.ts';
import { type Row, statusOf } from './rows.ts';
import type { Transaction } from './writer.ts';

/** Claims of open runs. The caller provides the transaction. */
export class SqliteClaims {
  readonly #open: OpenRuns;
  readonly #statements;

  constructor(db: DatabaseSync, open: OpenRuns) {
    this.#open = open;
    this.#statements = {
      claim: db.prepare(`
        UPDATE runs SET status = 'in_progress', started_at = coalesce(started_at, ?), claims = ?, attempts = ?
        WHERE key = ?`),
      attempts: db.prepare('UPDATE runs SET attempts = ? WHERE key = ?'),
      cancel: db.prepare('UPDATE runs SET cancel_requested = 1 WHERE key = ?'),
    };
  }

  /** Claims the run for a new owner and fences out the former one. */
  claim(
    run: OpenRun,
    options: { leaseMs: number; now: number; claimedAt: number },
    transaction: Transaction,
  ): FencingToken {
    transaction.onRollback(() => this.#open.reclassify(run));
    restoreOnRollback(run, transaction);
    const { now, claimedAt, leaseMs } = options;
    run.claims++;
    run.attempts++;
    run.queued = false;
    this.#open.reclassify(run);
    const token = newToken(run.claims);
    run.claim = { token, until: claimedAt + leaseMs };
    // A run that was cancelled before its first claim never starts; it is claimed only to be ended.
    this.#statements.claim.run(run.cancelRequested ? null : now, run.claims, run.attempts, run.key);
    return token;
  }

  /** Releases the current claim, whose attempt is then not counted. */
  release(run: OpenRun, transaction: Transaction): void {
    restoreOnRollback(run, transaction);
    run.claim = undefined;
    if (run.attempts > 0) this.setAttempts(run, run.attempts - 1);
  }

  /**
   * Stops counting the attempt of a claim that was lost to another owner, if it still counts. The last claim was not: it is
   * released again, because an answer was lost.
   */
  uncountAttempt(run: OpenRun, token: FencingToken, transaction: Transaction): void {
    const number = claimNumber(token);
    if (number >= run.claims || number <= run.claims - run.attempts) return;
    restoreOnRollback(run, transaction);
    this.setAttempts(run, run.attempts - 1);
  }

  setAttempts(run: OpenRun, attempts: number): void {
    run.attempts = attempts;
    this.#statements.attempts.run(attempts, run.key);
  }

  requestCancel(run: OpenRun, transaction: Transaction): void {
    restoreOnRollback(run, transaction);
    run.cancelRequested = true;
    this.#statements.cancel.run(run.key);
  }
}

/** Restores the present state of the run if the transaction fails. */
export function restoreOnRollback(run: OpenRun, transaction: Transaction): void {
  const before = { ...run };
  transaction.onRollback(() => Object.assign(run, before));
}

/** The result of a cancel that comes after the end, from the row of the run. */
export function cancelResultOf(row: Row | undefined): CancelResult {
  if (!row) return { result: 'missing' };
  const status = statusOf(row);
  if (status === 'queued' || status === 'in_progress') return { result: 'missing' };
  return { result: 'ended', status };
}
