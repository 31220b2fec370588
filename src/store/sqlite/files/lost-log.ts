import { rmSync, writeFileSync } from 'node:fs';
import { fileSize, readLogIndex, readRange } from './log-files.ts';

/**
 * SQLite silently treats a missing or truncated write-ahead log as an empty or shorter one, and the latest writes are
 * lost. Two things reveal it: a marker file that exists while the database is open, and the index of the log (`-shm`),
 * which a killed process leaves behind.
 */

const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** What is wrong with the log of the database at `path`, which nobody has open; undefined if no loss is known. */
export function findLostLog(path: string): string | undefined {
  try {
    return compareWithIndex(path);
  } catch {
    // SQLite reports better what cannot be read.
    return undefined;
  }
}

function compareWithIndex(path: string): string | undefined {
  const wal = `${path}-wal`;
  const size = fileSize(wal);
  const index = readLogIndex(`${path}-shm`);
  // The whole log is already in the database.
  if (index && index.frames <= index.checkpointed) return undefined;
  if (size === undefined) return index || fileSize(markerPath(path)) !== undefined ? 'is missing' : undefined;
  if (!index) return undefined;
  const last = LOG_HEADER_BYTES + (index.frames - 1) * (FRAME_HEADER_BYTES + index.pageBytes);
  if (size < last + FRAME_HEADER_BYTES + index.pageBytes) return 'was cut off';
  return readRange(wal, { at: last + 8, length: 8 }).equals(index.salt) ? undefined : 'is another one';
}

/** Marks the database as open, with a log that must exist. */
export function markOpen(path: string): void {
  try {
    writeFileSync(markerPath(path), '', { mode: 0o600 });
  } catch {
    // If the disk is full, the next write reports it.
  }
}

/** Marks the database as closed properly: its log is checkpointed. */
export function markClosed(path: string): void {
  rmSync(markerPath(path), { force: true });
}

function markerPath(path: string): string {
  return `${path}-open`;
}
