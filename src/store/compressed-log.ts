import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../base/errors.ts';
import type { RunId } from '../base/ids.ts';
import { dropUpTo, notContiguous } from './frames.ts';
import type { LogBatch } from './run-store.ts';

/**
 * A finished log as one compressed value. Segments of about `SEGMENT_BYTES` are compressed each alone, so that a read
 * opens only what it needs. Layout, integers of 32 bits little endian:
 * `"RGL1"`, number of segments, for each segment its last sequence number, its compressed and its plain length; then
 * the compressed segments. The first event is number 1, the terminal batch is a segment of its own.
 */
const MAGIC = Buffer.from('RGL1');
const HEADER_BYTES = 8;
const ENTRY_BYTES = 12;

/** How much of a log is compressed together. */
export const SEGMENT_BYTES = 256 * 1024;

/** A checksum per segment, so that damage is an error and never other bytes. */
const CHECKED = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Reads of the log that is compressed: `read` and `readLast` of the run store, for one run. */
export interface LogSource {
  read(options: { after: number; maxBytes: number }): LogBatch[] | Promise<LogBatch[]>;
  readLast(): LogBatch | undefined | Promise<LogBatch | undefined>;
}

/**
 * Compresses a finished log.
 * @throws GatewayError `internal_error` where it has no end or is not contiguous.
 */
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
  /** What there is of this range. */
  range(offset: number, length: number): Buffer | Promise<Buffer>;
}

interface Segment {
  first: number;
  last: number;
  /** Where its compressed bytes stand in the value. */
  offset: number;
  length: number;
  plainLength: number;
  end: boolean;
  /** The frames, once somebody read them, where they are kept. */
  plain: Uint8Array | undefined;
}

/** How much of a value is read first: the table of 5 000 segments, a log of more than a gigabyte. */
const FIRST_READ_BYTES = 64 * 1024;
/** An entry of the table in memory, in bytes. */
const SEGMENT_WEIGHT = 100;

/**
 * A compressed log, opened. One that is small is loaded once and its segments kept as they are decompressed; of a large
 * one only the table is kept, and each read loads the segments that it needs.
 */
export class CompressedLog {
  /** Bytes in memory when everything was read. */
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
   * `keepUpTo`: bytes up to which a log is kept whole. Undefined if there is none.
   * @throws GatewayError `internal_error` where the value is damaged.
   */
  static async open(stored: StoredBytes, { keepUpTo }: { keepUpTo: number }): Promise<CompressedLog | undefined> {
    const size = await stored.size();
    if (size === undefined) return undefined;
    let head = await stored.range(0, Math.min(size, FIRST_READ_BYTES));
    // Removed since it was measured.
    if (head.length === 0 && size > 0) return undefined;
    if (head.length < HEADER_BYTES || !head.subarray(0, 4).equals(MAGIC)) throw damaged();
    const count = head.readUInt32LE(4);
    const length = HEADER_BYTES + count * ENTRY_BYTES;
    if (length > size) throw damaged();
    if (length > head.length) head = await stored.range(0, length);
    if (head.length === 0) return undefined;
    if (length > head.length) throw damaged();
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

  /** Segments that follow each other, as batches. None where the value is gone by now. */
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
        const frames = segment.plain ?? (await open(bytes.subarray(start, start + length)));
        if (this.#isKept) segment.plain = frames;
        return { first, last, end, frames };
      }),
    );
  }
}

/** Compressed logs that were read lately, up to a bound of bytes. One never changes until its run is removed. */
export class CompressedLogs {
  readonly #keepUpTo: number;
  readonly #logs: LRUCache<RunId, CompressedLog>;

  constructor(maxBytes: number) {
    this.#keepUpTo = maxBytes / 2;
    this.#logs = new LRUCache({ maxSize: maxBytes, sizeCalculation: (log) => log.weight });
  }

  /** The run's compressed log, from memory or opened. Undefined if there is none. */
  async get(id: RunId, stored: StoredBytes): Promise<CompressedLog | undefined> {
    const known = this.#logs.get(id);
    if (known) return known;
    const log = await CompressedLog.open(stored, { keepUpTo: this.#keepUpTo });
    // Somebody else may have opened it meanwhile.
    const arrived = this.#logs.get(id);
    if (!log || arrived) return log && arrived;
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
  if (offset !== size || count === 0) throw damaged();
  return segments;
}

async function open(bytes: Buffer): Promise<Uint8Array> {
  try {
    return await decompress(bytes);
  } catch (thrown) {
    throw damaged(thrown);
  }
}

function damaged(cause?: unknown): GatewayError {
  return new GatewayError('internal_error', 'A compressed event log is damaged.', { cause });
}
