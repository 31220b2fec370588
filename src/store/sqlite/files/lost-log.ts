import { rmSync, writeFileSync } from 'node:fs';
import { fileSize, readIndex, readPart } from './log-files.ts';

/**
 * SQLite takes a write-ahead log that is gone or cut for an empty or shorter one, and what was stored last is lost without a
 * word. Two witnesses tell: a file that stands beside the database while it is open, and the index of the log (`-shm`), which
 * a killed process leaves as it was.
 */

const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** What is wrong with the log of the database at `path`, which nobody has open; undefined where nothing is known to be lost. */
export function lostLog(path: string): string | undefined {
  try {
    return find(path);
  } catch {
    // SQLite says better what cannot be read.
    return undefined;
  }
}

function find(path: string): string | undefined {
  const wal = `${path}-wal`;
  const size = fileSize(wal);
  const index = readIndex(`${path}-shm`);
  // Everything that was in it is in the database.
  if (index && index.frames <= index.moved) return undefined;
  if (size === undefined) return index || fileSize(markOf(path)) !== undefined ? 'is missing' : undefined;
  if (!index) return undefined;
  const last = LOG_HEADER_BYTES + (index.frames - 1) * (FRAME_HEADER_BYTES + index.pageBytes);
  if (size < last + FRAME_HEADER_BYTES + index.pageBytes) return 'was cut off';
  return readPart(wal, { at: last + 8, length: 8 }).equals(index.salt) ? undefined : 'is another one';
}

/** Says that the database is open, and that its log is there. */
export function markOpen(path: string): void {
  try {
    writeFileSync(markOf(path), '', { mode: 0o600 });
  } catch {
    // The disk may be full: whoever writes next says so.
  }
}

/** Says that it was closed in order: what was in its log is in the database. */
export function markClosed(path: string): void {
  rmSync(markOf(path), { force: true });
}

function markOf(path: string): string {
  return `${path}-open`;
}
