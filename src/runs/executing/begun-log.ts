import type { LogBatch } from '../../store/run-store.ts';

/** A longer log is not kept for a store that may lose it, in bytes. */
const MAX_BYTES = 64 * 1024;

/** The log of a run as its owner found it: what a run that is lost as a whole begins with again. */
export class BegunLog {
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

  /** Frames 1 to `last`, joined; undefined where they were too many. */
  get frames(): Uint8Array | undefined {
    return this.#bytes > MAX_BYTES ? undefined : Buffer.concat(this.#frames);
  }
}
