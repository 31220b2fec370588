import type { Clock } from '../../../base/clock.ts';
import type { Transaction, Writer } from '../writer.ts';

/** What the side stores share of the database. */
export interface SqliteParts {
  writer: Writer;
  clock: Clock;
  /** Runs a read; it throws what callers of the store expect. */
  read<T>(read: () => T): T;
}

/** Base class of the side stores. */
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
