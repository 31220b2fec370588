import type { GatewayError } from '../../base/errors.ts';
import { storeError, storeReason } from '../failure.ts';

/** Primary SQLite result codes (https://www.sqlite.org/rescode.html) of failures that may pass. */
const REASON_OF_CODE: ReadonlyMap<number, string> = new Map([
  [5, 'the database is locked by another process'],
  [6, 'the database is locked'],
  [7, 'out of memory'],
  [8, 'the database is read-only'],
  [10, 'the disk fails'],
  [13, 'the disk is full'],
  [14, 'the database file cannot be opened'],
]);

/** Why SQLite cannot work right now; undefined if the failure is of another kind. */
export function resourceReason(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number') return undefined;
  return REASON_OF_CODE.get(thrown.errcode & 0xff);
}

/** Whether the file is not a database, or is damaged: SQLITE_CORRUPT and SQLITE_NOTADB. */
export function isDamaged(thrown: Error): boolean {
  return hasCode(thrown, [11, 26]);
}

interface StoreFile {
  folder: string;
  file: 'runs.db' | 'lock.db';
}

/** Adds the folder and the fix to what the system or SQLite threw. Errors without a code already name both. */
export function explainOpenFailure({ folder, file }: StoreFile, thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !('code' in thrown)) return thrown;
  // Errors of the system name the file themselves.
  const what = 'errcode' in thrown ? `${file}: ${thrown.message}` : thrown.message;
  return new Error(`The store folder ${folder} cannot be used: ${what}. ${openingFix(thrown, file)}`, {
    cause: thrown,
  });
}

/** Adds the fix to what the system or SQLite threw when a copy was written to `target`, unless the original is at fault. */
export function explainCopyFailure(target: string, thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !('code' in thrown)) return thrown;
  const isFull = hasCode(thrown, DISK_FULL);
  if ('errcode' in thrown && !isFull) return thrown;
  const fix = isFull
    ? 'Free space on its disk, or name a file on another one.'
    : 'Name a file in a folder that is there, and that this user may write to.';
  return new Error(`${target} cannot be written: ${thrown.message}. ${fix}`, { cause: thrown });
}

/** SQLITE_FULL, and what the system says. */
const DISK_FULL = [13, 'ENOSPC', 'EDQUOT'];

/** How to fix a database that cannot be opened, by the code of SQLite or the system. `lock.db` holds no data. */
function openingFix(thrown: Error, file: StoreFile['file']): string {
  if (isDamaged(thrown)) {
    return file === 'lock.db'
      ? 'Delete lock.db, which holds nothing.'
      : 'Restore runs.db from a backup, or move it away to begin anew.';
  }
  if (hasCode(thrown, ['EISDIR'])) return `Move the directory ${file} away.`;
  if (hasCode(thrown, DISK_FULL)) return 'Free space on its disk, or set store.url to another folder.';
  if (hasCode(thrown, ['EROFS'])) {
    return 'Its file system is read-only: mount it for writing, or set store.url to a folder on another one.';
  }
  // SQLITE_BUSY, SQLITE_LOCKED
  if (hasCode(thrown, [5, 6])) return `Another program has ${file} open: end it, or set store.url to another folder.`;
  return 'Give the folder and its files to this user, or set store.url to a folder that this user may write to.';
}

function hasCode(thrown: Error, codes: readonly (number | string)[]): boolean {
  const primary = 'errcode' in thrown && typeof thrown.errcode === 'number' ? thrown.errcode & 0xff : undefined;
  return codes.some((code) => code === primary || ('code' in thrown && code === thrown.code));
}

/** See `storeError`. */
export function sqliteFailure(thrown: unknown): GatewayError {
  return storeError(thrown, resourceReason);
}

/** The reason that a failed check reports. */
export function sqliteReason(thrown: unknown): string {
  return resourceReason(thrown) ?? storeReason(thrown);
}
