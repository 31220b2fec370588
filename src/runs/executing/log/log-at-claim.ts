import type { ResponseObject } from '../../../protocol/response.ts';
import type { LogBatch } from '../../../store/run-store.ts';

/** A log longer than this is not held for a store that may lose it, in bytes. */
const MAX_BYTES = 64 * 1024;

/** The log of a run that this process has just created, which saves reading it back. */
export interface Beginning {
  /** All its frames, as stored. */
  batch: LogBatch;
  /** The response that they describe. */
  response: ResponseObject;
}

/** The log of a run when its owner claimed it: if the store loses the whole run, it is created again from this. */
export class LogAtClaim {
  #frames: Uint8Array[] = [];
  #bytes = 0;
  last = 0;
  /** The transcript entries at that time. */
  transcript: readonly string[] = [];

  readonly add = ({ frames, last }: LogBatch): void => {
    this.last = last;
    this.#bytes += frames.length;
    if (this.#bytes > MAX_BYTES) this.#frames = [];
    else this.#frames.push(frames);
  };

  /** Whether all frames are held. */
  get isComplete(): boolean {
    return this.#bytes <= MAX_BYTES;
  }

  /** Frames 1 to `last`, joined; undefined if they were too many. */
  get frames(): Uint8Array | undefined {
    return this.isComplete ? Buffer.concat(this.#frames) : undefined;
  }
}
