import { offsetAfter } from '../../../store/frames.ts';
import type { Append, FencingToken } from '../../../store/run-store.ts';

/** Bytes of acknowledged batches that are kept, in case a failover loses them. */
const MAX_BYTES = 256 * 1024;
/** Batches of deltas are joined to blocks of this size, in bytes: each kept alone, they would cost the collector more than their making. */
const BLOCK_BYTES = 8 * 1024;

/** Batches without transcript entries, one behind the other. */
interface Block {
  token: FencingToken;
  first: number;
  last: number;
  frames: Buffer;
  /** Bytes of `frames` that are used. */
  length: number;
}

type Kept = Append | Block;

/** The last batches that the store acknowledged, to be sent again after a failover that lost them. */
export class AppendedBatches {
  #kept: Kept[] = [];
  #bytes = 0;

  add(batch: Append): void {
    if (batch.transcript || batch.end || batch.count === 0) this.#kept.push(batch);
    else this.#join(batch);
    this.#bytes += batch.frames.length;
    while (this.#bytes > MAX_BYTES && this.#kept.length > 1) this.#bytes -= lengthOf(this.#kept.shift());
  }

  #join({ token, first, count, frames }: Append): void {
    const block = this.#kept.at(-1);
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
    this.#kept.push({ token, first, last, frames: bytes, length: frames.length });
  }

  /**
   * Batches that hold exactly the events `first` to `last`, and those between them that hold transcript entries alone;
   * undefined where they are not all kept.
   */
  from(first: number, last: number): Append[] | undefined {
    const found: Append[] = [];
    for (const kept of this.#kept) {
      const batch = 'length' in kept ? cutBlock(kept, first, last) : kept;
      if (batch && batch.first >= first && batch.first <= last + 1) found.push(batch);
    }
    return found[0]?.first === first ? found : undefined;
  }
}

/** The part of a block that holds events from `first` to `last`. */
function cutBlock(block: Block, first: number, last: number): Append | undefined {
  if (block.last < first || block.first > last) return undefined;
  const from = Math.max(first, block.first);
  const used = block.frames.subarray(0, block.length);
  const frames = used.subarray(offsetAfter(used, from - block.first));
  return { token: block.token, first: from, count: block.last - from + 1, frames };
}

function lengthOf(kept: Kept | undefined): number {
  if (!kept) return 0;
  return 'length' in kept ? kept.length : kept.frames.length;
}
