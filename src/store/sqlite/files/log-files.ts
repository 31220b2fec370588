import { closeSync, openSync, readSync, statSync } from 'node:fs';

/** What SQLite's files say of its write-ahead log (https://www.sqlite.org/walformat.html). */

/** Bytes of the index up to the number of frames that are in the database: two copies of its header, then that. */
const INDEX_BYTES = 100;
const HEADER_BYTES = 48;
/** How a write-ahead log begins, but for its last bit. */
const LOG_MAGIC = 0x37_7f_06_82;

export interface LogIndex {
  /** Of the database, in bytes. */
  pageBytes: number;
  frames: number;
  /** How many of them were moved into the database. */
  moved: number;
  /** Pages of the database once all of the log was moved into it. */
  pages: number;
  /** Stands in the header of each frame as well. */
  salt: Buffer;
}

/** The index (`-shm`) of a log that nobody in this process has open. Undefined if there is none, or it is not whole. */
export function readIndex(path: string): LogIndex | undefined {
  return fileSize(path) === undefined ? undefined : parseIndex(readPart(path, { at: 0, length: INDEX_BYTES }));
}

/** The same of an open file. */
export function readOpenIndex(file: number): LogIndex | undefined {
  return parseIndex(readOpen(file, { at: 0, length: INDEX_BYTES }));
}

function parseIndex(bytes: Buffer): LogIndex | undefined {
  const header = bytes.subarray(0, HEADER_BYTES);
  const isWhole = bytes.length === INDEX_BYTES && header.equals(bytes.subarray(HEADER_BYTES, 2 * HEADER_BYTES));
  if (!isWhole || header[12] !== 1) return undefined;
  const pageSize = header.readUInt16LE(14);
  return {
    // 65 536 does not fit.
    pageBytes: pageSize === 1 ? 65_536 : pageSize,
    frames: header.readUInt32LE(16),
    pages: header.readUInt32LE(20),
    salt: header.subarray(32, 40),
    moved: bytes.readUInt32LE(2 * HEADER_BYTES),
  };
}

/** Whether a file begins as a write-ahead log does. */
export function beginsAsLog(path: string): boolean {
  const start = readPart(path, { at: 0, length: 4 });
  return start.length === 4 && (start.readUInt32BE() & ~1) === LOG_MAGIC;
}

/** Bytes of a file; undefined if there is none. */
export function fileSize(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

/** What there is of a part of a file. */
export function readPart(path: string, { at, length }: { at: number; length: number }): Buffer {
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
