import { closeSync, openSync, readSync, statSync } from 'node:fs';

/** Reads the files of SQLite's write-ahead log (https://www.sqlite.org/walformat.html). */

/** Bytes of the index that are read: two copies of its header, and the number of checkpointed frames. */
const INDEX_BYTES = 100;
const HEADER_BYTES = 48;
/** The magic number of a write-ahead log, without its last bit. */
const LOG_MAGIC = 0x37_7f_06_82;

export interface LogIndex {
  /** Page size of the database, in bytes. */
  pageBytes: number;
  frames: number;
  /** How many of the frames were copied into the database. */
  checkpointed: number;
  /** Size of the database in pages once the whole log is checkpointed. */
  pages: number;
  /** Repeated in the header of each frame. */
  salt: Buffer;
}

/** Reads the index (`-shm`) of a log that this process does not have open. Undefined if it is missing or incomplete. */
export function readLogIndex(path: string): LogIndex | undefined {
  return fileSize(path) === undefined ? undefined : parseIndex(readRange(path, { at: 0, length: INDEX_BYTES }));
}

/** Like `readLogIndex`, for an open file. */
export function readOpenLogIndex(file: number): LogIndex | undefined {
  return parseIndex(readOpen(file, { at: 0, length: INDEX_BYTES }));
}

function parseIndex(bytes: Buffer): LogIndex | undefined {
  const header = bytes.subarray(0, HEADER_BYTES);
  const isWhole = bytes.length === INDEX_BYTES && header.equals(bytes.subarray(HEADER_BYTES, 2 * HEADER_BYTES));
  if (!isWhole || header[12] !== 1) return undefined;
  const pageSize = header.readUInt16LE(14);
  return {
    // 1 stands for 65 536, which does not fit.
    pageBytes: pageSize === 1 ? 65_536 : pageSize,
    frames: header.readUInt32LE(16),
    pages: header.readUInt32LE(20),
    salt: header.subarray(32, 40),
    checkpointed: bytes.readUInt32LE(2 * HEADER_BYTES),
  };
}

/** Whether a file starts with the magic number of a write-ahead log. */
export function hasLogMagic(path: string): boolean {
  const start = readRange(path, { at: 0, length: 4 });
  return start.length === 4 && (start.readUInt32BE() & ~1) === LOG_MAGIC;
}

/** Size of a file in bytes; undefined if there is none. */
export function fileSize(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

/** Reads the bytes of a range that exist. */
export function readRange(path: string, { at, length }: { at: number; length: number }): Buffer {
  const file = openSync(path, 'r');
  try {
    return readOpen(file, { at, length });
  } finally {
    closeSync(file);
  }
}

function readOpen(file: number, { at, length }: { at: number; length: number }): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, at));
}
