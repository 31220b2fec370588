import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { GatewayError } from '../base/errors.ts';
import { dropUpTo, notContiguous } from './frames.ts';
import type { LogBatch } from './run-store.ts';

/**
 * A finished log as one compressed value. Segments of about `SEGMENT_BYTES` are compressed separately, so that a read
 * decompresses only what it needs. Layout, with 32-bit little-endian integers: `"RGL1"`, the number of segments, for
 * each segment its last sequence number, compressed length and plain length, then the compressed segments. The first
 * event is number 1, and the terminal batch is a segment of its own.
 */
const MAGIC = Buffer.from('RGL1');
const HEADER_BYTES = 8;
const ENTRY_BYTES = 12;

/** Size of a segment before compression. */
export const SEGMENT_BYTES = 256 * 1024;

/** Each segment has a checksum, so damage is an error and never yields other bytes. */
const CHECKED = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Reads the log to compress: `read` and `readLast` of the run store, for one run. */
export interface LogSource {
  read(options: { after: number; maxBytes: number }): LogBatch[] | Promise<LogBatch[]>;
  readLast(): LogBatch | undefined | Promise<LogBatch | undefined>;
}

/** Compresses a finished log. @throws GatewayError `internal_error` if it has no end or is not contiguous. */
export async function compressLog(source: LogSource): Promise<Buffer> {
  const terminal = await source.readLast();
  if (!terminal?.end) throw new GatewayError('internal_error', 'A log without an end cannot be compressed.');
  const segments: { last: number; plain: number; bytes: Buffer }[] = [];
  const add = async (last: number, frames: Uint8Array) => {
    segments.push({ last, plain: frames.length, bytes: await compress(frames, CHECKED) });
  };
  for (let after = 0; after < terminal.first - 1; ) {
    const batches = await source.read({ after, maxBytes: SEGMENT_BYTES });
    if (batches.length === 0) throw notContiguous(after + 1, 'none');
    for (const batch of batches) {
      if (batch.first !== after + 1) throw notContiguous(after + 1, batch.first);
      const last = Math.min(batch.last, terminal.first - 1);
      const tail = batch.last > last ? terminal.frames.length : 0;
      if (last > after) await add(last, batch.frames.subarray(0, batch.frames.length - tail));
      after = last;
    }
  }
  await add(terminal.last, terminal.frames);

  const header = Buffer.alloc(HEADER_BYTES + segments.length * ENTRY_BYTES);
  MAGIC.copy(header);
  header.writeUInt32LE(segments.length, 4);
  for (const [index, { last, plain, bytes }] of segments.entries()) {
    const offset = HEADER_BYTES + index * ENTRY_BYTES;
    header.writeUInt32LE(last, offset);
    header.writeUInt32LE(bytes.length, offset + 4);
    header.writeUInt32LE(plain, offset + 8);
  }
  return Buffer.concat([header, ...segments.map((segment) => segment.bytes)]);
}

/** A stored value that is read in parts. */
export interface StoredBytes {
  /** Length of the value; undefined if there is none. */
  size(): number | undefined | Promise<number | undefined>;
  /** The bytes of this range that exist. */
  range(offset: number, length: number): Buffer | Promise<Buffer>;
}

interface Segment {
  first: number;
  last: number;
  /** Offset of its compressed bytes in the value. */
  offset: number;
  length: number;
  plainLength: number;
  end: boolean;
}

/** How much of a value is read first: a small log, or the table of a log of more than 300 MB. */
const FIRST_READ_BYTES = 16 * 1024;

/** An opened compressed log: its table is in memory, and each read loads the segments that it needs. */
export class CompressedLog {
  readonly #stored: Pick<StoredBytes, 'range'>;
  readonly #segments: readonly Segment[];

  private constructor(stored: Pick<StoredBytes, 'range'>, segments: readonly Segment[]) {
    this.#stored = stored;
    this.#segments = segments;
  }

  /** Undefined if there is no value. @throws GatewayError `internal_error` if the value is damaged. */
  static async open(stored: StoredBytes): Promise<CompressedLog | undefined> {
    const size = await stored.size();
    if (size === undefined) return undefined;
    let head = await stored.range(0, Math.min(size, FIRST_READ_BYTES));
    // The value was removed after its size was read.
    if (head.length === 0 && size > 0) return undefined;
    if (head.length < HEADER_BYTES || !head.subarray(0, 4).equals(MAGIC)) throw damagedLog();
    const count = head.readUInt32LE(4);
    const length = HEADER_BYTES + count * ENTRY_BYTES;
    if (length > size) throw damagedLog();
    if (length > head.length) head = await stored.range(0, length);
    if (head.length === 0) return undefined;
    if (length > head.length) throw damagedLog();
    const segments = readTable(head, { count, size });
    if (head.length < size) return new CompressedLog(stored, segments);
    return new CompressedLog({ range: (offset, bytes) => head.subarray(offset, offset + bytes) }, segments);
  }

  /** See `RunStore.read`. */
  async read(options: { after: number; maxBytes: number }): Promise<LogBatch[]> {
    const wanted: Segment[] = [];
    let bytes = 0;
    for (const segment of this.#segments) {
      if (segment.last <= options.after) continue;
      wanted.push(segment);
      bytes += segment.plainLength;
      if (bytes >= options.maxBytes) break;
    }
    const batches = await this.#batches(wanted);
    return batches.map((batch) => dropUpTo(batch, options.after));
  }

  /** See `RunStore.readLast`. */
  async readLast(): Promise<LogBatch | undefined> {
    return (await this.#batches(this.#segments.slice(-1)))[0];
  }

  /** Consecutive segments as batches; empty if the value was removed meanwhile. */
  async #batches(segments: readonly Segment[]): Promise<LogBatch[]> {
    const [head] = segments;
    const tail = segments.at(-1);
    if (!head || !tail) return [];
    const bytes = await this.#stored.range(head.offset, tail.offset + tail.length - head.offset);
    if (bytes.length === 0) return [];
    return await Promise.all(
      segments.map(async (segment) => {
        const { first, last, end, offset, length } = segment;
        const start = offset - head.offset;
        return { first, last, end, frames: await decompressSegment(bytes.subarray(start, start + length)) };
      }),
    );
  }
}

function readTable(table: Buffer, { count, size }: { count: number; size: number }): Segment[] {
  const segments: Segment[] = [];
  let offset = HEADER_BYTES + count * ENTRY_BYTES;
  let first = 1;
  for (let index = 0; index < count; index++) {
    const entry = HEADER_BYTES + index * ENTRY_BYTES;
    const last = table.readUInt32LE(entry);
    const length = table.readUInt32LE(entry + 4);
    const plainLength = table.readUInt32LE(entry + 8);
    segments.push({ first, last, offset, length, plainLength, end: index === count - 1 });
    first = last + 1;
    offset += length;
  }
  if (offset !== size || count === 0) throw damagedLog();
  return segments;
}

async function decompressSegment(bytes: Buffer): Promise<Uint8Array> {
  try {
    return await decompress(bytes);
  } catch (thrown) {
    throw damagedLog(thrown);
  }
}

function damagedLog(cause?: unknown): GatewayError {
  return new GatewayError('internal_error', 'A compressed event log is damaged.', { cause });
}
