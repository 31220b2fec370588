import { closeSync, openSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';

/**
 * SQLite takes a write-ahead log that is gone or cut for an empty or shorter one, and what was stored last is lost without a
 * word. Two witnesses tell: a file that stands beside the database while it is open, and the index of the log (`-shm`), which
 * a killed process leaves as it was. The formats are https://sqlite.org/walformat.html.
 */

/** Bytes of the index up to the number of frames that are in the database: two copies of its header, then that. */
const INDEX_BYTES = 100;
const HEADER_BYTES = 48;
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** What is wrong with the log of the database at `path`, which nobody has open; undefined where nothing is known to be lost. */
export function lostLog(path: string): string | undefined {
  try {
    return find(path);
  } catch {
    // What cannot be read is told by SQLite, better.
    return undefined;
  }
}

function find(path: string): string | undefined {
  const wal = `${path}-wal`;
  const size = sizeOf(wal);
  const index = readIndex(`${path}-shm`);
  // Everything that was in it is in the database.
  if (index && index.frames <= index.moved) return undefined;
  if (size === undefined) return index || sizeOf(markOf(path)) !== undefined ? 'is missing' : undefined;
  if (!index) return undefined;
  const last = LOG_HEADER_BYTES + (index.frames - 1) * (FRAME_HEADER_BYTES + index.pageSize);
  if (size < last + FRAME_HEADER_BYTES + index.pageSize) return 'was cut off';
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

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

/** How many frames the log had, and how many of them were moved into the database; undefined where that is not known. */
function readIndex(path: string) {
  if (sizeOf(path) === undefined) return undefined;
  const bytes = readPart(path, { at: 0, length: INDEX_BYTES });
  const header = bytes.subarray(0, HEADER_BYTES);
  const isWhole = bytes.length === INDEX_BYTES && header.equals(bytes.subarray(HEADER_BYTES, 2 * HEADER_BYTES));
  if (!isWhole || header[12] !== 1) return undefined;
  const pageSize = header.readUInt16LE(14);
  return {
    // 65 536 does not fit.
    pageSize: pageSize === 1 ? 65_536 : pageSize,
    frames: header.readUInt32LE(16),
    salt: header.subarray(32, 40),
    moved: bytes.readUInt32LE(2 * HEADER_BYTES),
  };
}

function readPart(path: string, { at, length }: { at: number; length: number }): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, at));
  } finally {
    closeSync(file);
  }
}
