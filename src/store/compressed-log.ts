import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../base/errors.ts';
import type { RunId } from '../base/ids.ts';
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
  /** The decompressed frames, if they were read and are cached. */
  plain: Uint8Array | undefined;
}

/** How much of a value is read first. It holds the table of 5 000 segments, a log of more than a gigabyte. */
const FIRST_READ_BYTES = 64 * 1024;
/** Memory of a table entry, in bytes. */
const SEGMENT_WEIGHT = 100;

/**
 * An opened compressed log. A small one is loaded once and keeps its segments once they are decompressed; of a large
 * one only the table stays in memory, and each read loads the segments that it needs.
 */
export class CompressedLog {
  /** Bytes in memory once everything was read. */
  readonly weight: number;
  readonly #range: StoredBytes['range'];
  readonly #segments: readonly Segment[];
  readonly #isKept: boolean;

  private constructor(parts: { range: StoredBytes['range']; segments: Segment[]; weight: number; isKept: boolean }) {
    this.#range = parts.range;
    this.#segments = parts.segments;
    this.#isKept = parts.isKept;
    this.weight = parts.weight;
  }

  /**
   * `keepUpTo`: largest size in bytes of a log that is kept whole in memory. Undefined if there is no value.
   * @throws GatewayError `internal_error` if the value is damaged.
   */
  static async open(stored: StoredBytes, { keepUpTo }: { keepUpTo: number }): Promise<CompressedLog | undefined> {
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
    const weight = segments.reduce((sum, segment) => sum + segment.plainLength, size);
    if (weight > keepUpTo) {
      const range: StoredBytes['range'] = (offset, bytes) => stored.range(offset, bytes);
      return new CompressedLog({ range, segments, weight: segments.length * SEGMENT_WEIGHT, isKept: false });
    }
    const value = head.length === size ? head : await stored.range(0, size);
    if (value.length === 0) return undefined;
    const range = (offset: number, bytes: number) => value.subarray(offset, offset + bytes);
    return new CompressedLog({ range, segments, weight, isKept: true });
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
    const bytes = await this.#range(head.offset, tail.offset + tail.length - head.offset);
    if (bytes.length === 0) return [];
    return await Promise.all(
      segments.map(async (segment) => {
        const { first, last, end, offset, length } = segment;
        const start = offset - head.offset;
        const frames = segment.plain ?? (await decompressSegment(bytes.subarray(start, start + length)));
        if (this.#isKept) segment.plain = frames;
        return { first, last, end, frames };
      }),
    );
  }
}

/** Recently read compressed logs, bounded by bytes. A compressed log never changes until its run is removed. */
export class CompressedLogCache {
  readonly #keepUpTo: number;
  readonly #logs: LRUCache<RunId, CompressedLog>;

  constructor(maxBytes: number) {
    this.#keepUpTo = maxBytes / 2;
    this.#logs = new LRUCache({ maxSize: maxBytes, sizeCalculation: (log) => log.weight });
  }

  /** The compressed log of a run, cached or opened. Undefined if there is none. */
  async get(id: RunId, stored: StoredBytes): Promise<CompressedLog | undefined> {
    const known = this.#logs.get(id);
    if (known) return known;
    const log = await CompressedLog.open(stored, { keepUpTo: this.#keepUpTo });
    // Another read may have opened it meanwhile.
    const opened = this.#logs.get(id);
    if (!log || opened) return log && opened;
    this.#logs.set(id, log);
    return log;
  }

  forget(id: RunId): void {
    this.#logs.delete(id);
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
    segments.push({ first, last, offset, length, plainLength, end: index === count - 1, plain: undefined });
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
