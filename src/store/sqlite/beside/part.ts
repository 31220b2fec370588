import type { Clock } from '../../../base/clock.ts';
import type { Transaction, Writer } from '../writer.ts';

/** What each part gets of the database that the runs are in. */
export interface SqliteParts {
  writer: Writer;
  clock: Clock;
  /** Reads, with failures as callers of the store get them. */
  read<T>(read: () => T): T;
}

/** One part of what is kept beside the runs, in their database. */
export abstract class SqlitePart {
  readonly #parts: SqliteParts;

  constructor(parts: SqliteParts) {
    this.#parts = parts;
  }

  /** Runs `work` in the next transaction. */
  protected transact<T>(work: (transaction: Transaction) => T): Promise<T> {
    return this.#parts.writer.run(work);
  }

  protected async query<T>(work: () => T): Promise<T> {
    return this.#parts.read(work);
  }

  protected now(): number {
    return this.#parts.clock.now();
  }
}
