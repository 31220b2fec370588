import type { DatabaseSync } from 'node:sqlite';
import { unavailable } from '../failure.ts';
import { resourceFailure, sqliteFailure } from './failure.ts';

/** How long a job that does many things may take, in milliseconds: the appends of live runs must not wait for it. */
const IN_TIME_MS = 2;

/** What a job may ask of the transaction that it runs in. */
export interface Transaction {
  /** Called once the job's writes are durable, before its promise resolves. Must not throw. */
  onCommit(action: () => void): void;
  /** Puts back state in memory that the job changed. Called in reverse order where the transaction fails. */
  onRollback(action: () => void): void;
}

interface Job {
  /** Runs the work and returns what settles its promise after the commit. */
  work(transaction: Transaction): () => void;
  reject(reason: unknown): void;
}

/**
 * Group commit: the jobs that arrive in one turn of the event loop run in one transaction, in order, and are answered
 * after its COMMIT. Jobs see the writes of earlier ones. A job does all its checks before its first write.
 */
export class Writer {
  readonly #db: DatabaseSync;
  readonly #begin;
  readonly #commit;
  readonly #failed: (thrown: unknown) => void;
  readonly #committed: () => void;
  #jobs: Job[] = [];
  #closed = false;

  /** `failed` is called for every transaction that fails, `committed` for the others. */
  constructor(db: DatabaseSync, options: { failed(thrown: unknown): void; committed(): void }) {
    this.#db = db;
    this.#failed = options.failed;
    this.#committed = options.committed;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
  }

  /**
   * Runs `work` in the next transaction.
   * @throws GatewayError `store_unavailable` where the disk is full or fails, or the store is closed; nothing was
   * written then.
   */
  run<T>(work: (transaction: Transaction) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(unavailable('it is closed'));
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

  /** Commits what is waiting. */
  flush(): void {
    const jobs = this.#jobs;
    if (jobs.length === 0) return;
    this.#jobs = [];
    const failure = this.#transact(jobs);
    if (failure === undefined) return;
    if (jobs.length > 1 && resourceFailure(failure.thrown) === undefined) {
      // One job is at fault; alone it cannot take the others down.
      for (const job of jobs) {
        const own = this.#transact([job]);
        if (own) job.reject(sqliteFailure(own.thrown));
      }
      return;
    }
    for (const job of jobs) job.reject(sqliteFailure(failure.thrown));
  }

  /** Commits what is waiting and refuses everything that comes later. */
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
      // SQLite has rolled back by itself after some failures, a full disk among them.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      this.#failed(thrown);
      return { thrown };
    }
    this.#committed();
    for (const action of commits) action();
    for (const action of settle) action();
    return undefined;
  }
}

/** Works on the first of these, and on as many as there is time for in one transaction; how many. */
export function inTime<T>(all: readonly T[], work: (one: T) => unknown): number {
  const until = performance.now() + IN_TIME_MS;
  let done = 0;
  for (const one of all) {
    work(one);
    done++;
    if (performance.now() > until) break;
  }
  return done;
}
