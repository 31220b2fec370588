import type { ResponseObject } from '../../../protocol/response.ts';
import type { LogBatch } from '../../../store/run-store.ts';

/** A longer log is not kept for a store that may lose it, in bytes. */
const MAX_BYTES = 64 * 1024;

/** The log of a run that this process has just created, so that it need not be read back. */
export interface Beginning {
  /** All frames of it, as they are stored. */
  batch: LogBatch;
  /** What they say of the response. */
  response: ResponseObject;
}

/** The log of a run as its owner found it: what a run that is lost as a whole begins with again. */
export class FoundLog {
  #frames: Uint8Array[] = [];
  #bytes = 0;
  last = 0;
  /** Entries that were stored by then. */
  transcript: readonly string[] = [];

  readonly see = ({ frames, last }: LogBatch): void => {
    this.last = last;
    this.#bytes += frames.length;
    if (this.#bytes > MAX_BYTES) this.#frames = [];
    else this.#frames.push(frames);
  };

  /** Whether its frames are kept. */
  get isKept(): boolean {
    return this.#bytes <= MAX_BYTES;
  }

  /** Frames 1 to `last`, joined; undefined where they were too many. */
  get frames(): Uint8Array | undefined {
    return this.isKept ? Buffer.concat(this.#frames) : undefined;
  }
}
