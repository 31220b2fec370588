import type { SQLOutputValue } from 'node:sqlite';
import type { Logger } from '../../base/logger.ts';
import { RUN_APIS, RUN_KINDS, RUN_STATUSES, type RunStatus, type RunSummary } from '../run-store.ts';

/** A row as `node:sqlite` returns it. */
export type Row = Record<string, SQLOutputValue>;

export function integer(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === 'number') return value;
  throw wrongColumn(column);
}

export function integerOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : integer(row, column);
}

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === 'string') return value;
  throw wrongColumn(column);
}

export function blob(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (value instanceof Uint8Array) return value;
  throw wrongColumn(column);
}

/** Reads a run; undefined if its rows hold unexpected values, which is logged. */
export function unlessUnreadable<T>(read: () => T, { run, log }: { run: unknown; log: Logger }): T | undefined {
  try {
    return read();
  } catch (thrown) {
    // A number beyond those of JavaScript is a `RangeError`.
    if (!(thrown instanceof TypeError || thrown instanceof RangeError)) throw thrown;
    log.error({ run, err: thrown.message }, 'a run cannot be read, and is passed over');
    return undefined;
  }
}

function wrongColumn(column: string): TypeError {
  return new TypeError(`The database holds an unexpected value in column ${column}.`);
}

function oneOf<T extends string>(values: readonly T[], row: Row, column: string): T {
  const value = values.find((candidate) => candidate === row[column]);
  if (value === undefined) throw wrongColumn(column);
  return value;
}

export function statusOf(row: Row): RunStatus {
  return oneOf(RUN_STATUSES, row, 'status');
}

/** Converts a row of `runs`. `last` is passed for an open run, whose row lags behind. */
export function toSummary(row: Row, last: number = integer(row, 'last')): RunSummary {
  return {
    id: text(row, 'id'),
    user: text(row, 'user'),
    keyId: text(row, 'key_id'),
    api: oneOf(RUN_APIS, row, 'api'),
    model: text(row, 'model'),
    kind: oneOf(RUN_KINDS, row, 'kind'),
    status: statusOf(row),
    createdAt: integer(row, 'created_at'),
    startedAt: integerOrNull(row, 'started_at'),
    endedAt: integerOrNull(row, 'ended_at'),
    expiresAt: integer(row, 'expires_at'),
    cancelRequested: integer(row, 'cancel_requested') === 1,
    last,
    metadata: text(row, 'metadata'),
    listed: text(row, 'listed'),
  };
}
