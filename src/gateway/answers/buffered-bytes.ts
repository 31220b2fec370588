const MIN_CAPACITY = 4096;
/** How much larger a new buffer is than needed: each byte is copied only a few times, and little memory is wasted. */
const GROWTH = 1.25;

/**
 * Bytes that are collected in one growing buffer. A network chunk of one byte costs one byte, and appending rarely copies
 * the earlier ones.
 */
export class BufferedBytes {
  #buffer: Buffer = Buffer.alloc(0);
  length = 0;

  push(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(MIN_CAPACITY, Math.ceil(length * GROWTH)));
      this.#buffer.copy(larger, 0, 0, this.length);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.length);
    this.length = length;
  }

  /** All bytes, without a copy; valid until the next call of `push` or `take`. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.length);
  }

  /** Removes and returns all bytes. */
  take(): Buffer {
    const taken = this.bytes;
    this.#buffer = Buffer.alloc(0);
    this.length = 0;
    return taken;
  }
}
