import type { DatabaseSync } from 'node:sqlite';
import { storeUnavailable } from '../failure.ts';
import { resourceReason, sqliteFailure } from './failure.ts';

/** How long a job of many items may take, in milliseconds: the appends of live runs must not wait for it. */
const TIME_SLICE_MS = 2;

/** The transaction that a job runs in. */
export interface Transaction {
  /** Registers an action for when the writes are durable, before the promise of the job resolves. Must not throw. */
  onCommit(action: () => void): void;
  /** Registers an action that restores state in memory. If the transaction fails, actions run in reverse order. */
  onRollback(action: () => void): void;
}

interface Job {
  /** Runs the work and returns the function that resolves its promise after the commit. */
  work(transaction: Transaction): () => void;
  reject(reason: unknown): void;
}

/**
 * Group commit: the jobs of one turn of the event loop run in one transaction, in order, and their promises resolve
 * after its COMMIT. A job sees the writes of earlier ones, and makes all of its checks before its first write.
 */
export class Writer {
  readonly #db: DatabaseSync;
  readonly #begin;
  readonly #commit;
  readonly #onFailure: (thrown: unknown) => void;
  readonly #onCommit: () => void;
  #jobs: Job[] = [];
  #closed = false;

  /** `onFailure` is called for each transaction that fails, `onCommit` for each other one. */
  constructor(db: DatabaseSync, options: { onFailure(thrown: unknown): void; onCommit(): void }) {
    this.#db = db;
    this.#onFailure = options.onFailure;
    this.#onCommit = options.onCommit;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
  }

  /**
   * Runs `work` in the next transaction.
   * @throws GatewayError `store_unavailable` if the disk is full or fails, or the store is closed; then nothing was
   * written.
   */
  run<T>(work: (transaction: Transaction) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(storeUnavailable('it is closed'));
      if (this.#jobs.length === 0) setImmediate(() => this.flush());
      this.#jobs.push({
        work: (transaction) => {
          const value = work(transaction);
          return () => resolve(value);
        },
        reject,
      });
    });
  }

  /** Commits the waiting jobs. */
  flush(): void {
    const jobs = this.#jobs;
    if (jobs.length === 0) return;
    this.#jobs = [];
    const failure = this.#transact(jobs);
    if (failure === undefined) return;
    if (jobs.length > 1 && resourceReason(failure.thrown) === undefined) {
      // One job is at fault. Each runs alone now, so that the others do not fail with it.
      for (const job of jobs) {
        const ownFailure = this.#transact([job]);
        if (ownFailure) job.reject(sqliteFailure(ownFailure.thrown));
      }
      return;
    }
    for (const job of jobs) job.reject(sqliteFailure(failure.thrown));
  }

  /** Commits the waiting jobs and rejects later ones. */
  close(): void {
    this.flush();
    this.#closed = true;
  }

  #transact(jobs: readonly Job[]): { thrown: unknown } | undefined {
    const settle: (() => void)[] = [];
    const commits: (() => void)[] = [];
    const rollbacks: (() => void)[] = [];
    const transaction: Transaction = {
      onCommit: (action) => commits.push(action),
      onRollback: (action) => rollbacks.push(action),
    };
    try {
      this.#begin.run();
      for (const job of jobs) settle.push(job.work(transaction));
      this.#commit.run();
    } catch (thrown) {
      for (const action of rollbacks.reverse()) action();
      // After some failures, such as a full disk, SQLite has already rolled back.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      this.#onFailure(thrown);
      return { thrown };
    }
    this.#onCommit();
    for (const action of commits) action();
    for (const action of settle) action();
    return undefined;
  }
}

/** Runs `work` for the first item and for as many more as a transaction has time for. Returns how many. */
export function forEachInTime<T>(items: readonly T[], work: (item: T) => unknown): number {
  const until = performance.now() + TIME_SLICE_MS;
  let done = 0;
  for (const item of items) {
    work(item);
    done++;
    if (performance.now() > until) break;
  }
  return done;
}
