import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { GatewayError } from '../base/errors.ts';
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

interface Segment {
  first: number;
  last: number;
  bytes: Uint8Array;
  end: boolean;
  /** The frames, once somebody read them. */
  plain: Promise<Uint8Array> | undefined;
}

/** A compressed log, opened. Segments are decompressed at their first read and kept with it. */
export class CompressedLog {
  /** Bytes in memory when everything was read. */
  readonly weight: number;
  readonly #segments: Segment[] = [];

  /** @throws GatewayError `internal_error` where the value is damaged. */
  constructor(compressed: Buffer) {
    if (!compressed.subarray(0, 4).equals(MAGIC)) throw damaged();
    const count = compressed.readUInt32LE(4);
    let start = HEADER_BYTES + count * ENTRY_BYTES;
    let first = 1;
    let weight = compressed.length;
    for (let index = 0; index < count; index++) {
      const entry = HEADER_BYTES + index * ENTRY_BYTES;
      const last = compressed.readUInt32LE(entry);
      const end = start + compressed.readUInt32LE(entry + 4);
      const bytes = compressed.subarray(start, end);
      this.#segments.push({ first, last, bytes, end: index === count - 1, plain: undefined });
      weight += compressed.readUInt32LE(entry + 8);
      first = last + 1;
      start = end;
    }
    if (start !== compressed.length || count === 0) throw damaged();
    this.weight = weight;
  }

  /** See `RunStore.read`. */
  async read(options: { after: number; maxBytes: number }): Promise<LogBatch[]> {
    const batches: LogBatch[] = [];
    let bytes = 0;
    for (const segment of this.#segments) {
      if (segment.last <= options.after) continue;
      const batch = dropUpTo(await open(segment), options.after);
      batches.push(batch);
      bytes += batch.frames.length;
      if (bytes >= options.maxBytes) break;
    }
    return batches;
  }

  /** See `RunStore.readLast`. */
  async readLast(): Promise<LogBatch | undefined> {
    const segment = this.#segments.at(-1);
    return segment && (await open(segment));
  }
}

async function open(segment: Segment): Promise<LogBatch> {
  segment.plain ??= decompress(segment.bytes).catch((thrown: unknown) => {
    throw damaged(thrown);
  });
  const { first, last, end } = segment;
  return { first, last, end, frames: await segment.plain };
}

function damaged(cause?: unknown): GatewayError {
  return new GatewayError('internal_error', 'A compressed event log is damaged.', { cause });
}
