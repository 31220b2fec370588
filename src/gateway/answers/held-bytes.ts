const SMALLEST = 4096;
/** Room for what follows: bytes are copied a few times each, and little memory is held for nothing. */
const GROWTH = 1.25;

/**
 * Bytes that are kept until there are enough of them. They are copied into one growing buffer: a network chunk of one
 * byte costs one byte, and adding to what is there never copies all of it again and again.
 */
export class HeldBytes {
  #buffer: Buffer = Buffer.alloc(0);
  length = 0;

  push(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(SMALLEST, Math.ceil(length * GROWTH)));
      this.#buffer.copy(larger, 0, 0, this.length);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.length);
    this.length = length;
  }

  /** All of it, without a copy: it is valid until the next call of `push` or `take`. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.length);
  }

  /** All of it, for keeping; nothing is held afterwards. */
  take(): Buffer {
    const taken = this.bytes;
    this.#buffer = Buffer.alloc(0);
    this.length = 0;
    return taken;
  }
}
