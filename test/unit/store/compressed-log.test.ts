import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { GatewayError } from '../../../src/base/errors.ts';
import {
  CompressedLog,
  compressLog,
  type LogSource,
  SEGMENT_BYTES,
  type StoredBytes,
} from '../../../src/store/compressed-log.ts';
import { dropUpTo } from '../../../src/store/frames.ts';
import type { LogBatch } from '../../../src/store/run-store.ts';
import { frames } from '../../contract/run-store-fixture.ts';

/** A log of batches as a store reads it: one batch at a time. */
function source(batches: readonly LogBatch[]): LogSource {
  return {
    read: ({ after }) => {
      const next = batches.find((batch) => batch.last > after);
      return next ? [dropUpTo(next, after)] : [];
    },
    readLast: () => batches.at(-1),
  };
}

function log(perBatch: number, count: number, text?: string): LogBatch[] {
  return Array.from({ length: count }, (_, n) => {
    const [first, last] = [n * perBatch + 1, (n + 1) * perBatch];
    return { first, last, frames: frames(first, last, text), end: n === count - 1 };
  });
}

async function bytesOf(compressed: CompressedLog, after: number, maxBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let last = after; ; ) {
    const batches = await compressed.read({ after: last, maxBytes });
    if (batches.length === 0) return Buffer.concat(pieces);
    for (const batch of batches) {
      assert.equal(batch.first, last + 1);
      last = batch.last;
      pieces.push(batch.frames);
    }
  }
}

/** A value as a store reads it, and how much was read of it. */
function stored(value: Buffer): StoredBytes & { read: number } {
  return {
    read: 0,
    size: () => value.length,
    range(offset, length) {
      this.read += length;
      return value.subarray(offset, offset + length);
    },
  };
}

async function opened(value: Buffer): Promise<CompressedLog> {
  const log = await CompressedLog.open(stored(value));
  assert.ok(log);
  return log;
}

describe('a compressed log', () => {
  it('returns the bytes of the log from a tenth of its size', async () => {
    const batches = log(100, 80, 'A sentence of some length that models like to write.');
    const value = await compressLog(source(batches));
    const plain = frames(1, 8000, 'A sentence of some length that models like to write.');
    assert.ok(value.length < plain.length / 10, `${value.length} of ${plain.length}`);
    const compressed = await opened(value);
    assert.deepEqual(await bytesOf(compressed, 0, SEGMENT_BYTES), plain);
    assert.deepEqual(
      await bytesOf(compressed, 7950, 1),
      frames(7951, 8000, 'A sentence of some length that models like to write.'),
    );
    assert.deepEqual(await compressed.readLast(), batches.at(-1));
  });

  it('can hold a log of a single batch', async () => {
    const compressed = await opened(await compressLog(source(log(3, 1))));
    assert.deepEqual(await bytesOf(compressed, 0, 1), frames(1, 3));
    assert.deepEqual(await bytesOf(compressed, 3, 1), Buffer.alloc(0));
  });

  it('cannot be made of a log that is open, empty or has a gap', async () => {
    const batches = log(2, 5);
    await assert.rejects(compressLog(source(batches.slice(0, 4))), GatewayError);
    await assert.rejects(compressLog(source([])), GatewayError);
    await assert.rejects(compressLog(source(batches.filter((batch) => batch.first !== 5))), /event 5 is missing/);
  });

  it('throws if it is damaged, and never returns other bytes', async () => {
    const value = await compressLog(source(log(2, 5)));
    await assert.rejects(opened(value.subarray(0, value.length - 1)), GatewayError);
    await assert.rejects(opened(Buffer.concat([Buffer.from('XXXX'), value.subarray(4)])), GatewayError);
    const flipped = Buffer.from(value);
    flipped.fill(0xff, value.length - 40);
    await assert.rejects((await opened(flipped)).readLast(), GatewayError);
  });
});

describe('a large compressed log', () => {
  it('is read in pieces: a resume near its end reads less than a quarter', async () => {
    const text = () => randomBytes(3000).toString('base64');
    const batches = Array.from({ length: 300 }, (_, n) => {
      return { first: n * 5 + 1, last: n * 5 + 5, frames: frames(n * 5 + 1, n * 5 + 5, text()), end: n === 299 };
    });
    const value = await compressLog(source(batches));
    const bytes = stored(value);
    const large = await CompressedLog.open(bytes);
    assert.ok(large && value.length > 500_000);
    assert.ok(bytes.read < value.length / 10, 'only its table is read');
    assert.deepEqual(await bytesOf(large, 0, 1), Buffer.concat(batches.map((batch) => batch.frames)));
    bytes.read = 0;
    await large.read({ after: 1400, maxBytes: 1 });
    assert.deepEqual(await large.readLast(), batches.at(-1));
    assert.ok(bytes.read < value.length / 4, `${bytes.read} of ${value.length}`);
  });
});
