import type { Readable } from 'node:stream';
import { collectNew } from '../base/collect-garbage.ts';

/**
 * How much passes before what it left behind is collected, in bytes. Less, and what is under way is taken for long-lived,
 * because it has survived two collections: then whole collections follow, of 10 to 30 ms. More comes too late: the
 * runtime begins one by itself at 64 MB.
 */
const STEP = 24 * 1024 * 1024;

/**
 * Collects the buffers of bodies that pass through. The runtime lets 64 MB of them pile up before it looks, since they
 * lie outside of its heap; a minor collection now and then takes about a millisecond and keeps memory flat.
 */
export class ShortLivedMemory {
  #passed = 0;

  /** Counts what comes out of a stream that is read anyway. */
  watch(stream: Readable): void {
    stream.on('data', (chunk: Buffer) => {
      this.#passed += chunk.length;
      if (this.#passed < STEP) return;
      this.#passed = 0;
      collectNew();
    });
  }
}
