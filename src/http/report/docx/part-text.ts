/** How much text is joined into one buffer, in UTF-16 code units. */
const CHUNK = 64 * 1024;

/** Builds a part from pieces. Concatenating them as strings would keep all pieces in memory. */
export class PartText {
  readonly #chunks: Buffer[] = [];
  #pieces: string[] = [];
  #length = 0;

  add(piece: string): this {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length >= CHUNK) this.#join();
    return this;
  }

  addAll(pieces: Iterable<string>): this {
    for (const piece of pieces) this.add(piece);
    return this;
  }

  toBuffer(): Buffer {
    this.#join();
    return Buffer.concat(this.#chunks);
  }

  #join(): void {
    this.#chunks.push(Buffer.from(this.#pieces.join('')));
    this.#pieces = [];
    this.#length = 0;
  }
}
