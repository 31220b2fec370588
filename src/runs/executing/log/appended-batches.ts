import { offsetAfter } from '../../../store/frames.ts';
import type { AppendBatch, FencingToken } from '../../../store/run-store.ts';

/** Bytes of acknowledged batches that are retained in case a failover loses them. */
const MAX_BYTES = 256 * 1024;
/** Batches of deltas are joined into blocks of this size, in bytes: many small buffers burden the garbage collector. */
const BLOCK_BYTES = 8 * 1024;

/** Consecutive batches without transcript entries. */
interface Block {
  token: FencingToken;
  first: number;
  last: number;
  frames: Buffer;
  /** How many bytes of `frames` are in use. */
  length: number;
}

type RetainedBatch = AppendBatch | Block;

/** The last batches that the store acknowledged, to be sent again after a failover that lost them. */
export class AppendedBatches {
  #retained: RetainedBatch[] = [];
  #bytes = 0;

  add(batch: AppendBatch): void {
    if (batch.transcript || batch.end || batch.count === 0) this.#retained.push(batch);
    else this.#join(batch);
    this.#bytes += batch.frames.length;
    while (this.#bytes > MAX_BYTES && this.#retained.length > 1) this.#bytes -= lengthOf(this.#retained.shift());
  }

  #join({ token, first, count, frames }: AppendBatch): void {
    const block = this.#retained.at(-1);
    const last = first + count - 1;
    const fits = block && 'length' in block && block.last === first - 1 && block.token === token;
    if (fits && block.length + frames.length <= block.frames.length) {
      block.frames.set(frames, block.length);
      block.length += frames.length;
      block.last = last;
      return;
    }
    const bytes = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, frames.length));
    bytes.set(frames);
    this.#retained.push({ token, first, last, frames: bytes, length: frames.length });
  }

  /**
   * The batches with exactly the events `first` to `last`, including those between that have only transcript entries.
   * Undefined if some of them are no longer retained.
   */
  from(first: number, last: number): AppendBatch[] | undefined {
    const batches: AppendBatch[] = [];
    for (const retained of this.#retained) {
      const batch = 'length' in retained ? sliceBlock(retained, first, last) : retained;
      if (batch && batch.first >= first && batch.first <= last + 1) batches.push(batch);
    }
    return batches[0]?.first === first ? batches : undefined;
  }
}

/** The part of a block that holds events from `first` to `last`. */
function sliceBlock(block: Block, first: number, last: number): AppendBatch | undefined {
  if (block.last < first || block.first > last) return undefined;
  const from = Math.max(first, block.first);
  const count = Math.min(last, block.last) - from + 1;
  const rest = block.frames.subarray(offsetAfter(block.frames, from - block.first), block.length);
  return { token: block.token, first: from, count, frames: rest.subarray(0, offsetAfter(rest, count)) };
}

function lengthOf(batch: RetainedBatch | undefined): number {
  if (!batch) return 0;
  return 'length' in batch ? batch.length : batch.frames.length;
}
